"""A thread of its own renews the lease, or watches another daemon's."""

import threading
from datetime import timedelta

import pytest

from autoscaler.errors import StateError
from autoscaler.record.lease import LeaseOptions
from autoscaler.runtime.leadership import Leadership
from autoscaler.target.contract.harness import RecordingLogger
from tests.clocks import FakeClock
from tests.daemon.leading import FakeLease


@pytest.fixture(autouse=True)
def _short_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ask a database that refuses the lease again at once."""
    monkeypatch.setattr("autoscaler.runtime.leadership._AGAIN_SECONDS", 0.0)


def started(leadership: Leadership, **options: bool) -> Leadership:
    leadership.start(**options)
    return leadership


def test_the_lease_is_renewed_from_the_moment_it_is_taken(lease: FakeLease, log: RecordingLogger) -> None:
    """The start may take longer than the lease lasts."""
    renewed = threading.Semaphore(0)
    lease.on_turn = renewed.release
    leadership = started(lease.leadership(log))
    for _ in range(3):
        leadership._wake.set()
        assert renewed.acquire(timeout=60)
    leadership.end(hanging=False)


def test_a_database_that_is_slow_at_the_start_does_not_end_the_daemon(lease: FakeLease, log: RecordingLogger) -> None:
    """Another daemon may migrate the state at that moment."""
    clock, answers = FakeClock(), iter([StateError("it is locked"), None])

    def turn() -> None:
        clock.advance(5)
        if (failure := next(answers, None)) is not None:
            raise failure

    lease.on_turn = turn
    leadership = started(lease.leadership(log, clock))
    assert log.events == ["lease_not_renewed"]
    assert leadership.failure is None
    leadership.end(hanging=False)


def test_a_database_that_refuses_the_lease_ends_the_daemon_at_its_start(lease: FakeLease, log: RecordingLogger) -> None:
    """It is read-only, say: the operator named the wrong server."""
    clock, asked = FakeClock(), []

    def turn() -> None:
        clock.advance(5)
        asked.append(clock.monotonic())
        raise StateError("it is a standby")

    lease.on_turn = turn
    with pytest.raises(StateError, match="it is a standby"):
        lease.leadership(log, clock).start()
    assert len(asked) == 4, "for the duration of a lease and two retry periods"


def test_the_main_thread_is_told_when_this_daemon_begins_or_ceases_to_lead(
    lease: FakeLease, log: RecordingLogger
) -> None:
    """Its first cycle begins when the lease is taken, not at the next look."""
    told, turns, generations = threading.Semaphore(0), threading.Semaphore(0), iter(["first", "first", None])
    lease.options = LeaseOptions(retry_period=timedelta(milliseconds=100))
    leadership = started(lease.leadership(log, changed=told.release))

    def turn() -> None:
        lease.generation = next(generations, None)
        turns.release()

    lease.on_turn = turn
    for _ in range(6):  # three more turns than it has generations
        assert turns.acquire(timeout=60)
    assert [told.acquire(blocking=False) for _ in range(3)] == [True, True, False]
    leadership.end(hanging=False)


def test_a_failing_renewal_is_logged_once(lease: FakeLease, log: RecordingLogger) -> None:
    """It is repeated every two seconds. A bug is logged as well, and ends nothing."""
    tries, leadership = threading.Semaphore(0), started(lease.leadership(log))
    errors = iter([StateError("the database is away"), KeyError("a bug"), StateError("the database is away")])

    def fail() -> None:
        tries.release()
        raise next(errors)

    lease.on_turn = fail
    for _ in range(3):
        leadership._wake.set()
        assert tries.acquire(timeout=60)
    leadership.end(hanging=False)
    assert log.lines == [("warning", "lease_not_renewed", {"error": "the database is away"})]


def test_a_daemon_that_neither_leads_nor_reaches_the_database_says_so(lease: FakeLease, log: RecordingLogger) -> None:
    """A standby that watches the lease is in order, and so is a leader between two renewals."""
    leadership = lease.leadership(log)
    told = [leadership.failure]
    leadership._failed("the database is away")
    told.append(leadership.failure)
    lease.generation = "first"
    told.append(leadership.failure)
    assert told == [None, "the database is away", None]


def test_a_thread_that_hangs_in_the_database_is_replaced(lease: FakeLease, log: RecordingLogger) -> None:
    """A connection can be dead for minutes after the database is back. The number of such threads is limited."""
    clock, asked, answer = FakeClock(), threading.Semaphore(0), threading.Event()
    leadership = started(lease.leadership(log, clock))

    def hang() -> None:
        asked.release()
        answer.wait(60)

    lease.on_turn = hang
    threads = []
    for _ in range(4):
        leadership._wake.set()
        assert asked.acquire(timeout=60)
        for seconds in (14, 2):  # the limit is the duration of a lease
            clock.advance(seconds)
            leadership.check()
            threads.append(len(leadership._threads))
    assert threads == [1, 2, 2, 3, 3, 4, 4, 4]
    assert leadership.failure == "the database has not answered for 15 s"
    answer.set()
    leadership.end(hanging=False)


def test_a_replaced_thread_does_not_take_its_successors_wake_up(lease: FakeLease, log: RecordingLogger) -> None:
    """Otherwise the successor would not notice the daemon's end, and the lease would have to run out."""
    clock, asked, answer, hanging = FakeClock(), threading.Semaphore(0), threading.Event(), threading.Event()
    lease.options = LeaseOptions(retry_period=timedelta(hours=1))  # nothing happens without a wake-up
    leadership = started(lease.leadership(log, clock))

    def hang() -> None:
        asked.release()
        if not hanging.is_set():
            hanging.set()
            answer.wait(60)

    lease.on_turn = hang
    leadership._wake.set()
    assert asked.acquire(timeout=60)
    clock.advance(16)
    leadership.check()
    first, _ = leadership._threads
    answer.set()
    first.result(60)
    leadership.end(hanging=False)
    assert lease.resigned == [False]


@pytest.mark.parametrize("hanging", [True, False])
def test_the_daemons_end_frees_the_lease_unless_a_call_hangs(
    lease: FakeLease, log: RecordingLogger, hanging: bool
) -> None:
    """The lease of a daemon with a hanging call runs out instead."""
    started(lease.leadership(log)).end(hanging=hanging)
    assert lease.resigned == ([] if hanging else [False])


def test_the_daemons_end_waits_for_no_database_that_is_silent(
    lease: FakeLease, log: RecordingLogger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The database may never answer again. The lease then ends by itself."""
    monkeypatch.setattr("autoscaler.runtime.leadership._END_SECONDS", 0.05)
    asked, answer = threading.Event(), threading.Event()

    def hang() -> None:
        asked.set()
        answer.wait(60)

    leadership = started(lease.leadership(log))
    lease.on_turn = hang
    leadership._wake.set()
    assert asked.wait(60)
    leadership.end(hanging=False)
    assert lease.resigned == []
    answer.set()


SHORT = LeaseOptions(timedelta(seconds=0.3), timedelta(seconds=0.2), timedelta(seconds=0.1))


@pytest.mark.parametrize("stands_by", [True, False])
def test_a_daemon_that_is_to_be_alone_is_refused_beside_another_one(
    lease: FakeLease, log: RecordingLogger, stands_by: bool
) -> None:
    """The error names the other daemon, whether it stands by or leads."""
    lease.options = SHORT
    lease.present = ["three, pid 8", "four, pid 9"] if stands_by else []
    leadership = lease.leadership(log)
    named = "three, pid 8; four, pid 9" if stands_by else "two, pid 7"
    with pytest.raises(StateError, match=f"^the state is in use by {named}; stop it, or give this one a state"):
        leadership.start(alone=True)
    leadership.end(hanging=False)


def test_a_daemon_that_is_to_be_alone_waits_for_the_lease_of_a_killed_one(
    lease: FakeLease, log: RecordingLogger
) -> None:
    """A scheduled single cycle after a crash would fail otherwise."""
    lease.options, lease.present = SHORT, ["two, pid 7"]

    def turn() -> None:
        lease.generation = "first"

    lease.on_turn = turn
    leadership = lease.leadership(log)
    threading.Timer(0.2, lease.present.clear).start()
    leadership.start(alone=True)
    assert leadership.leads
    leadership.end(hanging=False)
