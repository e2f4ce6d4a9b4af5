"""Which differences between two decisions are a change."""

import itertools
from datetime import timedelta

import pytest

from autoscaler.changed import changed, differs
from autoscaler.decide import apply_outcome, decide
from autoscaler.errors import TargetRefused, TargetUnavailable
from autoscaler.model import (
    Bound,
    Bounds,
    Condition,
    ConditionType,
    Conflict,
    Decision,
    Direction,
    Failure,
    Held,
    History,
    HoldReason,
    ManualControls,
    Memories,
    Observation,
    Outcome,
    Override,
    Pause,
    Proposed,
    Reading,
    TargetRef,
    Unchanged,
    Written,
)
from autoscaler.rules.brakes import ActiveBrake, BrakeMemory, Brakes
from autoscaler.rules.brakes.common import Brake
from tests.decide.build import CPU_60, NOW, QUEUE_15, Life, samples, scaler, state, value
from tests.replaced import replace

TWO_METRICS = scaler(CPU_60, QUEUE_15)


def steady(cpu: Reading | Failure | None = None, queue: Reading | Failure | None = None) -> Decision:
    """A decision to keep three instances."""
    readings = (samples([600] * 3) if cpu is None else cpu, value(45_000) if queue is None else queue)
    return decide(TWO_METRICS, Observation(state(3), readings), History(), NOW)


def edited(**edits: object) -> Decision:
    return replace(steady(), **edits)


def remembering(brakes: BrakeMemory) -> Decision:
    return edited(remembered=replace(steady().remembered, rules=Memories({Brakes.name: brakes})))


def test_a_first_decision_is_a_change() -> None:
    assert changed(None, steady())


def test_the_same_decision_later_is_no_change() -> None:
    later = replace(steady(), now=NOW + timedelta(seconds=15))
    assert not changed(steady(), later)


def test_losing_or_regaining_most_samples_is_a_change() -> None:
    """The log reports it, although no size or condition changes. One instance lacks samples after every scale-out."""
    requests = samples([600] * 3).requests
    one, two = (steady(replace(samples([600] * measured), requests=requests)) for measured in (2, 1))
    assert not differs(steady(), one)
    assert differs(one, two)
    assert differs(two, one)


def test_the_start_and_end_of_a_brake_are_changes() -> None:
    """The log reports it, although no size or condition changes."""
    braked = remembering(BrakeMemory(active=(ActiveBrake(Brake.LOSS, "InstancesLost", "3 of 10 are gone"),)))
    assert changed(steady(), braked)
    assert changed(braked, steady())
    other = remembering(BrakeMemory(active=(ActiveBrake(Brake.LOSS, "InstancesLost", "4 of 10 are gone"),)))
    assert not changed(braked, other)


def test_values_without_consequence_are_no_change() -> None:
    """Values move in nearly every cycle; recording them would fill the state and the log."""
    after = steady(cpu=samples([610, 590, 620]))
    assert after.metrics != steady().metrics
    assert not changed(steady(), after)


def test_a_message_with_other_numbers_is_no_change() -> None:
    conditions = tuple(replace(known, message=known.message + " now") for known in steady().conditions)
    assert not changed(steady(), edited(conditions=conditions))


@pytest.mark.parametrize(
    "after",
    [
        edited(current=4),
        edited(current=None),
        edited(desired=4),
        edited(bounds=Bounds(Bound(2, "minReplicas"), Bound(100, "maxReplicas"))),
        edited(bounds=Bounds(Bound(1, "minReplicas"), Bound(50, "maxReplicas"))),
        edited(dry_run=True),
        edited(target=TargetRef("fleet", "other")),
        edited(manual=ManualControls(Pause(Direction.IN, "ann", "sale", NOW, None))),
        edited(manual=ManualControls(override=Override(2, 9, "ann", "sale", NOW, None))),
    ],
)
def test_news_for_an_operator_is_a_change(after: Decision) -> None:
    assert changed(steady(), after)
    assert changed(after, steady())


@pytest.mark.parametrize(
    "kind", [ConditionType.ABLE_TO_SCALE, ConditionType.SCALING_ACTIVE, ConditionType.SCALING_LIMITED]
)
def test_a_conditions_status_or_reason_is_a_change(kind: ConditionType) -> None:
    """This holds for every condition, including those that the log line does not name."""
    known = {condition.type: condition for condition in steady().conditions}
    for other in (replace(known[kind], status=not known[kind].status), replace(known[kind], reason="DeploymentActive")):
        assert changed(steady(), edited(conditions=tuple((known | {kind: other}).values())))


def with_able(reason: str, *, status: bool = True) -> Decision:
    kind = ConditionType.ABLE_TO_SCALE
    others = [each for each in steady().conditions if each.type is not kind]
    return edited(conditions=(Condition(kind, status, reason, "because", NOW), *others))


CALM = ("ReadyForNewScale", "ScaleUpStabilized", "ScaleDownStabilized")


@pytest.mark.parametrize(("before", "after"), list(itertools.permutations(CALM, 2)))
def test_switching_between_harmless_reasons_is_no_change(before: str, after: str) -> None:
    """A load at the edge of its tolerance causes one every few cycles, and the size stays."""
    assert not changed(with_able(before), with_able(after))


@pytest.mark.parametrize("calm", CALM)
def test_switching_to_any_other_reason_is_a_change(calm: str) -> None:
    assert changed(with_able(calm), with_able("SucceededRescale"))
    assert changed(with_able("FailedGetScale", status=False), with_able(calm))
    assert changed(with_able(calm), with_able(calm, status=False))


def test_a_window_that_holds_another_size_is_a_change() -> None:
    """The desired size shows it, whatever the reason."""
    assert changed(with_able(CALM[0]), replace(with_able(CALM[2]), desired=2))


def test_a_new_condition_is_a_change() -> None:
    assert changed(edited(conditions=steady().conditions[1:]), steady())


def test_a_metric_that_fails_or_recovers_is_a_change() -> None:
    """The other metric's scale-out continues, so nothing else shows the failure."""
    rising = steady(cpu=samples([1000] * 3))
    broken = steady(cpu=samples([1000] * 3), queue=Failure("down"))
    assert broken.conditions == rising.conditions
    assert changed(rising, broken)
    assert changed(broken, rising)
    assert not changed(broken, steady(cpu=samples([1000] * 3), queue=Failure("still down")))


def about_to_rise() -> Decision:
    return decide(TWO_METRICS, Observation(state(3), (samples([1000] * 3), value(0))), History(), NOW)


@pytest.mark.parametrize(
    ("outcome", "is_one"),
    [
        (Written(5), True),
        (TargetUnavailable("down"), True),
        (TargetRefused("too large"), True),
        (Conflict("somebody else was faster"), True),
        (Held(HoldReason("DeploymentActive", "a deployment is under way")), False),
        (Proposed(5), False),
        (Unchanged(), False),
    ],
)
def test_every_write_and_every_failed_write_is_a_change(outcome: Outcome, is_one: bool) -> None:
    """Each failed write is reported; a proposal or a hold only when it starts."""
    made = apply_outcome(about_to_rise(), outcome)
    assert changed(made, replace(made, now=NOW + timedelta(seconds=15))) is is_one


def test_an_hour_of_a_constant_load_has_one_change() -> None:
    life = Life(scaler(QUEUE_15), 3)
    made = [life.step(value(45_000 + cycle % 3), after=15) for cycle in range(240)]
    assert [changed(before, after) for before, after in zip([None, *made], made, strict=False)].count(True) == 1
