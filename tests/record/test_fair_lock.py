"""The lock that threads of a process take to write to SQLite."""

import threading
from pathlib import Path

import pytest
from sqlalchemy import make_url, text

from autoscaler.errors import StateError
from autoscaler.record.database import Database
from autoscaler.record.fair_lock import FairLock
from tests.record.conftest import in_threads


def until_waiting(lock: FairLock, count: int) -> None:
    """Wait until so many threads wait for it."""
    while len(lock._waiting) < count:
        pass


def test_threads_get_the_lock_in_the_order_of_their_requests() -> None:
    """A busy shard must not take the lock again before a shard that waits."""
    lock, order, threads = FairLock(), list[int](), list[threading.Thread]()

    def take(number: int) -> None:
        assert lock.acquire(60)
        order.append(number)
        lock.release()

    assert lock.acquire(0)
    for number in range(8):
        threads.append(threading.Thread(target=take, args=(number,)))
        threads[-1].start()
        until_waiting(lock, number + 1)
    lock.release()
    assert lock.acquire(60)  # requested last
    assert order == list(range(8))
    for thread in threads:
        thread.join()


def test_a_thread_gives_up_after_its_time() -> None:
    lock = FairLock()
    assert lock.acquire(0)
    assert not lock.acquire(0.01)


def test_a_thread_that_gave_up_is_skipped() -> None:
    """To hand the lock to that thread would block all others."""
    lock = FairLock()
    assert lock.acquire(0)
    assert not lock.acquire(0.01)
    lock.release()
    assert lock.acquire(0)


def test_a_released_lock_can_be_taken_at_once() -> None:
    lock = FairLock()
    for _ in range(3):
        assert lock.acquire(0)
        lock.release()


def test_a_write_that_waits_too_long_for_its_turn_is_explained(tmp_path: Path) -> None:
    """The disk hangs in the commit of one shard. The others report it, and go on when it ends."""
    database = Database(make_url(f"sqlite:///{tmp_path / 'state.db'}"), turn_seconds=0.05)
    begun, over = threading.Event(), threading.Event()

    def hang() -> None:
        with database.writing():
            begun.set()
            over.wait(60)

    with in_threads([hang]) as raised:
        assert begun.wait(60)
        with pytest.raises(StateError, match="another write has taken more than"), database.writing():
            pass
        over.set()
    assert raised == []
    with database.writing() as connection:
        assert connection.execute(text("SELECT 1")).scalar_one() == 1
    database.close()
