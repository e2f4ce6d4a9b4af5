"""What operators are told of a decision, and that they are told once."""

import dataclasses

from autoscaler.errors import TargetUnavailable
from autoscaler.model import Decision, Failure, Hold, HoldReason, NoticeType, Reading, TargetState
from autoscaler.notices import notices
from tests.decide.build import QUEUE_15, Life, scaler, state, value

HELD = dataclasses.replace(state(2), hold=Hold(scale_out=HoldReason("Deploying", "a deployment is running")))
FAILED = Failure("connection refused")


class Told(Life):
    """Notices of one cycle after another."""

    latest: Decision | None = None

    def tell(
        self, reading: Reading | Failure, target: TargetState | TargetUnavailable | None = None
    ) -> list[NoticeType]:
        made = self.step(reading, after=15, target=target)
        found = list(notices(self.latest, made))
        self.latest = made
        self.messages = [each.message for each in found]
        return [each.type for each in found]


def test_a_written_size_is_told() -> None:
    told = Told(scaler(QUEUE_15), 2)
    assert told.tell(value(30_000)) == []
    assert told.tell(value(60_000)) == [NoticeType.SCALED]
    assert told.messages == ["external metric queue above target"]


def test_the_maximum_is_told_when_it_begins_to_limit() -> None:
    """Also through a cycle without a value, and once more when it limits anew."""
    told = Told(scaler(QUEUE_15, maximum=2), 2)
    assert told.tell(value(90_000)) == [NoticeType.AT_MAXIMUM]
    assert told.tell(value(90_000)) == []
    told.tell(FAILED)
    assert told.tell(value(90_000)) == []
    for _ in range(21):  # until the higher recommendations have left the window
        assert told.tell(value(30_000)) == []
    assert told.tell(value(90_000)) == [NoticeType.AT_MAXIMUM]


def test_a_failed_metric_is_told_once() -> None:
    """Also where the target cannot be read in between."""
    told = Told(scaler(QUEUE_15), 2)
    told.tell(value(30_000))
    assert told.tell(FAILED) == [NoticeType.METRIC_FAILING]
    assert told.messages == ["1 of 1 metrics failed, first external metric queue: connection refused"]
    assert told.tell(FAILED) == []
    assert told.tell(FAILED, TargetUnavailable("timed out")) == []
    assert told.tell(FAILED) == []
    told.tell(value(30_000))
    assert told.tell(FAILED) == [NoticeType.METRIC_FAILING]


def test_a_hold_is_told_once() -> None:
    told = Told(scaler(QUEUE_15), 2)
    assert told.tell(value(60_000), HELD) == [NoticeType.HELD]
    assert told.messages == ["a deployment is running"]
    assert told.tell(value(60_000), HELD) == []
    assert told.tell(value(60_000)) == [NoticeType.SCALED]
    assert told.tell(value(90_000), HELD) == [NoticeType.HELD]


def test_a_failed_write_is_no_hold() -> None:
    told = Told(scaler(QUEUE_15), 2)
    made = told.step(value(60_000), outcome=TargetUnavailable("timed out"))
    assert list(notices(None, made)) == []


def test_a_dry_run_tells_nothing() -> None:
    told = Told(dataclasses.replace(scaler(QUEUE_15, maximum=3), dry_run=True), 2)
    assert told.tell(value(90_000)) == []
    assert told.tell(FAILED) == []


def test_an_autoscaler_that_is_no_dry_run_any_more_tells_what_limits_it() -> None:
    """The maximum began to limit it during the dry run, when nothing was told."""
    told = Told(dataclasses.replace(scaler(QUEUE_15, maximum=2), dry_run=True), 2)
    assert told.tell(value(90_000)) == []
    told.autoscaler = dataclasses.replace(told.autoscaler, dry_run=False)
    assert told.tell(value(90_000)) == [NoticeType.AT_MAXIMUM]
    assert told.tell(value(90_000)) == []
