"""The outcomes of writes, and what is remembered of them."""

from datetime import timedelta

import pytest

from autoscaler.decide import apply_outcome, decide, remember, with_pending_write
from autoscaler.errors import TargetDeferred, TargetRefused, TargetUnavailable
from autoscaler.model import (
    Behavior,
    ConditionType,
    Conflict,
    Decision,
    Direction,
    Held,
    History,
    HpaMemory,
    Observation,
    Outcome,
    PendingWrite,
    Proposed,
    ScaleEvent,
    Status,
    Unchanged,
    Written,
)
from tests.decide.build import NOW, QUEUE_15, first_decision, scaler, state, value
from tests.hpa.build import DEPLOYING, UP, condition
from tests.replaced import replace


def rising() -> Decision:
    """A decision 2 -> 4 before its write."""
    decision = first_decision(UP, state(2), value(60_000))
    assert decision.change is not None
    return decision


@pytest.mark.parametrize(
    "outcome", [Unchanged(), Held(DEPLOYING), Conflict("changed"), Proposed(4), TargetUnavailable("down")]
)
def test_a_write_that_was_not_made_starts_no_cooldown(outcome: Outcome) -> None:
    """Only a size that changed counts against the policies. The recommendation stays either way."""
    remembered = remember(UP, History(), apply_outcome(rising(), outcome))
    assert remembered.hpa.scale_ups == ()
    assert [known.replicas for known in remembered.hpa.recommendations] == [2, 4]


def test_a_failed_write_keeps_the_desired_size_of_before() -> None:
    history = History(hpa=HpaMemory(status=Status(2, 2)))
    decision = apply_outcome(
        decide(UP, Observation(state(2), (value(60_000),)), history, NOW), TargetUnavailable("down")
    )
    assert decision.remembered.status == replace(decision.remembered.status, current=2, desired=2)
    assert condition(decision, ConditionType.ABLE_TO_SCALE) == (False, "FailedUpdateScale")
    assert decision.events[-1].reason == "FailedRescale"
    assert decision.events[-1].direction is Direction.OUT
    assert decision.error == "down"


def test_a_conflict_says_that_the_next_cycle_decides_anew() -> None:
    decision = apply_outcome(rising(), Conflict("the size is 7 now, not 2"))
    assert condition(decision, ConditionType.ABLE_TO_SCALE) == (False, "FailedUpdateScale")
    assert "the next cycle decides again" in decision.events[-1].message


def test_a_held_write_gives_its_own_reason_and_no_error() -> None:
    decision = apply_outcome(rising(), Held(DEPLOYING))
    assert condition(decision, ConditionType.ABLE_TO_SCALE) == (False, "DeploymentActive")
    assert decision.error is None
    assert decision.events == ()


def test_a_pending_write_stays_so_while_the_target_cannot_be_read() -> None:
    history = History(pending=PendingWrite(4, 2, NOW))
    decision = decide(UP, Observation(TargetUnavailable("down"), ()), history, NOW)
    assert remember(UP, history, decision).pending == history.pending


def test_an_unanswered_write_of_zero_is_left_again_once_it_shows() -> None:
    """Otherwise a target that the autoscaler scaled to zero would count as switched off."""
    sleeper = scaler(QUEUE_15, minimum=0, behavior=Behavior())
    history = History(pending=PendingWrite(0, 1, NOW, scaled_to_zero=True), at=NOW)
    woken = decide(sleeper, Observation(state(0), (value(30_000),)), history, NOW + timedelta(seconds=15))
    assert woken.desired == 2
    assert condition(woken, ConditionType.SCALED_TO_ZERO) == (True, "ScaledToZero")


def test_an_unanswered_growth_above_zero_is_no_own_zero() -> None:
    """Otherwise the autoscaler would leave a 0 that an operator sets later, which switches it off."""
    sleeper = scaler(QUEUE_15, minimum=0, behavior=Behavior())
    grows = decide(sleeper, Observation(state(1), (value(30_000),)), History(), NOW)
    unknown = remember(sleeper, History(), apply_outcome(grows, TargetUnavailable("no answer in time")))
    assert unknown.pending == PendingWrite(2, 1, NOW, scaled_to_zero=False)


def test_a_zero_that_a_pending_write_starts_from_is_an_own_zero() -> None:
    """Two daemons died in a row: the first after writing 0, the second after announcing the next size."""
    sleeper = scaler(QUEUE_15, minimum=0, behavior=Behavior())
    history = History(pending=PendingWrite(2, 0, NOW, scaled_to_zero=False), at=NOW - timedelta(seconds=15))
    woken = decide(sleeper, Observation(state(0), (value(30_000),)), history, NOW + timedelta(seconds=15))
    assert woken.desired == 2
    assert condition(woken, ConditionType.SCALED_TO_ZERO) == (True, "ScaledToZero")


def test_a_write_without_an_answer_counts_once_the_size_shows_that_it_arrived() -> None:
    """A time-out may hide a write that took effect. Forgetting it would let a policy be exceeded."""
    unknown = remember(UP, History(), apply_outcome(rising(), TargetUnavailable("no answer in time")))
    assert unknown.pending == PendingWrite(4, 2, NOW, scaled_to_zero=False)
    later = NOW + timedelta(seconds=5)
    arrived = decide(UP, Observation(state(4), (value(600_000),)), unknown, later)
    assert arrived.remembered.scale_ups == (ScaleEvent(2, NOW),)
    assert arrived.desired == 6
    lost = decide(UP, Observation(state(2), (value(600_000),)), unknown, later)
    assert lost.remembered.scale_ups == ()


LOST = PendingWrite(4, 2, NOW, scaled_to_zero=False)
"""A rise from 2 to 4 without an answer."""


def seen(size: int, seconds: float = 15, load: int = 30_000) -> Decision:
    """Return a later cycle's decision, before its write, that found `size` while LOST is pending."""
    later = NOW + timedelta(seconds=seconds)
    return decide(UP, Observation(state(size), (value(load),)), History(pending=LOST, at=NOW), later)


def pending_after(decision: Decision) -> PendingWrite | None:
    return remember(UP, History(pending=LOST, at=NOW), decision).pending


def test_a_request_that_arrives_two_cycles_later_counts_from_its_own_time() -> None:
    """A slow back end may apply a request that it never answered; missing it would exceed a policy."""
    history = remember(UP, History(), apply_outcome(rising(), TargetUnavailable("no answer in time")))
    for cycle in (1, 2):
        found = Observation(state(2), (value(30_000),))
        history = remember(UP, history, decide(UP, found, history, NOW + cycle * timedelta(seconds=5)))
        assert history.pending == LOST
    arrived = decide(UP, Observation(state(4), (value(600_000),)), history, NOW + timedelta(seconds=14))
    assert arrived.remembered.scale_ups == (ScaleEvent(2, NOW),)
    assert arrived.desired == 6, "4 pods every 15 s, 2 of which were used up 14 s ago"
    settled = remember(UP, history, apply_outcome(arrived, Written(6)))
    assert [event.change for event in settled.hpa.scale_ups] == [2, 4 - 2]
    assert settled.pending is None


def test_a_write_stays_pending_while_the_target_has_another_size() -> None:
    assert pending_after(seen(2)) == LOST
    assert pending_after(seen(3)) == LOST


def test_a_write_is_finished_once_the_target_shows_its_size() -> None:
    assert pending_after(seen(4)) is None


@pytest.mark.parametrize("outcome", [Written(6), Unchanged()])
def test_a_write_is_given_up_when_a_later_one_ends_with_a_known_size(outcome: Outcome) -> None:
    """Back ends apply absolute sizes in order, so a known later size supersedes the older request."""
    assert pending_after(apply_outcome(seen(2, load=600_000), outcome)) is None


@pytest.mark.parametrize("outcome", [Held(DEPLOYING), Conflict("changed"), TargetRefused("too large"), Proposed(4)])
def test_a_later_write_that_changed_nothing_leaves_an_older_one_pending(outcome: Outcome) -> None:
    assert pending_after(apply_outcome(seen(2, load=600_000), outcome)) == LOST


LATER = seen(2, load=600_000)
"""Asks for 6 while LOST may still arrive."""
BOTH = PendingWrite(6, 2, LATER.now, scaled_to_zero=False, earlier=LOST)


def test_a_later_write_without_an_answer_leaves_the_older_one_open_as_well() -> None:
    assert pending_after(apply_outcome(LATER, TargetUnavailable("no answer in time"))) == BOTH


def test_a_later_write_that_was_announced_leaves_the_older_one_open_as_well() -> None:
    """If the daemon dies before recording the later one, nothing else remembers the older one."""
    assert with_pending_write(UP, History(pending=LOST, at=NOW), LATER).pending == BOTH


@pytest.mark.parametrize(
    ("size", "events", "left"),
    [
        (4, (ScaleEvent(2, NOW),), replace(BOTH, earlier=None)),
        (6, (ScaleEvent(4, LATER.now),), None),
        (2, (), BOTH),
    ],
)
def test_the_open_write_that_the_target_shows_counts(
    size: int, events: tuple[ScaleEvent, ...], left: PendingWrite | None
) -> None:
    """The back end may apply the older one first. Once it applies the later one, the older one is superseded."""
    history = History(pending=BOTH, at=LATER.now)
    later = LATER.now + timedelta(seconds=15)
    made = decide(UP, Observation(state(size), (value(30_000),)), history, later)
    remembered = remember(UP, history, made)
    assert (remembered.hpa.scale_ups, remembered.pending) == (events, left)


def test_a_write_that_is_announced_again_with_the_same_size_is_open_once() -> None:
    again = apply_outcome(replace(LATER, change=replace(LATER.change, size=4)), TargetUnavailable("no answer in time"))
    assert pending_after(again) == PendingWrite(4, 2, LATER.now, scaled_to_zero=False)


def test_an_announced_write_that_was_refused_is_finished() -> None:
    """The ledger announces each change before the write, and the write's own outcome settles it."""
    refused = apply_outcome(rising(), TargetRefused("too large"))
    assert remember(UP, History(pending=LOST), refused).pending is None


def test_a_write_is_given_up_when_no_policy_could_count_it() -> None:
    """1,800 s is the longest period of a policy."""
    assert pending_after(seen(2, seconds=1799)) == LOST
    assert pending_after(seen(2, seconds=1800)) is None


def test_a_write_that_was_never_sent_leaves_nothing_open() -> None:
    """It cannot arrive later. An open one would match another client's equal size."""
    decision = apply_outcome(
        decide(UP, Observation(state(2), (value(60_000),)), History(), NOW), TargetDeferred("no time")
    )
    assert decision.change is not None
    assert remember(UP, History(), decision).pending is None
