"""The notifier on a real outbox, with real receivers."""

import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from autoscaler.model import Notice, NoticeType
from autoscaler.notify import Notifier
from autoscaler.record import Retention, State
from tests.notify.receiver import Receiver
from tests.schedule.clock import FakeClock


class Log:
    """The errors that were logged."""

    def __init__(self) -> None:
        self.errors: list[dict[str, Any]] = []

    def error(self, event: str, **keys: Any) -> None:
        self.errors.append({"event": event, **keys})


class Scene:
    """A notifier of one daemon."""

    def __init__(self, state: State, receiver: Receiver, folder: Path) -> None:
        self.state, self.receiver, self.folder = state, receiver, folder
        self.clock, self.log = FakeClock(), Log()
        self.counted = Counter[str]()
        self.notifier = self.new()

    def new(self) -> Notifier:
        """Another one on the same state, as after a restart."""

        def count(result: str, number: int) -> None:
            self.counted[result] += number

        made = Notifier(self.state.outbox, self.clock, self.log, count, "vm1")  # type: ignore[arg-type]
        made.follow(self.receiver.webhook(self.folder))
        return made

    def add(self, *subjects: str) -> None:
        for subject in subjects:
            self.state.outbox.add([Notice(NoticeType.SCALED, subject, "more load")], self.clock.now())
            self.clock.advance(1)

    def until(self, true: Callable[[], bool]) -> None:
        """Take turns until it is so, without the clock."""
        end = time.monotonic() + 20
        while not true():
            assert time.monotonic() < end, (self.receiver.events, self.log.errors)
            self.notifier.turn()
            time.sleep(0.01)

    @property
    def told(self) -> list[str]:
        return [each["subject"] for each in self.receiver.events]


@pytest.fixture
def scene(receiver: Receiver, tmp_path: Path) -> Iterator[Scene]:
    with closing(State.open(None, tmp_path, Retention())) as state:
        yield Scene(state, receiver, tmp_path)
        receiver.let_go.set()


def test_what_waits_is_sent_in_order(scene: Scene) -> None:
    scene.add("web", "mail", "api")
    scene.until(lambda: scene.counted["delivered"] == 3)
    assert scene.told == ["web", "mail", "api"]
    assert len({each["id"] for each in scene.receiver.events}) == 3


def test_a_receiver_that_fails_is_tried_again_with_growing_pauses(scene: Scene) -> None:
    """1, 2, 4 s … up to a minute; a notice is not lost, and its id stays."""
    scene.receiver.answers = [500, 503, "redirect"]
    scene.add("web")
    for failures, pause in ((1, 1), (2, 2), (3, 4)):
        scene.until(lambda failures=failures: len(scene.log.errors) == failures)  # type: ignore[misc]
        scene.clock.advance(pause - 0.1)
        scene.notifier.turn()
        assert len(scene.receiver.events) == failures
        scene.clock.advance(0.1)
    scene.until(lambda: scene.counted["delivered"] == 1)
    assert scene.counted == {"failed": 3, "delivered": 1}
    assert len({each["id"] for each in scene.receiver.events}) == 1
    assert scene.log.errors[0]["error"] == "the receiver of notices: answered 500; the next try is in 1 s"


def test_a_refused_notice_holds_up_no_other(scene: Scene) -> None:
    """It is wrong for this receiver, and is named in the log."""
    scene.receiver.answers = [400]
    scene.add("web", "mail")
    scene.until(lambda: scene.counted["delivered"] == 1)
    assert scene.counted["refused"] == 1
    assert scene.log.errors[0]["event"] == "notice_refused"
    scene.add("api")
    scene.until(lambda: scene.counted["delivered"] == 2)
    assert scene.told == ["web", "mail", "api"]


def test_a_receiver_that_hangs_delays_no_turn_and_no_commit(scene: Scene) -> None:
    """The main thread and the shards go on, on SQLite too, which has one writer."""
    scene.receiver.answers = ["hang"]
    scene.add("web")
    scene.until(lambda: len(scene.receiver.events) == 1)
    began = time.monotonic()
    for _ in range(100):
        scene.notifier.turn()
    scene.add("mail")
    assert time.monotonic() - began < 2
    assert len(scene.receiver.events) == 1


def test_a_daemon_that_is_killed_before_it_notes_a_delivery_sends_it_again(scene: Scene) -> None:
    """At least once, and with the same id."""
    scene.receiver.answers = ["hang"]
    scene.add("web")
    scene.until(lambda: len(scene.receiver.events) == 1)
    scene.notifier = scene.new()  # the first one's answer never comes
    scene.until(lambda: scene.counted["delivered"] == 1)
    assert [each["subject"] for each in scene.receiver.events] == ["web", "web"]
    assert len({each["id"] for each in scene.receiver.events}) == 1


def test_a_refused_reload_is_told(scene: Scene) -> None:
    scene.notifier.reload_refused([f"problem {number}" for number in range(5)])
    scene.until(lambda: scene.counted["delivered"] == 1)
    (event,) = scene.receiver.events
    assert (event["type"], event["subject"]) == ("prometheus-autoscaler.reloadRefused", "vm1")
    assert event["data"] == {"message": "problem 0, problem 1, problem 2 and 2 more"}


def test_without_a_webhook_nothing_waits_and_nothing_is_sent(scene: Scene) -> None:
    scene.notifier.follow(None)
    scene.notifier.reload_refused(["a problem"])
    scene.add("web")
    for _ in range(5):
        scene.notifier.turn()
    assert not scene.state.outbox.open
    assert scene.receiver.events == []
