"""The daemon's recorded decisions, made again."""

import dataclasses
from datetime import timedelta

import pytest

from autoscaler.decide import apply_outcome, decide
from autoscaler.errors import TargetNotFound, TargetUnavailable
from autoscaler.limits.connection_limits import apply_limits
from autoscaler.model import (
    Conflict,
    ConnectionLimits,
    Direction,
    LimitUsage,
    ManualControls,
    Outcome,
    Pause,
    Proposed,
    RemovalBudget,
    Rules,
    Written,
)
from autoscaler.rules.brakes import Brakes
from autoscaler.rules.brakes.loss import LossBrake
from autoscaler.rules.recover_size import RecoverSize
from autoscaler.rules.warm_up import WarmUp
from autoscaler.version import VERSION
from autoscaler.whatif.past.past import Cycle, FindingKind
from autoscaler.whatif.replay.repetition import Repetition, same_decision
from tests.decide.build import NOW
from tests.decisions import bounds, cpu, decision
from tests.replaced import replace
from tests.whatif.pasts import Life


def repeated(life: Life, *kinds: FindingKind) -> Repetition:
    """All cycles made again, with findings of these kinds."""
    found = Repetition()
    for cycle in life.cycles:
        found.step(cycle)
    assert [each.kind for each in found.findings] == list(kinds)
    return found


def same_again(life: Life, *kinds: FindingKind) -> Repetition:
    """As above, and every decision is the same."""
    found = repeated(life, *kinds)
    assert found.same == found.compared == len(life.cycles)
    return found


def test_every_decision_is_the_same_again() -> None:
    life = Life()
    life.cpu(60, 120, 90, 60, 20, 20, 20)
    same_again(life)


@pytest.mark.parametrize(
    "outcome", [TargetUnavailable("no answer"), TargetNotFound("gone"), Conflict("another writer"), Proposed(4)]
)
def test_writes_have_their_recorded_outcome(outcome: Outcome) -> None:
    life = Life()
    life.cpu(60, 120, 120, 60, outcome=outcome)
    same_again(life)


def test_a_decision_that_differs_from_the_record_is_found() -> None:
    """Without this, the comparison would accept anything."""
    life = Life()
    life.cpu(60, 120)
    life.cycles[-1] = replace(life.cycles[-1], decision=replace(life.cycles[-1].decision, desired=9))
    found = repeated(life, FindingKind.DIFFERENCE)
    assert (found.same, found.compared) == (1, 2)
    assert "desired" in found.findings[0].message


def test_the_same_difference_in_successive_cycles_is_one_finding() -> None:
    """A day of them would hide the other findings."""
    life = Life()
    life.cpu(60, 60, 60, 60)
    for place in (0, 1, 3):
        cycle = life.cycles[place]
        life.cycles[place] = replace(cycle, decision=replace(cycle.decision, bounds=bounds(1, 11)))
    found = repeated(life, FindingKind.DIFFERENCE, FindingKind.DIFFERENCE)
    at = [cycle.at for cycle in life.cycles]
    assert [(each.begin, each.end) for each in found.findings] == [(at[0], at[1]), (at[3], at[3])]
    assert (found.same, found.compared) == (1, 4)


def test_a_pause_is_found_and_holds_again() -> None:
    life = Life()
    life.cpu(60)
    life.steer(ManualControls(Pause(Direction.BOTH, "ann", "", NOW, None)))
    assert life.cpu(120).change is None
    same_again(life, FindingKind.STEERING)


def test_a_reload_is_found_with_its_changes() -> None:
    life = Life()
    life.cpu(120)
    life.autoscaler = replace(life.autoscaler, max_replicas=3)
    life.cpu(120)
    assert "max_replicas" in same_again(life, FindingKind.RELOAD).findings[0].message


def test_a_reload_names_the_rules_that_changed() -> None:
    life = Life()
    life.autoscaler = replace(life.autoscaler, rules=Rules([WarmUp(timedelta(0)), Brakes(loss=LossBrake())]))
    life.cpu(120)
    life.autoscaler = replace(life.autoscaler, rules=Rules([WarmUp(timedelta(0)), RecoverSize(recovers=False)]))
    life.cpu(120)
    (finding,) = same_again(life, FindingKind.RELOAD).findings
    assert finding.message == "the configuration of the autoscaler changed: brakes, recover_size"


def test_a_decision_that_the_limits_reduced_is_the_same_again() -> None:
    """The use of the neighbours is not recorded, but the reduction is."""
    life = Life(size=8)
    life.cpu(60)
    life.now += timedelta(minutes=10)
    seen = life.seen(10)
    made = decide(life.autoscaler, seen, life.history, life.now)
    standing = LimitUsage("fleet", ConnectionLimits(RemovalBudget(2, timedelta(minutes=5))))
    (made,) = apply_limits([made], {"web": life.history}, standing, life.now).decisions
    assert made.change is not None
    assert made.change.size == 6
    life.cycles.append(Cycle(life.now, seen, life.autoscaler, apply_outcome(made, Written(6)), life.history))
    same_again(life, FindingKind.LIMITS)


def test_a_past_without_decisions_has_nothing_to_repeat() -> None:
    life = Life()
    life.cpu(60)
    life.cycles = [Cycle(cycle.at, cycle.observation, cycle.scaler) for cycle in life.cycles]
    assert repeated(life).compared == 0


def test_another_version_is_named_where_it_begins_to_decide() -> None:
    """Also if all was decided by one that is not this one: what differs may be its rules."""
    life = Life()
    life.cpu(60, 120, 120, 60, 60, 60)
    found = Repetition()
    for number, cycle in enumerate(life.cycles):
        found.step(dataclasses.replace(cycle, version="0.0.1" if number < 3 else VERSION))
    assert [(each.begin, each.kind) for each in found.findings] == [
        (life.cycles[0].at, FindingKind.VERSION),
        (life.cycles[3].at, FindingKind.VERSION),
    ]
    assert [each.message for each in found.findings] == [
        f"version 0.0.1 decided from here on, and version {VERSION} decides it again",
        f"version {VERSION} decided from here on, and 0.0.1 before",
    ]


def test_other_words_are_no_other_decision() -> None:
    """A later version may say the same in other words, and replays the past of an earlier one."""
    made = decision(metrics=(cpu(),))
    reworded = replace(made, metrics=(replace(cpu(), detail="in other words"),))
    assert same_decision(made, reworded)
    assert not same_decision(made, replace(reworded, desired=4))
