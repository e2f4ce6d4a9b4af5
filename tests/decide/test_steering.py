"""Events of what operators ask."""

from datetime import timedelta

import pytest

from autoscaler.decide import decide
from autoscaler.decide.steering import overridden, paused, resumed
from autoscaler.model import Decision, Direction, History, Observation, Override, Pause, Steering
from tests.decide.build import NOW, QUEUE_15, scaler, state, value

END = NOW + timedelta(hours=2)
PAUSE = Pause(Direction.IN, "ann", "deploy", NOW, END)
OVERRIDE = Override(5, 8, "bob", "sale", NOW, END)


def decided(steering: Steering, last: timedelta | None, now: timedelta) -> Decision:
    """A cycle `now` after the end; the one before it was `last` after the end."""
    history = History(steering=steering, at=None if last is None else END + last)
    return decide(scaler(QUEUE_15), Observation(state(3), (value(45_000),)), history, END + now)


@pytest.mark.parametrize(
    ("steering", "reason", "message"),
    [
        (Steering(pause=PAUSE), "PauseEnded", "the pause by ann ended by itself at 2026-01-01T14:00:00+00:00: deploy"),
        (
            Steering(override=OVERRIDE),
            "OverrideEnded",
            "the override by bob ended by itself at 2026-01-01T14:00:00+00:00: sale",
        ),
    ],
)
def test_an_ending_is_an_event_of_the_first_cycle_after_it(steering: Steering, reason: str, message: str) -> None:
    """Also where the daemon was down meanwhile; once, and not before."""
    second = timedelta(seconds=1)
    (event,) = decided(steering, -5 * second, second).events
    assert (event.type, event.reason, event.message) == ("Normal", reason, message)
    assert decided(steering, -timedelta(days=1), 0 * second).events == (event,)
    assert decided(steering, -5 * second, -second).events == ()
    assert decided(steering, 0 * second, 5 * second).events == ()


def test_what_has_no_end_does_not_end_by_itself() -> None:
    """And an autoscaler that has never decided has held nothing."""
    endless = Steering(Pause(Direction.BOTH, "ann", "", NOW, None))
    assert decided(endless, -timedelta(days=1), timedelta(days=1)).events == ()
    assert decided(Steering(pause=PAUSE), None, timedelta(days=1)).events == ()


def test_an_event_says_who_what_why_and_until_when() -> None:
    """It is read weeks later, by somebody else."""
    endless = Pause(Direction.BOTH, "ann", "", NOW, None)
    both, one = Steering(PAUSE, OVERRIDE), Steering(None, OVERRIDE)
    ends = [resumed(both, Steering(), "eve", "done"), resumed(both, one, "eve", "")]
    assert [event.message for event in (paused(PAUSE), paused(endless), overridden(OVERRIDE), *ends) if event] == [
        "ann paused scaling in until 2026-01-01T14:00:00+00:00: deploy",
        "ann paused scaling until it is resumed: no reason given",
        "bob set min 5, max 8 until 2026-01-01T14:00:00+00:00: sale",
        "eve ended the pause and the override: done",
        "eve ended the pause: no reason given",
    ]


def test_a_resume_of_nothing_is_no_event() -> None:
    """The command may be typed twice."""
    assert resumed(Steering(), Steering(), "eve", "") is None
