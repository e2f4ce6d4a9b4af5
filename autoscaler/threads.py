"""Threads that a caller can give up on: what hangs in foreign code, a file or the network cannot be interrupted."""

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


def spawn(name: str, work: Callable[[], _T]) -> Future[_T]:
    """Run `work` in a thread that never keeps the process alive. Returns what it is to return or raise.

    Raises NoThread: then nothing is begun.
    """
    future: Future[_T] = Future()
    try:
        threading.Thread(target=_settle, args=(future, work), name=name, daemon=True).start()
    except RuntimeError:
        raise NoThread from None
    return future


def _settle(future: Future[_T], work: Callable[[], _T]) -> None:
    try:
        future.set_result(work())
    except BaseException as error:  # noqa: BLE001 - handed to whoever asks the future, as an executor does
        future.set_exception(error)


class Stopping(AutoscalerError):
    """The process was asked to stop: what was under way is given up."""

    def __init__(self) -> None:
        super().__init__("the daemon is stopping; ask the next one")


class NoThread(AutoscalerError):
    """The process has no more threads for now: nothing was begun."""

    def __init__(self) -> None:
        super().__init__("no thread could be started; raise the limit (TasksMax of systemd, ulimit -u), or try again")


class Stop:
    """The wish to stop, which goes before whatever else the main thread is at. A signal handler asks for it."""

    def __init__(self) -> None:
        self._asked = False
        self._left_behind: list[Future[Any]] = []

    def ask(self) -> None:
        """From any thread, and from a signal handler: it takes no lock."""
        self._asked = True

    def asked(self) -> bool:
        """Whether the process is to stop."""
        return self._asked

    def run_interruptibly(self, work: Callable[[], _T], seconds: float = math.inf) -> _T:
        """What `work` returns or raises, unless the process is asked to stop first. Raises Stopping then, and NoThread.

        And StateError where it takes longer than so many seconds.

        For what may take long without a bound of ours: files, databases, foreign code. It runs in a thread of its own,
        which is left behind when nobody waits for it any more. So it must do nothing that harms a process which ends.
        """
        if self.asked():
            raise Stopping
        future = spawn("stoppable", work)
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
    try:
        return spawn("bounded", work).result(seconds)
    except NoThread as error:
        raise StateError(str(error)) from None
    except TimeoutError:
        raise StateError(_silent(seconds)) from None


def _silent(seconds: float) -> str:
    return f"the state has not answered within {seconds:g} s; check the database"
