"""Events of pauses and overrides."""

from datetime import timedelta

import pytest

from autoscaler.decide import decide
from autoscaler.decide.steering import overridden, paused, resumed
from autoscaler.model import Decision, Direction, History, ManualControls, Observation, Override, Pause
from tests.decide.build import NOW, QUEUE_15, scaler, state, value

END = NOW + timedelta(hours=2)
PAUSE = Pause(Direction.IN, "ann", "deploy", NOW, END)
OVERRIDE = Override(5, 8, "bob", "sale", NOW, END)


def decided(steering: ManualControls, last: timedelta | None, now: timedelta) -> Decision:
    """Run a cycle `now` after the end. The previous one ran `last` after the end."""
    history = History(steering=steering, at=None if last is None else END + last)
    return decide(scaler(QUEUE_15), Observation(state(3), (value(45_000),)), history, END + now)


@pytest.mark.parametrize(
    ("steering", "reason", "message"),
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
def test_an_expiry_is_an_event_of_the_next_cycle(steering: ManualControls, reason: str, message: str) -> None:
    """Exactly once, also if the daemon was down at the time."""
    second = timedelta(seconds=1)
    (event,) = decided(steering, -5 * second, second).events
    assert (event.type, event.reason, event.message) == ("Normal", reason, message)
    assert decided(steering, -timedelta(days=1), 0 * second).events == (event,)
    assert decided(steering, -5 * second, -second).events == ()
    assert decided(steering, 0 * second, 5 * second).events == ()


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
