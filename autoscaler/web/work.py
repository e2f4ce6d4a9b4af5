"""A few threads with a short queue, on which answers are made."""

import asyncio
import time
from collections.abc import Callable
from math import inf
from typing import Final, TypeVar

import anyio

from autoscaler.threads import NoThread
from autoscaler.web.api.answers import RETRY, ErrorType, RequestError

_T = TypeVar("_T")
_THREADS: Final = 2
"""Threads that read the state and make documents. More would take processor time from the shards."""
_MAX_WAITING: Final = 32
"""Requests that may wait for a thread."""


async def on_thread(function: Callable[[], _T], limiter: anyio.CapacityLimiter | None = None) -> _T:
    """Return the function's result from a thread of anyio's. Raises RequestError if none can be started."""
    began = False

    def run() -> _T:
        nonlocal began
        began = True
        return function()

    try:
        return await anyio.to_thread.run_sync(run, limiter=limiter)
    except RuntimeError:
        if began:  # the function's own
            raise
        raise RequestError(ErrorType.UNAVAILABLE, str(NoThread())) from None


class Work:
    """Runs functions on threads.

    While others wait, a thread pauses for as long as it has worked. Shards and these threads share Python's lock:
    without the pause, a shard would wait for them after each wait for an answer.
    """

    def __init__(self, threads: int = _THREADS, most_waiting: int = _MAX_WAITING) -> None:
        """`threads`: concurrent functions. `most_waiting`: callers that may wait."""
        self._places = anyio.CapacityLimiter(threads)
        self._threads = anyio.CapacityLimiter(inf)
        self._most_waiting = most_waiting

    async def run(self, function: Callable[[], _T]) -> _T:
        """Return the function's result. Raises RequestError if too many wait, and the function's errors."""
        if self._waiting() >= self._most_waiting:
            message = "too many requests wait for an answer already; try again in a second"
            raise RequestError(ErrorType.UNAVAILABLE, message, RETRY)
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
            return await on_thread(timed, self._threads)
        finally:
            rest = used if self._waiting() else 0.0
            asyncio.get_running_loop().call_later(rest, self._places.release_on_behalf_of, place)

    def _waiting(self) -> int:
        return self._places.statistics().tasks_waiting
