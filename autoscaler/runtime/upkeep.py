"""The daemon's work beside its cycles: housekeeping of the state, a check that it answers, and freeing of memory."""

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from functools import partial
from typing import Final, TypeVar

from autoscaler import collector, memory
from autoscaler.clock import Clock
from autoscaler.errors import message_of
from autoscaler.logger import Logger
from autoscaler.record.state import State
from autoscaler.record.values import Cut
from autoscaler.schedule.shards import Shards
from autoscaler.threads import NoThread, spawn

_T = TypeVar("_T")

_SECONDS: Final = 5.0


class Upkeep:
    """Used by the main thread. Calls of the state have threads of their own, because a database may not answer."""

    def __init__(
        self,
        state: State,
        cut: Callable[[Sequence[Cut]], None],
        answered: Callable[[bool], None],
        leads: Callable[[], bool],
        shards: Shards,
        clock: Clock,
        logger: Logger,
    ) -> None:
        """`answered` is called with whether the state answers, `cut` with what `state.maxSize` has deleted.

        `leads` returns whether this daemon leads; a standby leaves the housekeeping to the leader.
        """
        self._leads = leads
        self._shards = shards
        self._state = state
        self._cut = cut
        self._answered = answered
        self._clock = clock
        self._logger = logger
        self.failure: str | None = None
        """Why the state failed at the last check; None: it answered. From any thread."""
        self._due = 0.0
        """On the monotonic clock."""
        self._checking: Future[Sequence[Cut]] | None = None
        """The check in progress."""
        self._tidying: Future[None] | None = None
        self._retired = 0
        """Number of retired shards at the last collection."""

    def turn(self) -> None:
        """Do what is due. Called about every second."""
        if self._checking is not None and self._checking.done():
            checked, self._checking = self._checking, None
            self._report(checked)
        if self._clock.monotonic() < self._due:
            return
        self._due = self._clock.monotonic() + _SECONDS
        self._free_memory()
        self._begin_tidying()
        if self._checking is not None:
            self._failed(f"the state has not answered for {_SECONDS:g} s; check the database")
            return
        self._checking = self._spawn("check", self._state.check)

    def _begin_tidying(self) -> None:
        if self._tidying is not None:
            if not self._tidying.done():
                return
            try:
                self._tidying.result()
            except Exception as error:  # noqa: BLE001 - a damaged row or a bug, too
                self._logger.error("state_failed", error=message_of(error))  # noqa: TRY400 - a bug's has the place
            self._tidying = None
        if self._leads():
            self._tidying = self._spawn("housekeeping", partial(self._state.tidy, self._clock.now()))

    def _spawn(self, name: str, work: Callable[[], _T]) -> "Future[_T] | None":
        """Run `work` in a thread of this name and return its future; None if no thread could be started."""
        try:
            return spawn(name, work)
        except NoThread as failure:
            self._logger.error("state_failed", error=str(failure))  # noqa: TRY400 - an expected failure, not a bug
            return None

    def _free_memory(self) -> None:
        """Return free pages to the system; after the end of shards, also what they have left behind."""
        if self._retired != self._shards.retired:
            self._retired = self._shards.retired
            collector.collect()
        memory.trim()

    def _report(self, checked: "Future[Sequence[Cut]]") -> None:
        try:
            self._cut(checked.result())
        except Exception as error:  # noqa: BLE001 - a damaged row or a bug, too
            self._failed(message_of(error))
        else:
            self.failure = None
            self._answered(True)

    def _failed(self, error: str) -> None:
        self.failure = error
        self._answered(False)
        self._logger.error("state_failed", error=error)
