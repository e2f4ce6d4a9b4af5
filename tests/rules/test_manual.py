"""Pauses and overrides: what they hold and replace, and their events."""

from datetime import timedelta

import pytest

from autoscaler.decide import decide
from autoscaler.model import ConditionType, Decision, Direction, History, ManualControls, Observation, Override, Pause
from autoscaler.rules.manual import overridden, paused, resumed
from tests.decide.build import NOW, QUEUE_15, scaler, state, value
from tests.hpa.build import UP, condition

END = NOW + timedelta(hours=2)
PAUSE = Pause(Direction.IN, "ann", "deploy", NOW, END)
OVERRIDE = Override(5, 8, "bob", "sale", NOW, END)


def decided(manual: ManualControls, last: timedelta | None, now: timedelta) -> Decision:
    """Run a cycle `now` after the end. The previous one ran `last` after the end."""
    history = History(manual=manual, at=None if last is None else END + last)
    return decide(scaler(QUEUE_15), Observation(state(3), (value(45_000),)), history, END + now)


@pytest.mark.parametrize(
    ("manual", "reason", "message"),
    [
        (
            ManualControls(pause=PAUSE),
            "PauseEnded",
            "the pause by ann ended by itself at 2026-01-01T14:00:00+00:00: deploy",
        ),
        (
            ManualControls(override=OVERRIDE),
            "OverrideEnded",
            "the override by bob ended by itself at 2026-01-01T14:00:00+00:00: sale",
        ),
    ],
)
def test_an_expiry_is_an_event_of_the_next_cycle(manual: ManualControls, reason: str, message: str) -> None:
    """Exactly once, also if the daemon was down at the time."""
    second = timedelta(seconds=1)
    (event,) = decided(manual, -5 * second, second).events
    assert (event.type, event.reason, event.message) == ("Normal", reason, message)
    assert decided(manual, -timedelta(days=1), 0 * second).events == (event,)
    assert decided(manual, -5 * second, -second).events == ()
    assert decided(manual, 0 * second, 5 * second).events == ()


def test_a_pause_without_end_does_not_expire() -> None:
    """An autoscaler without decisions has nothing to end."""
    endless = ManualControls(Pause(Direction.BOTH, "ann", "", NOW, None))
    assert decided(endless, -timedelta(days=1), timedelta(days=1)).events == ()
    assert decided(ManualControls(pause=PAUSE), None, timedelta(days=1)).events == ()


def test_an_event_names_operator_change_reason_and_end() -> None:
    """Other operators read it weeks later."""
    endless = Pause(Direction.BOTH, "ann", "", NOW, None)
    both, one = ManualControls(PAUSE, OVERRIDE), ManualControls(None, OVERRIDE)
    ends = [resumed(both, ManualControls(), "eve", "done"), resumed(both, one, "eve", "")]
    assert [event.message for event in (paused(PAUSE), paused(endless), overridden(OVERRIDE), *ends) if event] == [
        "ann paused scaling in until 2026-01-01T14:00:00+00:00: deploy",
        "ann paused scaling until it is resumed: no reason given",
        "bob set min 5, max 8 until 2026-01-01T14:00:00+00:00: sale",
        "eve ended the pause and the override: done",
        "eve ended the pause: no reason given",
    ]


def test_a_resume_of_nothing_is_no_event() -> None:
    """An operator may run the command twice."""
    assert resumed(ManualControls(), ManualControls(), "eve", "") is None


def under_pause(direction: Direction, until: timedelta | None = None) -> History:
    ends = None if until is None else NOW + until
    return History(manual=ManualControls(Pause(direction, "ann", "load test", NOW, ends)))


@pytest.mark.parametrize(
    ("direction", "written"), [(Direction.OUT, False), (Direction.BOTH, False), (Direction.IN, True)]
)
def test_a_pause_holds_its_direction_and_says_who_and_why(direction: Direction, written: bool) -> None:
    decision = decide(UP, Observation(state(2), (value(60_000),)), under_pause(direction), NOW)
    assert (decision.change is not None) == written
    if not written:
        assert condition(decision, ConditionType.ABLE_TO_SCALE) == (False, "Paused")
        assert any("paused by ann until it is resumed: load test" in step.detail for step in decision.trace)
        assert decision.desired == 4


def test_a_pause_ends_by_itself() -> None:
    history = under_pause(Direction.BOTH, until=timedelta(hours=2))
    observed = Observation(state(2), (value(60_000),))
    assert decide(UP, observed, history, NOW + timedelta(hours=1)).change is None
    assert decide(UP, observed, history, NOW + timedelta(hours=2)).change is not None


def test_overridden_bounds_replace_the_configured_ones() -> None:
    manual = ManualControls(override=Override(5, 6, "ann", "sale", NOW, None))
    decision = decide(UP, Observation(state(2), (value(0),)), History(manual=manual), NOW)
    assert decision.desired == 5
    assert (decision.minimum, decision.maximum) == (5, 6)
    assert decision.change is not None
    assert decision.change.reason == "the size is below the minimum set by ann"
    assert decision.manual == manual
