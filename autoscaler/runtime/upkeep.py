"""What a daemon does beside its cycles: returns memory, and looks every few seconds whether the state answers."""

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from functools import partial
from typing import Final, TypeVar

from autoscaler import memory
from autoscaler.clock import Clock
from autoscaler.errors import StateError
from autoscaler.logger import Logger
from autoscaler.record import Cut, State
from autoscaler.schedule import Shards
from autoscaler.threads import NoThread, spawn

_T = TypeVar("_T")

_SECONDS: Final = 5.0
_QUIET_SECONDS: Final = 1.0
"""How long no cycle is to begin after what holds every thread has begun: it takes less."""
_PATIENCE_SECONDS: Final = 10.0
"""How long such a moment is waited for; then a cycle may begin late by as much once."""


class Upkeep:
    """Used from the main thread. The look is on a thread of its own: a database that is silent keeps nothing else."""

    def __init__(
        self,
        state: State,
        cut: Callable[[Sequence[Cut]], None],
        answered: Callable[[bool], None],
        shards: Shards,
        clock: Clock,
        logger: Logger,
    ) -> None:
        """Keeps `state` small, and looks whether it answers: `answered` is told.

        `cut` is told what the state was cut short by.
        """
        self._shards = shards
        self._state = state
        self._cut = cut
        self._answered = answered
        self._clock = clock
        self._logger = logger
        self._due = 0.0
        """On the monotonic clock."""
        self._looking: Future[Sequence[Cut]] | None = None
        """The look that is under way."""
        self._tidying: Future[None] | None = None
        self._retired = 0
        """How many shards had ended when what they left behind was freed last."""
        self._collect_by: float | None = None
        """Until when a quiet moment is waited for to do so again, on the monotonic clock; None: there is no need."""

    def turn(self) -> None:
        """To be called every second or so."""
        self._free()
        if self._looking is not None and self._looking.done():
            looked, self._looking = self._looking, None
            self._looked(looked)
        if self._clock.monotonic() < self._due:
            return
        self._due = self._clock.monotonic() + _SECONDS
        memory.trim()
        self._begin_tidying()
        if self._looking is not None:
            self._failed(f"the state has not answered for {_SECONDS:g} s; check the database")
            return
        self._looking = self._spawn(self._state.archive.cuts)

    def _begin_tidying(self) -> None:
        if self._tidying is not None:
            if not self._tidying.done():
                return
            try:
                self._tidying.result()
            except StateError as failure:
                self._logger.error("state_failed", error=str(failure))  # noqa: TRY400 - an expected failure, not a bug
        self._tidying = self._spawn(partial(self._state.tidy, self._clock.now()))

    def _spawn(self, work: Callable[[], _T]) -> "Future[_T] | None":
        """What comes of it, on a thread of its own; None: there is none left."""
        try:
            return spawn("upkeep", work)
        except NoThread as failure:
            self._logger.error("state_failed", error=str(failure))  # noqa: TRY400 - an expected failure, not a bug
            return None

    def _free(self) -> None:
        """What shards that ended have left behind, when it disturbs no cycle."""
        now, retired = self._clock.monotonic(), self._shards.retired
        if retired != self._retired and self._collect_by is None:
            self._collect_by = now + _PATIENCE_SECONDS
        if self._collect_by is not None and (now >= self._collect_by or self._shards.quiet(_QUIET_SECONDS)):
            memory.collect()
            self._retired, self._collect_by = retired, None

    def _looked(self, looked: "Future[Sequence[Cut]]") -> None:
        try:
            self._cut(looked.result())
        except StateError as failure:
            self._failed(str(failure))
        else:
            self._answered(True)

    def _failed(self, error: str) -> None:
        self._answered(False)
        self._logger.error("state_failed", error=error)
