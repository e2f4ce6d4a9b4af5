"""The wish to stop, which goes before whatever else the main thread is at."""

import math
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import Any, Final, TypeVar

from autoscaler.errors import AutoscalerError, StateError

_T = TypeVar("_T")
_LOOK_SECONDS: Final = 0.05
"""How often it is looked for the wish while something is waited for."""


class Stopping(AutoscalerError):
    """The process was asked to stop: what was under way is given up."""

    def __init__(self) -> None:
        super().__init__("the daemon is stopping; ask the next one")


class NoThread(AutoscalerError):
    """The process has no more threads for now: nothing was begun."""

    def __init__(self) -> None:
        super().__init__("no thread could be started; raise the limit (TasksMax of systemd, ulimit -u), or try again")


class Stop:
    """Asked for by a signal handler, obeyed by the main thread."""

    def __init__(self) -> None:
        self._asked = False
        self._left_behind: list[Future[Any]] = []

    def ask(self) -> None:
        """From any thread, and from a signal handler: it takes no lock."""
        self._asked = True

    def asked(self) -> bool:
        """Whether the process is to stop."""
        return self._asked

    def unless(self, work: Callable[[], _T], seconds: float = math.inf) -> _T:
        """What `work` returns or raises, unless the process is asked to stop first. Raises Stopping then, and NoThread.

        And StateError where it takes longer than so many seconds.

        For what may take long without a bound of ours: files, databases, foreign code. It runs in a thread of its own,
        which is left behind when nobody waits for it any more. So it must do nothing that harms a process which ends.
        """
        if self.asked():
            raise Stopping
        future: Future[_T] = Future()
        try:
            threading.Thread(target=settle, args=(future, work), name="stoppable", daemon=True).start()
        except RuntimeError:
            raise NoThread from None
        until = time.monotonic() + seconds
        while not wait([future], _LOOK_SECONDS).done:
            if self.asked():
                self._left_behind.append(future)
                raise Stopping
            if time.monotonic() >= until:
                self._left_behind.append(future)
                raise StateError(_silent(seconds))
        return future.result()

    def left_behind(self) -> bool:
        """Whether something that was given up is still under way: an orderly exit could wait for it."""
        self._left_behind = [future for future in self._left_behind if not future.done()]
        return bool(self._left_behind)


def within(seconds: float, work: Callable[[], _T]) -> _T:
    """What work on the state returns or raises. Raises StateError after so long, and then leaves its thread behind.

    For who must not wait for a database that is silent.
    """
    future: Future[_T] = Future()
    try:
        threading.Thread(target=settle, args=(future, work), name="bounded", daemon=True).start()
    except RuntimeError:
        raise StateError(str(NoThread())) from None
    try:
        return future.result(seconds)
    except TimeoutError:
        raise StateError(_silent(seconds)) from None


def _silent(seconds: float) -> str:
    return f"the state has not answered within {seconds:g} s; check the database"


def settle(future: Future[_T], work: Callable[[], _T]) -> None:
    """Do the work on this thread, and hand over what it returns or raises."""
    try:
        future.set_result(work())
    except BaseException as error:  # noqa: BLE001 - handed to whoever waits, as an executor does
        future.set_exception(error)
