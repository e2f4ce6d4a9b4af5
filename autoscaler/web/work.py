"""What answers are made of takes time: a few threads, and a short queue."""

import asyncio
import time
from collections.abc import Callable
from math import inf
from typing import Final, Generic, TypeVar

import anyio

_T = TypeVar("_T")
_THREADS: Final = 2
"""That read the state and make documents at once; more would take processor time from the shards."""
_MOST_WAITING: Final = 32
"""Requests that may wait for one of them."""
RETRY: Final = {"Retry-After": "1"}


class TooBusy(Exception):
    """The queue is full: answer 503, with `RETRY`."""

    def __init__(self) -> None:
        super().__init__("too many requests wait for an answer already; try again in a second")


class Work:
    """Runs functions on threads.

    While others wait, a thread rests as long as it has worked. Shards and these threads share Python's lock: without
    the rest, a shard would stand behind them whenever it comes back from waiting for an answer.
    """

    def __init__(self, threads: int = _THREADS, most_waiting: int = _MOST_WAITING) -> None:
        """`threads`: that work at once. `most_waiting`: callers that may wait for one."""
        self._places = anyio.CapacityLimiter(threads)
        self._threads = anyio.CapacityLimiter(inf)
        self._most_waiting = most_waiting

    async def run(self, function: Callable[[], _T]) -> _T:
        """What it returns. Raises TooBusy, and whatever it raises."""
        if self._waiting() >= self._most_waiting:
            raise TooBusy
        place, used = object(), 0.0

        def timed() -> _T:
            nonlocal used
            began = time.thread_time()
            try:
                return function()
            finally:
                used = time.thread_time() - began

        await self._places.acquire_on_behalf_of(place)
        try:
            return await anyio.to_thread.run_sync(timed, limiter=self._threads)
        finally:
            rest = used if self._waiting() else 0.0
            asyncio.get_running_loop().call_later(rest, self._places.release_on_behalf_of, place)

    def _waiting(self) -> int:
        return self._places.statistics().tasks_waiting


class SharedWork(Generic[_T]):
    """One run for all who ask for the same while it lasts."""

    def __init__(self, work: Work, function: Callable[[], _T]) -> None:
        self._work = work
        self._function = function
        self._running: asyncio.Future[_T] | None = None

    async def run(self) -> _T:
        """What the function returns: at most as old as it takes. Raises TooBusy, and whatever it raises."""
        if self._running is None or self._running.done():
            self._running = asyncio.ensure_future(self._work.run(self._function))
            self._running.add_done_callback(lambda done: done.cancelled() or done.exception())  # all may have left
        return await asyncio.shield(self._running)
