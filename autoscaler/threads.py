"""Threads that a caller can abandon, because a hanging call cannot be interrupted."""

import math
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import Any, Final, TypeVar

from autoscaler.errors import AutoscalerError, StateError

_T = TypeVar("_T")
_CHECK_SECONDS: Final = 0.05
"""Interval of checks for a request to stop."""


def spawn(name: str, work: Callable[[], _T]) -> Future[_T]:
    """Run `work` in a thread that does not keep the process alive. Returns its future.

    Raises NoThread if no thread could be started.
    """
    future: Future[_T] = Future()
    try:
        threading.Thread(target=_set_result, args=(future, work), name=name, daemon=True).start()
    except RuntimeError:
        raise NoThread from None
    return future


def _set_result(future: Future[_T], work: Callable[[], _T]) -> None:
    try:
        future.set_result(work())
    except BaseException as error:  # noqa: BLE001 - the future raises it, as with an executor
        future.set_exception(error)


class Stopping(AutoscalerError):
    """The process was asked to stop, and the current work is abandoned."""

    def __init__(self) -> None:
        super().__init__("the daemon is stopping; ask the next one")


class NoThread(AutoscalerError):
    """The process has no more threads for now, and nothing was started."""

    def __init__(self) -> None:
        super().__init__("no thread could be started; raise the limit (TasksMax of systemd, ulimit -u), or try again")


class Stop:
    """A request to stop, which takes precedence over the main thread's work. A signal handler can make it."""

    def __init__(self) -> None:
        self._asked = False
        self._left_behind: list[Future[Any]] = []

    def ask(self) -> None:
        """Request a stop. Takes no lock, so that any thread and signal handlers can call it."""
        self._asked = True

    def asked(self) -> bool:
        """Return whether the process is to stop."""
        return self._asked

    def run_interruptibly(self, work: Callable[[], _T]) -> _T:
        """Return what `work` returns or raises. Raises Stopping if a stop is requested first, and NoThread.

        For files, databases and foreign code, which can block without limit. The work runs in a thread of its own,
        which is abandoned after a stop. So it must be safe to end the process while it runs.
        """
        if self.asked():
            raise Stopping
        return self.wait_for(spawn("stoppable", work))

    def wait_for(self, future: Future[_T], seconds: float = math.inf) -> _T:
        """Return the future's result, or raise its error. Raises Stopping, and StateError after `seconds`."""
        until = time.monotonic() + seconds
        while not wait([future], _CHECK_SECONDS).done:
            if self.asked():
                self._left_behind.append(future)
                raise Stopping
            if time.monotonic() >= until:
                self._left_behind.append(future)
                raise StateError(_no_answer(seconds))
        return future.result()

    def left_behind(self) -> bool:
        """Return whether abandoned work is still running, for which an orderly exit could wait."""
        self._left_behind = [future for future in self._left_behind if not future.done()]
        return bool(self._left_behind)


def within(seconds: float, work: Callable[[], _T]) -> _T:
    """Return what work on the state returns or raises. After `seconds` raises StateError and abandons the thread.

    For callers that must not wait for an unresponsive database.
    """
    try:
        return spawn("bounded", work).result(seconds)
    except NoThread as error:
        raise StateError(str(error)) from None
    except TimeoutError:
        raise StateError(_no_answer(seconds)) from None


def _no_answer(seconds: float) -> str:
    return f"the state has not answered within {seconds:g} s; check the database"
