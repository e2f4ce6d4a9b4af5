"""The lock behind which a process writes to SQLite."""

import threading

import pytest

from autoscaler.errors import StateError
from autoscaler.record.fair_lock import FairLock
from tests.record.conftest import Opener, in_threads
from tests.record.samples import FLEET, decision, keep


def until_waiting(lock: FairLock, count: int) -> None:
    """Come back once so many wait for it."""
    while len(lock._waiting) < count:
        pass


def test_turns_come_in_the_order_in_which_they_were_asked_for() -> None:
    """A busy shard must not take its turn again before one that waits."""
    lock, order, threads = FairLock(), list[int](), list[threading.Thread]()

    def take(number: int) -> None:
        assert lock.acquire(30)
        order.append(number)
        lock.release()

    assert lock.acquire(0)
    for number in range(8):
        threads.append(threading.Thread(target=take, args=(number,)))
        threads[-1].start()
        until_waiting(lock, number + 1)
    lock.release()
    assert lock.acquire(30)  # asked for last
    assert order == list(range(8))
    for thread in threads:
        thread.join()


def test_who_waits_too_long_gives_up() -> None:
    lock = FairLock()
    assert lock.acquire(0)
    assert not lock.acquire(0.01)


def test_who_gave_up_is_passed_over() -> None:
    """A turn that is given to nobody would stop everybody."""
    lock = FairLock()
    assert lock.acquire(0)
    assert not lock.acquire(0.01)
    lock.release()
    assert lock.acquire(0)


def test_a_lock_that_was_given_back_can_be_taken_at_once() -> None:
    lock = FairLock()
    for _ in range(3):
        assert lock.acquire(0)
        lock.release()


def test_a_write_that_waits_too_long_for_its_turn_is_explained(
    sqlite_opener: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk that hangs in one shard's commit: the others say so, and go on once it is over."""
    monkeypatch.setattr("autoscaler.record.database._TURN_SECONDS", 0.05)
    state = sqlite_opener.state()
    ledger = state.ledger(FLEET)
    begun, over = threading.Event(), threading.Event()

    def hang() -> None:
        with state._database.writing():
            begun.set()
            over.wait(30)

    with in_threads([hang]) as raised:
        assert begun.wait(30)
        with pytest.raises(StateError, match="another write has taken more than"):
            keep(ledger, decision())
        over.set()
    assert raised == []
    keep(ledger, decision())
    assert state.archive.latest() == {"web": decision()}
