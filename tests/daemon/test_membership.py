"""A daemon serves the shards that it holds, among several that share the state."""

import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry

from autoscaler.clock import SystemClock
from autoscaler.config.settings import AdapterSection, PrometheusSource, Settings
from autoscaler.errors import StateError, TargetError
from autoscaler.metrics import Metrics
from autoscaler.model import (
    Autoscaler,
    Call,
    ScaleChange,
    ScaleOutcome,
    ShardName,
    TargetRef,
    TargetState,
    Written,
    shard_of,
)
from autoscaler.record import LeaseOptions, Retention, State
from autoscaler.runtime import Membership, Runtime
from autoscaler.target import AdapterContext, AdapterSettings
from autoscaler.target.contract.harness import RecordingLogger
from tests.replaced import replace
from tests.schedule.clock import FakeClock
from tests.schedule.ports import scaler

OF = 8
NAMES = tuple({shard_of(TargetRef("a", f"s{n}"), OF): f"s{n}" for n in range(40)}.values())
"""One in each shard."""
SHARD = {name: shard_of(TargetRef("a", name), OF) for name in NAMES}


class Adapter:
    """Waits in `observe` for as long as `hold` is set to."""

    def __init__(self, context: AdapterContext[AdapterSettings]) -> None:
        self.context = context
        self.closed = 0
        self.asked: list[frozenset[str]] = []
        self.go_on = threading.Event()
        self.go_on.set()

    def observe(self, targets: Sequence[TargetRef], call: Call) -> Mapping[TargetRef, TargetState | TargetError]:
        self.asked.append(frozenset(target.name for target in targets))
        self.go_on.wait(60)
        return {target: TargetState(1, 1, ()) for target in targets}

    def scale(self, target: TargetRef, change: ScaleChange, call: Call) -> ScaleOutcome:
        return Written(change.size)

    def close(self) -> None:
        self.closed += 1


@dataclass
class FakeLeases:
    """What `record.Leases` says, as a test sets it."""

    member: str | None = "me"
    members: int = 1
    held: frozenset[ShardName] = frozenset()
    excess: frozenset[ShardName] = frozenset()
    left: float = 15.0
    given: set[str] = field(default_factory=set)
    """Names of the autoscalers whose shards were given back."""
    fails: bool = False
    left_state: bool = False
    options = LeaseOptions()

    def seconds_left(self) -> float:
        return self.left

    def renew(self) -> None:
        if self.fails:
            raise StateError("the database is away")

    def follow(self, configured: Mapping[ShardName, Collection[Autoscaler]], digest: str) -> None:
        pass

    def share(self, needs: Collection[ShardName], done: Collection[ShardName], of_this_host: Collection[str]) -> None:
        self.given |= {name for name in NAMES if SHARD[name] in done}
        self.held, self.excess = self.held.difference(done), self.excess.difference(done)

    def leave(self) -> None:
        self.left_state = True

    def hold(self, *names: str) -> None:
        """Hold the shards of these, and no other."""
        self.held = frozenset(SHARD[name] for name in names)

    def is_to_give_back(self, *names: str) -> None:
        self.excess = frozenset(SHARD[name] for name in names)


@dataclass
class House:
    runtime: Runtime
    membership: Membership
    leases: FakeLeases
    built: list[Adapter]
    log: RecordingLogger

    def follow(self, names: Sequence[str] = NAMES, shards: int = OF) -> None:
        self.runtime.follow(
            Settings(
                path=Path("autoscaler.yaml"),
                prometheus={"default": PrometheusSource("http://x")},
                adapters={"a": AdapterSection("fake", AdapterSettings(), shards)},
                autoscalers=tuple(replace(scaler(name), target=TargetRef("a", name)) for name in names),
            )
        )

    def served(self) -> set[str]:
        """Targets of the shards that run."""
        shards = self.runtime._running.values()
        return {each.target.name for have in shards for each in have.wanted.scalers}

    def give_back(self) -> set[str]:
        """What the state is told of, after a look."""
        self.runtime.supervise()
        self.membership._turn()
        return self.leases.given


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[House]:
    built: list[Adapter] = []

    def load(type_name: str) -> Callable[[AdapterContext[AdapterSettings]], Adapter]:
        def build(context: AdapterContext[AdapterSettings]) -> Adapter:
            built.append(Adapter(context))
            return built[-1]

        return build

    monkeypatch.setattr("autoscaler.runtime.building.load", load)
    state, log = State.open(None, tmp_path, Retention()), RecordingLogger()
    leases = FakeLeases()
    membership = Membership(leases, SystemClock(), log)  # type: ignore[arg-type]  # it stands for the database's
    metrics = Metrics(CollectorRegistry(), SystemClock(), "0")
    runtime = Runtime(
        state, tmp_path, SystemClock(), log, lambda batch: None, metrics, membership=membership, host="one"
    )
    yield House(runtime, membership, leases, built, log)
    for adapter in built:
        adapter.go_on.set()
    runtime.close()
    state.close()


def test_the_shards_that_are_held_are_built_and_no_others(house: House) -> None:
    """Another daemon serves those: here they would cost a thread and an adapter each."""
    house.leases.hold(*NAMES[:3])
    house.follow()
    assert house.served() == set(NAMES[:3])
    assert house.runtime.shards.once()
    assert {asked for adapter in house.built for asked in adapter.asked} == {frozenset([name]) for name in NAMES[:3]}


def test_a_shard_that_comes_begins_beside_the_others(house: House) -> None:
    house.leases.hold(*NAMES[:3])
    house.follow()
    house.leases.hold(*NAMES[:5])
    house.runtime.supervise()
    assert house.served() == set(NAMES[:5])
    assert [adapter.closed for adapter in house.built] == [0] * 5


def test_a_shard_that_is_to_go_ends_and_is_given_back(house: House) -> None:
    """Once no cycle uses it. The others notice nothing."""
    house.leases.hold(*NAMES[:3])
    house.follow()
    house.leases.is_to_give_back(NAMES[0])
    house.runtime.supervise()
    assert house.give_back() == {NAMES[0]}
    assert house.served() == set(NAMES[1:3])
    assert sum(adapter.closed for adapter in house.built) == 1


def test_a_shard_is_not_given_back_while_its_cycle_runs(house: House) -> None:
    """It may still write."""
    house.leases.hold(NAMES[0])
    house.follow()
    (adapter,) = house.built
    adapter.go_on.clear()
    house.runtime.shards.start()
    until(lambda: adapter.asked != [])
    house.leases.is_to_give_back(NAMES[0])
    assert house.give_back() == set()
    adapter.go_on.set()
    until(lambda: house.give_back() == {NAMES[0]})


def test_a_shard_in_which_a_call_hangs_is_given_back_a_lease_after_its_deadline(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its adapter may hang for ever: nothing that it brings later counts, and the targets need somebody."""
    house.leases.hold(NAMES[0])
    house.follow()
    (have,) = house.runtime._running.values()
    (adapter,) = house.built
    adapter.go_on.clear()
    house.runtime.shards.start()
    until(lambda: adapter.asked != [])
    house.leases.is_to_give_back(NAMES[0])
    monkeypatch.setattr(have, "overdue_seconds", lambda: 14.9)
    assert house.give_back() == set()
    monkeypatch.setattr(have, "overdue_seconds", lambda: 15.0)
    assert house.give_back() == {NAMES[0]}


def test_a_shard_that_comes_back_begins_anew(house: House) -> None:
    house.leases.hold(NAMES[0])
    house.follow()
    house.leases.is_to_give_back(NAMES[0])
    house.runtime.supervise()
    assert house.give_back() == {NAMES[0]}
    house.runtime.supervise()
    assert house.served() == set()
    assert [adapter.closed for adapter in house.built] == [1]
    house.leases.hold(NAMES[0])
    house.runtime.supervise()
    assert house.served() == {NAMES[0]}
    assert len(house.built) == 2


def test_without_a_renewal_for_so_long_everything_is_given_up_whatever_the_thread_does(house: House) -> None:
    """It may hang in a database that is silent; that is no reason to believe that the lease stands."""
    house.leases.hold(*NAMES)
    house.follow()
    assert house.membership.check()
    house.leases.left = 0.0  # the last renewal is as long ago as the renew deadline
    assert not house.membership.check()
    house.runtime.supervise()
    assert house.served() == set()
    assert not house.membership.check()
    assert [event for _, event, _ in house.log.lines] == ["lease_lost"]
    assert house.membership.lost == 1
    house.leases.left = 15
    assert house.membership.check()
    house.runtime.supervise()
    assert house.served() == set(NAMES)


def test_shards_that_the_configuration_needs_no_more_are_given_back(house: House) -> None:
    """They are nobody's then, or another's whose configuration still has them."""
    house.leases.hold(*NAMES)
    house.follow()
    house.follow(NAMES[:2])
    assert house.give_back() == set(NAMES[2:])


def test_a_renewal_that_fails_is_logged_once(house: House) -> None:
    """It is tried every two seconds."""
    for _ in range(3):
        house.membership._failed("the database is away")
    assert [event for _, event, _ in house.log.lines] == ["lease_not_renewed"]


def test_a_thread_that_hangs_in_the_database_is_replaced(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection may be silent for minutes when the database has long been there again. A bounded number hangs."""
    clock, asked, answer = FakeClock(), threading.Semaphore(0), threading.Event()

    def hang() -> None:
        asked.release()
        answer.wait(60)

    monkeypatch.setattr(house.leases, "renew", hang)
    membership = Membership(house.leases, clock, house.log)  # type: ignore[arg-type]  # as above
    membership.start()
    threads = []
    for _ in range(4):
        membership._wake.set()
        assert asked.acquire(timeout=60)
        for seconds in (14, 2):  # it is given as long as a lease lasts
            clock.advance(seconds)
            membership.check()
            threads.append(len(membership._threads))
    assert threads == [1, 2, 2, 3, 3, 4, 4, 4]
    answer.set()
    membership.end(())


def test_a_thread_that_comes_back_leaves_its_successor_alone(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """It would take the wake-up that tells that one of the daemon's end: the lease would have to run out."""
    clock, asked, answer = FakeClock(), threading.Semaphore(0), threading.Event()

    def hang() -> None:
        asked.release()
        if threading.current_thread() is membership._threads[0]:
            answer.wait(60)

    monkeypatch.setattr(house.leases, "renew", hang)
    membership = Membership(house.leases, clock, house.log)  # type: ignore[arg-type]  # as above
    monkeypatch.setattr(membership, "period", 3600.0)  # nothing happens without a wake-up
    membership.start()
    membership._wake.set()
    assert asked.acquire(timeout=60)
    clock.advance(16)
    membership.check()
    first, _ = membership._threads
    answer.set()
    first.join(60)
    assert not first.is_alive()
    membership.end(())
    assert house.leases.left_state


def test_a_write_that_hangs_in_a_shard_that_is_to_go_is_left_behind(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its adapter is closed, and what is wrong is said."""
    house.leases.hold(NAMES[0])
    house.follow()
    (have,) = house.runtime._running.values()
    (adapter,) = house.built
    monkeypatch.setattr(have._actuator, "writing", lambda: True)
    house.leases.is_to_give_back(NAMES[0])
    house.runtime.supervise()
    house.runtime.supervise()
    assert adapter.closed == 0
    monkeypatch.setattr(have._actuator, "overdue_seconds", lambda: 45.0)  # three of its periods
    house.runtime.supervise()
    assert adapter.closed == 1
    assert [event for _, event, _ in house.log.lines] == ["shard_left_behind"]
    monkeypatch.undo()


def test_what_hangs_is_kept_when_the_daemon_ends(house: House) -> None:
    """The lease runs out instead; the rest is given back."""
    house.leases.hold(*NAMES[:3])
    house.follow()
    house.membership.end([SHARD[NAMES[0]]])
    assert house.leases.given == set(NAMES[1:3])
    assert not house.leases.left_state


def test_everything_is_given_back_when_nothing_hangs(house: House) -> None:
    """Another daemon has it at once."""
    house.leases.hold(*NAMES)
    house.follow()
    house.membership.end(())
    assert house.leases.left_state


def until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not true():
        assert time.monotonic() < end
        time.sleep(0.01)
