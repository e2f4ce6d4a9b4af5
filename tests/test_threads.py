"""What is under way when the process is to stop is given up, and only then."""

import threading
import time

import pytest

from autoscaler.threads import NoThread, Stop, Stopping


def test_what_ends_by_itself_is_as_if_nothing_was_between() -> None:
    assert Stop().run_interruptibly(lambda: 3) == 3
    with pytest.raises(ValueError, match="web"):
        Stop().run_interruptibly(lambda: int("web"))


def test_what_hangs_is_left_behind_once_stopping_is_asked_for() -> None:
    """It may end later, and only an exit that waits for no thread is right until then."""
    stop, release = Stop(), threading.Event()
    threading.Timer(0.05, stop.ask).start()
    with pytest.raises(Stopping):
        stop.run_interruptibly(lambda: release.wait(30))
    assert stop.left_behind()
    release.set()
    end = time.monotonic() + 10
    while stop.left_behind() and time.monotonic() < end:
        time.sleep(0.001)
    assert not stop.left_behind()


def test_nothing_begins_any_more_once_stopping_is_asked_for() -> None:
    """A signal may have come before."""
    stop, begun = Stop(), []
    stop.ask()
    with pytest.raises(Stopping):
        stop.run_interruptibly(lambda: begun.append(1))
    assert begun == []


def test_a_process_without_threads_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """The main thread goes on: what it wanted comes again in a few seconds, or is asked for again."""

    def start(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    stop, begun = Stop(), []
    monkeypatch.setattr(threading.Thread, "start", start)
    with pytest.raises(NoThread, match="no thread could be started"):
        stop.run_interruptibly(lambda: begun.append(1))
    assert (begun, stop.left_behind()) == ([], False)
