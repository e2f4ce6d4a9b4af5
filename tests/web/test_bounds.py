"""The limits on clients, each apart from the server."""

import asyncio
import resource
import threading
from collections.abc import Iterator

import pytest

from autoscaler.bucket import TokenBucket
from autoscaler.web.api.answers import RequestError
from autoscaler.web.descriptors import most_connections
from autoscaler.web.work import Work


def test_a_bucket_allows_a_burst_then_one_request_per_interval() -> None:
    """Source: golang.org/x/time/rate."""
    bucket = TokenBucket(3, 0.5)
    assert [bucket.take(10.0) for _ in range(4)] == [True, True, True, False]
    assert bucket.reserve(10.2, patience=0.2) is None
    assert [bucket.take(10.5), bucket.take(10.5)] == [True, False]
    assert bucket.tokens(1000.0) == 3


class Limits:
    """RLIMIT_NOFILE of a process that cannot raise its hard limit."""

    def __init__(self, soft: int, hard: int, *, locked: bool = False) -> None:
        self.now, self._locked = (soft, hard), locked

    def get(self, which: int) -> tuple[int, int]:
        return self.now

    def set(self, which: int, limits: tuple[int, int]) -> None:
        if self._locked:
            raise PermissionError
        assert limits[1] == self.now[1]
        self.now = limits


@pytest.mark.parametrize(
    ("limits", "soft", "most"),
    [
        (Limits(1024, 524_288), 4096, 256),
        (Limits(1024, 1024), 1024, 256),
        (Limits(256, 256), 256, 128),
        (Limits(256, 2048), 2048, 256),
        (Limits(256, 2048, locked=True), 256, 128),
        (Limits(8192, 524_288), 8192, 256),
        (Limits(1024, resource.RLIM_INFINITY), 4096, 256),
        (Limits(resource.RLIM_INFINITY, resource.RLIM_INFINITY), resource.RLIM_INFINITY, 256),
        (Limits(10, 10), 10, 8),
    ],
)
def test_half_of_the_descriptors_are_for_scaling(
    monkeypatch: pytest.MonkeyPatch, limits: Limits, soft: int, most: int
) -> None:
    """The process raises its soft limit if it can."""
    monkeypatch.setattr(resource, "getrlimit", limits.get)
    monkeypatch.setattr(resource, "setrlimit", limits.set)
    assert most_connections() == most
    assert limits.now[0] == soft


@pytest.fixture
def go_on() -> Iterator[threading.Event]:
    event = threading.Event()
    yield event
    event.set()


def test_a_full_queue_refuses_work(go_on: threading.Event) -> None:
    async def test() -> None:
        work = Work(threads=1, most_waiting=2)
        tasks = [asyncio.create_task(work.run(lambda: go_on.wait(60))) for _ in range(3)]
        await asyncio.sleep(0.05)
        with pytest.raises(RequestError, match="try again"):
            await work.run(lambda: True)
        go_on.set()
        assert await asyncio.gather(*tasks) == [True] * 3
        assert await work.run(lambda: "again") == "again"

    asyncio.run(test())
