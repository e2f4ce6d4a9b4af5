"""A daemon serves the shards that it holds, if several share the state."""

import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from autoscaler.clock import SystemClock
from autoscaler.errors import StateError, TargetError
from autoscaler.model import Autoscaler, Call, ShardName, TargetRef, TargetState, shard_of
from autoscaler.record import LeaseOptions
from autoscaler.runtime import Membership
from autoscaler.target import AdapterContext, AdapterSettings
from autoscaler.target.contract.harness import RecordingLogger
from tests.daemon.runtime import FakeAdapter, RuntimeHarness, on, running_runtime
from tests.schedule.clock import FakeClock
from tests.waiting import until

OF = 8
NAMES = tuple({shard_of(TargetRef("a", f"s{n}"), OF): f"s{n}" for n in range(40)}.values())
"""A target in each shard."""
SHARD = {name: shard_of(TargetRef("a", name), OF) for name in NAMES}


class WaitingAdapter(FakeAdapter):
    """Waits in `observe` while `go_on` is not set."""

    def __init__(self, context: AdapterContext[Any]) -> None:
        super().__init__(context)
        self.asked: list[frozenset[str]] = []
        self.go_on = threading.Event()
        self.go_on.set()

    def observe(self, targets: Sequence[TargetRef], call: Call) -> Mapping[TargetRef, TargetState | TargetError]:
        self.asked.append(frozenset(target.name for target in targets))
        self.go_on.wait(60)
        return super().observe(targets, call)


@dataclass
class FakeLeases:
    """Stands for `record.Leases`; a test sets what it returns."""

    member: str | None = "me"
    members: int = 1
    held: frozenset[ShardName] = frozenset()
    excess: frozenset[ShardName] = frozenset()
    left: float = 15.0
    given_back: set[str] = field(default_factory=set)
    """Names of the autoscalers whose shards were given back."""
    left_state: bool = False
    on_renewal: Callable[[], None] = lambda: None
    options: LeaseOptions = LeaseOptions()  # noqa: RUF009 - it is frozen

    def seconds_left(self) -> float:
        return self.left

    def renew(self) -> None:
        self.on_renewal()

    def follow(self, configured: Mapping[ShardName, Collection[Autoscaler]], digest: str) -> None:
        pass

    def share(self, needs: Collection[ShardName], done: Collection[ShardName], of_this_host: Collection[str]) -> None:
        self.given_back |= {name for name in NAMES if SHARD[name] in done}
        self.held, self.excess = self.held.difference(done), self.excess.difference(done)

    def leave(self) -> None:
        self.left_state = True

    def hold(self, *names: str) -> None:
        """Hold the shards of these targets, and no others."""
        self.held = frozenset(SHARD[name] for name in names)

    def is_to_give_back(self, *names: str) -> None:
        self.excess = frozenset(SHARD[name] for name in names)

    def membership(self, log: RecordingLogger, clock: FakeClock | None = None) -> Membership:
        return Membership(self, clock or SystemClock(), log)  # type: ignore[arg-type]  # it stands for the database's


@dataclass
class Member:
    """A Runtime that shares the state, and its membership."""

    harness: RuntimeHarness[WaitingAdapter]
    membership: Membership
    leases: FakeLeases

    @property
    def built(self) -> Sequence[WaitingAdapter]:
        return self.harness.built

    def follow(self, *names: str) -> None:
        """Follow a configuration with these targets, in eight shards."""
        self.harness.follow({"a": AdapterSettings()}, [on("a", name) for name in names], shards=OF)

    def begin(self, *names: str) -> None:
        """Hold the shards of these targets and follow a configuration with all targets."""
        self.leases.hold(*names)
        self.follow(*NAMES)

    def served(self) -> set[str]:
        """Return the targets of the running shards."""
        return {name for names in self.harness.served().values() for name in names}

    def give_back(self) -> set[str]:
        """Return the targets whose shards were given back, after a turn."""
        self.harness.runtime.supervise()
        self.membership._turn()
        return self.leases.given_back

    def begin_cycle(self) -> WaitingAdapter:
        """Begin a cycle of the only shard, which waits for its adapter."""
        (adapter,) = self.built
        adapter.go_on.clear()
        self.harness.runtime.shards.start()
        until(lambda: adapter.asked != [], "a cycle under way")
        return adapter


@pytest.fixture
def member(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Member]:
    leases, log = FakeLeases(), RecordingLogger()
    membership = leases.membership(log)
    monkeypatch.setattr(membership, "start", lambda: None)  # a test makes each turn
    options = {"membership": membership, "host": "one"}
    with running_runtime(tmp_path, monkeypatch, WaitingAdapter, log=log, **options) as harness:
        yield Member(harness, membership, leases)
        for adapter in harness.built:
            adapter.go_on.set()


def test_only_held_shards_are_built(member: Member) -> None:
    """Other daemons serve the others, which would cost a thread and an adapter each."""
    member.begin(*NAMES[:3])
    assert member.served() == set(NAMES[:3])
    assert member.harness.runtime.shards.once()
    assert {asked for adapter in member.built for asked in adapter.asked} == {frozenset([name]) for name in NAMES[:3]}


def test_a_new_shard_begins_without_disturbing_the_others(member: Member) -> None:
    member.begin(*NAMES[:3])
    member.leases.hold(*NAMES[:5])
    member.harness.runtime.supervise()
    assert member.served() == set(NAMES[:5])
    assert [adapter.closed for adapter in member.built] == [0] * 5


def test_a_shard_that_moves_ends_and_is_given_back(member: Member) -> None:
    """The other shards continue. If the shard comes back, it begins anew."""
    member.begin(*NAMES[:3])
    member.leases.is_to_give_back(NAMES[0])
    member.harness.runtime.supervise()
    assert member.give_back() == {NAMES[0]}
    member.harness.runtime.supervise()
    assert member.served() == set(NAMES[1:3])
    assert sum(adapter.closed for adapter in member.built) == 1
    member.leases.hold(*NAMES[:3])
    member.harness.runtime.supervise()
    assert member.served() == set(NAMES[:3])
    assert len(member.built) == 4


def test_a_shard_is_not_given_back_while_its_cycle_runs(member: Member) -> None:
    """The cycle may still write."""
    member.begin(NAMES[0])
    adapter = member.begin_cycle()
    member.leases.is_to_give_back(NAMES[0])
    assert member.give_back() == set()
    adapter.go_on.set()
    until(lambda: member.give_back() == {NAMES[0]}, "the shard to be given back")


def test_a_hanging_shard_is_given_back_a_lease_after_its_deadline(
    member: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its adapter may hang for ever, and another daemon must serve the targets."""
    member.begin(NAMES[0])
    (shard,) = member.harness.runtime.running.values()
    member.begin_cycle()
    member.leases.is_to_give_back(NAMES[0])
    monkeypatch.setattr(shard, "overdue_seconds", lambda: 14.9)
    assert member.give_back() == set()
    monkeypatch.setattr(shard, "overdue_seconds", lambda: 15.0)
    assert member.give_back() == {NAMES[0]}


def test_without_a_renewal_the_daemon_gives_up_its_shards(member: Member) -> None:
    """Also if the thread hangs in an unresponsive database."""
    member.begin(*NAMES)
    assert member.membership.check()
    member.leases.left = 0.0  # the last renewal is as long ago as the renew deadline
    assert not member.membership.check()
    member.harness.runtime.supervise()
    assert member.served() == set()
    assert not member.membership.check()
    assert member.harness.events() == ["lease_lost"]
    assert member.membership.lost == 1
    member.leases.left = 15
    assert member.membership.check()
    member.harness.runtime.supervise()
    assert member.served() == set(NAMES)


def test_shards_that_the_configuration_no_longer_needs_are_given_back(member: Member) -> None:
    """Another daemon's configuration may still have them."""
    member.begin(*NAMES)
    member.follow(*NAMES[:2])
    assert member.give_back() == set(NAMES[2:])


def test_the_lease_is_renewed_from_the_moment_it_is_taken(member: Member) -> None:
    """The start may take longer than the lease lasts."""
    renewed = threading.Semaphore(0)
    member.leases.on_renewal = renewed.release
    membership = member.leases.membership(member.harness.log)
    membership.join()
    for _ in range(3):
        membership._wake.set()
        assert renewed.acquire(timeout=60)
    membership.end(())


def test_a_daemon_that_runs_alone_is_not_ready_before_it_holds_a_shard(member: Member) -> None:
    """It would be called ready, and nothing would be scaled anywhere. Beside others, they serve them."""
    member.follow(*NAMES)
    assert not member.harness.runtime.begun()
    member.membership._members = 2
    assert member.harness.runtime.begun()
    member.membership._members = 1
    member.leases.hold(*NAMES)
    member.harness.runtime.supervise()
    assert member.harness.runtime.shards.once()
    assert member.harness.runtime.begun()


def test_a_failing_renewal_is_logged_once(member: Member) -> None:
    """It is repeated every two seconds."""
    tries = threading.Semaphore(0)

    def fail() -> None:
        tries.release()
        raise StateError("the database is away")

    member.leases.on_renewal = fail
    Membership.start(member.membership)
    for _ in range(3):
        member.membership._wake.set()
        assert tries.acquire(timeout=60)
    member.membership.end(())
    assert member.harness.events() == ["lease_not_renewed"]


def test_a_thread_that_hangs_in_the_database_is_replaced(member: Member) -> None:
    """A connection can be dead for minutes after the database is back. The number of such threads is limited."""
    clock, asked, answer = FakeClock(), threading.Semaphore(0), threading.Event()

    def hang() -> None:
        asked.release()
        answer.wait(60)

    member.leases.on_renewal = hang
    membership = member.leases.membership(member.harness.log, clock)
    membership.start()
    threads = []
    for _ in range(4):
        membership._wake.set()
        assert asked.acquire(timeout=60)
        for seconds in (14, 2):  # the limit is the duration of a lease
            clock.advance(seconds)
            membership.check()
            threads.append(len(membership._threads))
    assert threads == [1, 2, 2, 3, 3, 4, 4, 4]
    answer.set()
    membership.end(())


def test_a_replaced_thread_does_not_take_its_successors_wake_up(
    member: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise the successor would not notice the daemon's end, and the lease would have to run out."""
    clock, asked, answer, hanging = FakeClock(), threading.Semaphore(0), threading.Event(), threading.Event()

    def hang() -> None:
        asked.release()
        if not hanging.is_set():
            hanging.set()
            answer.wait(60)

    member.leases.on_renewal = hang
    member.leases.options = LeaseOptions(retry_period=timedelta(hours=1))  # nothing happens without a wake-up
    membership = member.leases.membership(member.harness.log, clock)
    membership.start()
    membership._wake.set()
    assert asked.acquire(timeout=60)
    clock.advance(16)
    membership.check()
    first, _ = membership._threads
    answer.set()
    first.result(60)
    membership.end(())
    assert member.leases.left_state


def test_a_hanging_write_in_a_shard_that_moves_is_abandoned(member: Member, monkeypatch: pytest.MonkeyPatch) -> None:
    """The adapter is closed, and the log says so."""
    member.begin(NAMES[0])
    (shard,) = member.harness.runtime.running.values()
    (adapter,) = member.built
    monkeypatch.setattr(shard._actuator, "writing", lambda: True)
    member.leases.is_to_give_back(NAMES[0])
    member.harness.runtime.supervise()
    member.harness.runtime.supervise()
    assert adapter.closed == 0
    monkeypatch.setattr(shard._actuator, "overdue_seconds", lambda: 45.0)  # three of its periods
    member.harness.runtime.supervise()
    assert adapter.closed == 1
    assert member.harness.events() == ["shard_left_behind"]
    monkeypatch.undo()


@pytest.mark.parametrize("hanging", [NAMES[:1], ()])
def test_the_daemons_end_gives_back_all_shards_but_hanging_ones(member: Member, hanging: Sequence[str]) -> None:
    """The lease of a daemon with a hanging call runs out instead."""
    member.begin(*NAMES[:3])
    member.membership.end([SHARD[name] for name in hanging])
    assert member.leases.left_state is not bool(hanging)
    assert member.leases.given_back == (set(NAMES[1:3]) if hanging else set())
