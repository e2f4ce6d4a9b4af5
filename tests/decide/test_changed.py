"""What is a change between two decisions, and what is not."""

import itertools
from datetime import timedelta

import pytest

from autoscaler.decide import changed, conclude, decide, differs
from autoscaler.errors import MetricError, TargetRefused, TargetUnavailable
from autoscaler.model import (
    ActiveBrake,
    Brake,
    Condition,
    ConditionType,
    Conflict,
    Decision,
    Direction,
    Held,
    History,
    HoldReason,
    Observation,
    Outcome,
    Override,
    Pause,
    Proposed,
    Reading,
    Reason,
    Steering,
    TargetRef,
    Unchanged,
    Written,
)
from tests.decide.build import CPU_60, NOW, QUEUE_15, Life, samples, scaler, state, value
from tests.replaced import replace

TWO_METRICS = scaler(CPU_60, QUEUE_15)


def steady(cpu: Reading | MetricError | None = None, queue: Reading | MetricError | None = None) -> Decision:
    """Three instances at the size that they should have."""
    readings = (samples([600] * 3) if cpu is None else cpu, value(45_000) if queue is None else queue)
    return decide(TWO_METRICS, Observation(state(3), readings), History(), NOW)


def edited(**edits: object) -> Decision:
    return replace(steady(), **edits)


def test_a_first_decision_is_a_change() -> None:
    assert changed(None, steady())


def test_the_same_decision_later_is_none() -> None:
    later = replace(steady(), now=NOW + timedelta(seconds=15))
    assert not changed(steady(), later)


def test_samples_that_most_instances_lose_or_get_again_are_one() -> None:
    """The log says so, although no size and no condition changes; one instance has none after every scale-out."""
    requests = samples([600] * 3).requests
    one, two = (steady(replace(samples([600] * measured), requests=requests)) for measured in (2, 1))
    assert not differs(steady(), one)
    assert differs(one, two)
    assert differs(two, one)


def test_a_brake_that_begins_or_ends_is_one() -> None:
    """The log says so, although no size and no condition changes."""
    braked = edited(brakes=(ActiveBrake(Brake.LOSS, Reason.INSTANCES_LOST, "3 of 10 are gone"),))
    assert changed(steady(), braked)
    assert changed(braked, steady())
    assert not changed(braked, edited(brakes=(replace(braked.brakes[0], message="4 of 10 are gone"),)))


def test_values_that_move_without_consequence_are_none() -> None:
    """Nearly every cycle's do: kept for long, they would be the whole state, and the log's every line."""
    after = steady(cpu=samples([610, 590, 620]))
    assert after.metrics != steady().metrics
    assert not changed(steady(), after)


def test_a_message_with_other_numbers_is_none() -> None:
    conditions = tuple(replace(known, message=known.message + " now") for known in steady().conditions)
    assert not changed(steady(), edited(conditions=conditions))


@pytest.mark.parametrize(
    "after",
    [
        edited(current=4),
        edited(current=None),
        edited(desired=4),
        edited(minimum=2),
        edited(maximum=50),
        edited(dry_run=True),
        edited(target=TargetRef("fleet", "other")),
        edited(steering=Steering(Pause(Direction.IN, "ann", "sale", NOW, None))),
        edited(steering=Steering(override=Override(2, 9, "ann", "sale", NOW, None))),
    ],
)
def test_what_an_operator_would_want_to_know_is_one(after: Decision) -> None:
    assert changed(steady(), after)
    assert changed(after, steady())


@pytest.mark.parametrize(
    "kind", [ConditionType.ABLE_TO_SCALE, ConditionType.SCALING_ACTIVE, ConditionType.SCALING_LIMITED]
)
def test_a_conditions_status_or_reason_is_one(kind: ConditionType) -> None:
    """Any condition's, also one that the log's line does not name."""
    known = {condition.type: condition for condition in steady().conditions}
    for other in (replace(known[kind], status=not known[kind].status), replace(known[kind], reason="DeploymentActive")):
        assert changed(steady(), edited(conditions=tuple((known | {kind: other}).values())))


def with_able(reason: str, *, status: bool = True) -> Decision:
    kind = ConditionType.ABLE_TO_SCALE
    others = [each for each in steady().conditions if each.type is not kind]
    return edited(conditions=(Condition(kind, status, reason, "because", NOW), *others))


CALM = ("ReadyForNewScale", "ScaleUpStabilized", "ScaleDownStabilized")


@pytest.mark.parametrize(("before", "after"), list(itertools.permutations(CALM, 2)))
def test_a_turn_between_reasons_that_all_is_well_is_none(before: str, after: str) -> None:
    """A load at the edge of its tolerance makes one every few cycles, and the size stays."""
    assert not changed(with_able(before), with_able(after))


@pytest.mark.parametrize("calm", CALM)
def test_a_turn_from_one_of_them_to_anything_else_is_one(calm: str) -> None:
    assert changed(with_able(calm), with_able("SucceededRescale"))
    assert changed(with_able("FailedGetScale", status=False), with_able(calm))
    assert changed(with_able(calm), with_able(calm, status=False))


def test_a_window_that_holds_another_size_is_one() -> None:
    """The size wanted says so, whatever the reason."""
    assert changed(with_able(CALM[0]), replace(with_able(CALM[2]), desired=2))


def test_a_condition_that_is_new_is_one() -> None:
    assert changed(edited(conditions=steady().conditions[1:]), steady())


def test_a_metric_that_fails_or_recovers_beside_one_that_decides_is_one() -> None:
    """The rise that the other metric asks for goes on as before: nothing else shows that one is gone."""
    rising = steady(cpu=samples([1000] * 3))
    broken = steady(cpu=samples([1000] * 3), queue=MetricError("down"))
    assert broken.conditions == rising.conditions
    assert changed(rising, broken)
    assert changed(broken, rising)
    assert not changed(broken, steady(cpu=samples([1000] * 3), queue=MetricError("still down")))


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
def test_every_write_and_every_failure_to_write_is_one_also_when_it_repeats(outcome: Outcome, is_one: bool) -> None:
    """A write that fails each cycle is told each time; a proposal, or a hold, only when it begins."""
    made = conclude(about_to_rise(), outcome)
    assert changed(made, replace(made, now=NOW + timedelta(seconds=15))) is is_one


def test_an_hour_of_a_constant_load_has_one_change() -> None:
    life = Life(scaler(QUEUE_15), 3)
    made = [life.step(value(45_000 + cycle % 3), after=15) for cycle in range(240)]
    assert [changed(before, after) for before, after in zip([None, *made], made, strict=False)].count(True) == 1
