"""The notifier with a real outbox and a real receiver."""

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from autoscaler.errors import StateError
from autoscaler.model import Notice, NoticeType
from autoscaler.moment import Moment
from autoscaler.notify.notifier import Notifier
from autoscaler.record.housekeeping import Retention
from autoscaler.record.outbox import MAX_WAITING
from autoscaler.record.state import State
from tests.clocks import FakeClock
from tests.notify.receiver import Receiver
from tests.waiting import until


class Log:
    """A logger that keeps errors."""

    def __init__(self) -> None:
        self.errors: list[dict[str, Any]] = []

    def error(self, event: str, **keys: Any) -> None:
        self.errors.append({"event": event, **keys})


class Scene:
    """The notifier of one daemon, with its outbox and its receiver."""

    def __init__(self, state: State, receiver: Receiver, folder: Path) -> None:
        self.state, self.receiver, self.folder = state, receiver, folder
        self.clock, self.log = FakeClock(), Log()
        self.counted = Counter[str]()
        self.notifier = self.new()

    def new(self) -> Notifier:
        """Return another notifier with the same state, as after a restart."""

        def count(result: str, number: int) -> None:
            self.counted[result] += number

        made = Notifier(self.state.outbox, self.clock, self.log, count, "vm1")  # type: ignore[arg-type]
        made.follow(self.receiver.webhook(self.folder))
        return made

    def add(self, *subjects: str) -> None:
        """Add a notice for each subject, one second apart."""
        for subject in subjects:
            self.state.outbox.add([Notice(NoticeType.SCALED, subject, "more load")], self.clock.moment())
            self.clock.advance(1)

    def until(self, true: Callable[[], bool]) -> None:
        """Call `turn` until the condition is true. The notifier's clock stands still."""

        def turn() -> bool:
            self.notifier.turn()
            return true()

        until(
            lambda: true() or turn(), lambda: f"notices: {self.receiver.events}, {self.log.errors}", every_seconds=0.01
        )

    @property
    def received(self) -> list[str]:
        """The subjects of the received notices, in order."""
        return [each["subject"] for each in self.receiver.events]


@pytest.fixture
def scene(receiver: Receiver, tmp_path: Path) -> Iterator[Scene]:
    with closing(State.open(None, tmp_path, Retention())) as state:
        yield Scene(state, receiver, tmp_path)
        receiver.released.set()


def test_notices_are_sent_oldest_first(scene: Scene) -> None:
    scene.add("web", "mail", "api")
    scene.until(lambda: scene.counted["delivered"] == 3)
    assert scene.received == ["web", "mail", "api"]
    assert len({each["id"] for each in scene.receiver.events}) == 3


def test_a_failed_notice_is_sent_again_after_growing_pauses(scene: Scene) -> None:
    """The pauses are 1, 2, 4 s and so on, up to a minute. The notice keeps its id."""
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


def test_a_refused_notice_delays_no_other_notice(scene: Scene) -> None:
    """Sending it again would be refused again, so it is logged and deleted."""
    scene.receiver.answers = [400]
    scene.add("web", "mail")
    scene.until(lambda: scene.counted["delivered"] == 1)
    assert scene.counted["refused"] == 1
    assert scene.log.errors[0]["event"] == "notice_refused"
    scene.add("api")
    scene.until(lambda: scene.counted["delivered"] == 2)
    assert scene.received == ["web", "mail", "api"]


def test_the_outbox_stays_bounded_while_notices_are_sent(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """A receiver that takes seconds for each notice may never empty the outbox of a large fleet."""
    take = scene.receiver.take

    def take_while_others_are_added(headers: Any, body: str) -> None:
        take(headers, body)
        if len(scene.receiver.events) == 1:
            others = [Notice(NoticeType.SCALED, "web", "more load")] * (MAX_WAITING + 1)
            scene.state.outbox.add(others, scene.clock.moment())

    monkeypatch.setattr(scene.receiver, "take", take_while_others_are_added)
    scene.receiver.answers = [204, 500]
    scene.add("first")
    scene.until(lambda: scene.counted["failed"] == 1)
    assert scene.counted["dropped"] >= 1
    dropped = next(each for each in scene.log.errors if each["event"] == "notices_dropped")
    assert dropped["error"] == "the outbox was full, or they were a day old"


def test_a_receiver_that_hangs_delays_neither_the_main_thread_nor_a_commit(scene: Scene) -> None:
    """SQLite allows one writer at a time, so no transaction may be open while the notifier waits for an answer."""
    scene.receiver.answers = ["hang"]
    scene.add("web")
    scene.until(lambda: len(scene.receiver.events) == 1)
    for _ in range(100):
        scene.notifier.turn()
    scene.add("mail")
    assert "notices" in [thread.name for thread in threading.enumerate()], "a dump of the threads shows what hangs"
    assert (len(scene.receiver.events), scene.counted) == (1, {}), "the request has ended meanwhile"


def test_a_notice_is_sent_again_if_the_daemon_is_killed_before_the_answer(scene: Scene) -> None:
    """Delivery is at least once. The receiver recognizes a repeated notice by its id."""
    scene.receiver.answers = ["hang"]
    scene.add("web")
    scene.until(lambda: len(scene.receiver.events) == 1)
    scene.notifier = scene.new()  # the first notifier never gets its answer
    scene.until(lambda: scene.counted["delivered"] == 1)
    assert [each["subject"] for each in scene.receiver.events] == ["web", "web"]
    assert len({each["id"] for each in scene.receiver.events}) == 1


def test_a_refused_reload_is_a_notice(scene: Scene) -> None:
    """It lists three problems and counts the others."""
    scene.notifier.reload_refused([f"problem {number}" for number in range(5)])
    scene.until(lambda: scene.counted["delivered"] == 1)
    (event,) = scene.receiver.events
    assert (event["type"], event["subject"]) == ("prometheus-autoscaler.reloadRefused", "vm1")
    assert event["data"] == {"message": "problem 0, problem 1, problem 2 and 2 more"}


def test_without_a_webhook_no_notice_is_kept_or_sent(scene: Scene) -> None:
    """Otherwise the outbox would fill, and old notices would be sent when a webhook is configured."""
    scene.notifier.follow(None)
    scene.notifier.reload_refused(["a problem"])
    scene.add("web")
    for _ in range(5):
        scene.notifier.turn()
    assert not scene.state.outbox.open
    assert scene.receiver.events == []
    scene.notifier.follow(scene.receiver.webhook(scene.folder))
    assert scene.state.outbox.open


@pytest.mark.parametrize(
    ("error", "said"),
    [(StateError("the disk is full"), "the disk is full"), (KeyError("token=hunter2"), "KeyError at ")],
)
def test_an_outbox_that_fails_is_logged_and_tried_again(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, error: Exception, said: str
) -> None:
    """A state that is full for a minute must not end all notices."""

    def fails(moment: Moment) -> int:
        raise error

    scene.add("web")
    with monkeypatch.context() as patched:
        patched.setattr(scene.state.outbox, "trim", fails)
        scene.until(lambda: len(scene.log.errors) == 1)
    assert scene.log.errors[0]["event"] == "notices_failed"
    assert scene.log.errors[0]["error"].startswith(said)
    scene.clock.advance(1)
    scene.until(lambda: scene.counted["delivered"] == 1)
