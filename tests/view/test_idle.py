"""What is shown of an idle autoscaler: since when, and what ends it."""

from autoscaler.model import Failure, ManualControls
from autoscaler.view.story import why
from autoscaler.view.verdict import AutoscalerState, level, state
from tests.decide.build import value
from tests.rules.idling import BUSY, MAILS, QUEUE, QUIET, idle_scaler
from tests.view.diary import Diary

LAST = "2026-01-01T12:00:15+00:00"


def resting() -> Diary:
    diary = Diary(idle_scaler(QUEUE, MAILS))
    diary.step(BUSY, value(0))
    for _ in range(5):
        diary.step(QUIET, value(0))
    assert diary.size == 0
    return diary


def test_an_idle_autoscaler_says_since_when_and_what_ends_it() -> None:
    told = resting().explained()
    assert f"no metric is above its activation; the last activity was at {LAST}" in " ".join(told.lines)
    assert "To scale out it takes queue above 5 or mails above 0; at the earliest to 3 in 15s." in told.lines
    assert [way.direction for way in told.ways] == ["out"]
    assert told.bounds is not None
    assert (told.bounds.minimum, told.bounds.minimum_of) == (0, "idleReplicas")


def test_an_autoscaler_in_its_cooldown_says_when_it_ends() -> None:
    diary = Diary(idle_scaler(QUEUE))
    diary.step(BUSY)
    diary.step(QUIET)
    assert "If nothing changes, it goes to 0 in 45s." in diary.explained().lines


def test_the_headline_of_an_idle_autoscaler_is_idle() -> None:
    newest = resting().newest
    assert newest is not None
    assert state(newest.decision, ManualControls()) is AutoscalerState.IDLE
    assert level(AutoscalerState.IDLE, newest.decision) == "normal"
    assert why(newest.decision).startswith("no metric is above its activation; the last activity was at")


def test_an_idle_autoscaler_that_a_failed_metric_cannot_wake_is_failing() -> None:
    diary = resting()
    diary.step(QUIET, Failure("connection refused"))
    assert diary.newest is not None
    assert state(diary.newest.decision, ManualControls()) is AutoscalerState.FAILING


def test_an_idle_autoscaler_shows_the_value_that_its_activation_is_compared_with() -> None:
    """Without instances there is no average. An operator still has to see how far the queue is from the activation."""
    diary = resting()
    diary.step(value(4_000), value(0))
    told = diary.explained()
    queue, _ = told.metrics
    assert (queue.value, queue.total, queue.text) == (None, 4.0, "4 in total/15 (avg)")
    assert "queue: 4 in total, 15 for each -> 1" in told.lines
