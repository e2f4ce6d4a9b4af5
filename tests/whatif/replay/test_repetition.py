"""The daemon's recorded decisions, made again."""

from datetime import timedelta

import pytest

from autoscaler.decide import apply_limits, conclude, decide, remember
from autoscaler.errors import TargetNotFound, TargetUnavailable
from autoscaler.model import (
    Conflict,
    ConnectionLimits,
    Deployment,
    Direction,
    Hold,
    HoldReason,
    Intent,
    Outcome,
    Pause,
    Proposed,
    RemovalBudget,
    Standing,
    Steering,
    Written,
    later,
)
from autoscaler.whatif.past.past import Cycle, FindingKind
from autoscaler.whatif.replay.repetition import Repetition
from tests.decide.build import NOW, state
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


def test_an_outage_is_an_outage_again() -> None:
    life = Life()
    life.cpu(60)
    life.fail()
    life.unreadable(TargetUnavailable("throttled"))
    life.cpu(60)
    same_again(life)


def test_a_size_that_a_deployment_reset_returns_again() -> None:
    """With what the daemon remembered until the deployment ended."""
    life = Life(size=8)
    life.cpu(60)
    life.size = 1
    reset = replace(state(1), deployment=Deployment("7", 8, "preserve the count", certain=False))
    told = replace(reset, deployment=replace(reset.deployment, certain=True))
    busy = HoldReason("DeploymentActive", "a deployment is under way")
    for target in (reset, told, replace(told, hold=Hold(busy, busy)), told):
        made = life.see(replace(life.seen(60), target=target))
    assert made.written == 8
    life.cpu(60)
    same_again(life)


def test_a_decision_that_differs_from_the_record_is_found() -> None:
    """Without this, the comparison would accept anything."""
    life = Life()
    life.cpu(60, 120)
    life.cycles[-1] = replace(life.cycles[-1], decision=replace(life.cycles[-1].decision, desired=9))
    found = repeated(life, FindingKind.DIFFERENCE)
    assert (found.same, found.compared) == (1, 2)
    assert "desired" in found.findings[0].message


def test_one_different_decision_does_not_change_the_later_ones() -> None:
    """As after an upgrade: the record continues from the decision of the old version."""
    life = Life()
    life.cpu(60, 120, 60, 60)
    second = life.cycles[1]
    assert second.decision is not None
    assert second.history is not None
    other = replace(second.decision, recommendations=())
    life.cycles[1] = replace(second, decision=other)
    life.cycles[2] = replace(life.cycles[2], history=remember(life.scaler, second.history, other))
    del life.cycles[3]
    found = repeated(life, FindingKind.DIFFERENCE)
    assert (found.same, found.compared) == (2, 3)


def test_the_same_difference_in_successive_cycles_is_one_finding() -> None:
    """A day of them would hide the other findings."""
    life = Life()
    life.cpu(60, 60, 60, 60)
    for place in (0, 1, 3):
        cycle = life.cycles[place]
        life.cycles[place] = replace(cycle, decision=replace(cycle.decision, maximum=11))
    found = repeated(life, FindingKind.DIFFERENCE, FindingKind.DIFFERENCE)
    at = [cycle.at for cycle in life.cycles]
    assert [(each.begin, each.end) for each in found.findings] == [(at[0], at[1]), (at[3], at[3])]
    assert (found.same, found.compared) == (1, 4)


def test_a_pause_is_found_and_holds_again() -> None:
    life = Life()
    life.cpu(60)
    life.steer(Steering(Pause(Direction.BOTH, "ann", "", NOW, None)))
    assert life.cpu(120).change is None
    same_again(life, FindingKind.STEERING)


def test_a_reload_is_found_with_its_changes() -> None:
    life = Life()
    life.cpu(120)
    life.scaler = replace(life.scaler, max_replicas=3)
    life.cpu(120)
    assert "max_replicas" in same_again(life, FindingKind.RELOAD).findings[0].message


def test_a_clock_that_was_set_is_found_and_ages_stay() -> None:
    life = Life()
    life.cpu(120)
    life.now += timedelta(hours=2)
    life.history = later(life.history, timedelta(hours=2))
    life.cpu(120)
    same_again(life, FindingKind.CLOCK)


def test_a_write_without_a_recorded_outcome_is_found() -> None:
    life = Life()
    life.cpu(60)
    life.history = replace(life.history, unfinished=Intent(4, 2, life.now))
    life.cpu(60)
    same_again(life, FindingKind.RESTART)


def test_a_memory_that_does_not_follow_is_found() -> None:
    life = Life()
    life.cpu(60)
    life.history = replace(life.history, recommendations=())
    life.cpu(60)
    assert "recommendations" in repeated(life, FindingKind.MEMORY).findings[0].message


def test_a_memory_that_the_state_lacks_follows_from_the_cycle_before() -> None:
    life = Life()
    life.cpu(60, 120, 30)
    life.cycles[1] = replace(life.cycles[1], history=None)
    same_again(life)


def test_a_decision_that_the_limits_reduced_is_the_same_again() -> None:
    """The use of the neighbours is not recorded, but the reduction is."""
    life = Life(size=8)
    life.cpu(60)
    life.now += timedelta(minutes=10)
    seen = life.seen(10)
    made = decide(life.scaler, seen, life.history, life.now)
    standing = Standing("fleet", ConnectionLimits(RemovalBudget(2, timedelta(minutes=5))))
    (made,) = apply_limits([made], {"web": life.history}, standing, life.now).decisions
    assert made.change is not None
    assert made.change.size == 6
    life.cycles.append(Cycle(life.now, seen, life.scaler, conclude(made, Written(6)), life.history))
    same_again(life, FindingKind.LIMITS)


def test_a_past_without_decisions_has_nothing_to_repeat() -> None:
    life = Life()
    life.cpu(60)
    life.cycles = [Cycle(cycle.at, cycle.observation, cycle.scaler) for cycle in life.cycles]
    assert repeated(life).compared == 0
