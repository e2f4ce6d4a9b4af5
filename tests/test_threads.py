"""Work in progress is abandoned when the process stops, and only then."""

import threading

import pytest

from autoscaler.threads import NoThread, Stop, Stopping
from tests.waiting import until


def test_work_that_ends_returns_its_result() -> None:
    assert Stop().run_interruptibly(lambda: 3) == 3
    with pytest.raises(ValueError, match="web"):
        Stop().run_interruptibly(lambda: int("web"))


def test_hanging_work_is_abandoned_after_a_stop_request() -> None:
    """It may end later, and until then only an exit that waits for no thread is correct."""
    stop, release = Stop(), threading.Event()
    threading.Timer(0.05, stop.ask).start()
    with pytest.raises(Stopping):
        stop.run_interruptibly(lambda: release.wait(60))
    assert stop.left_behind()
    release.set()
    until(lambda: not stop.left_behind(), "the end of the work")


def test_no_work_starts_after_a_stop_request() -> None:
    """The signal may have come before."""
    stop, begun = Stop(), []
    stop.ask()
    with pytest.raises(Stopping):
        stop.run_interruptibly(lambda: begun.append(1))
    assert begun == []


def test_a_process_without_threads_raises_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """The main thread continues and tries again later."""

    def start(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    stop, begun = Stop(), []
    monkeypatch.setattr(threading.Thread, "start", start)
    with pytest.raises(NoThread, match="no thread could be started"):
        stop.run_interruptibly(lambda: begun.append(1))
    assert (begun, stop.left_behind()) == ([], False)
