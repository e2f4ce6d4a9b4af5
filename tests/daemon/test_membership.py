"""Shards follow the slots that this daemon holds, among several that share the state."""

import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest
from prometheus_client import CollectorRegistry

from autoscaler.act import Actuator
from autoscaler.clock import SystemClock
from autoscaler.config.settings import AdapterSection, PrometheusSource, Settings
from autoscaler.errors import StateError, TargetError
from autoscaler.metrics import Metrics
from autoscaler.model import (
    Autoscaler,
    Call,
    Decision,
    Outcome,
    ScaleChange,
    ScaleOutcome,
    TargetRef,
    TargetState,
    Written,
)
from autoscaler.record import LeaseOptions, Ledger, Retention, State, slot_of
from autoscaler.record.slots import next_epochs
from autoscaler.runtime import Membership, Runtime
from autoscaler.runtime.connected import Ports
from autoscaler.target import AdapterContext, AdapterSettings
from autoscaler.target.contract.harness import RecordingLogger
from tests.decisions import NOW
from tests.replaced import replace
from tests.schedule.clock import FakeClock
from tests.schedule.ports import scaler

NAMES = tuple({slot_of(TargetRef("a", f"s{n}")): f"s{n}" for n in range(12)}.values())[:8]
SLOT = {name: slot_of(TargetRef("a", name)) for name in NAMES}


class Adapter:
    """Waits in `observe` for as long as `hold` is set to."""

    def __init__(self, context: AdapterContext[AdapterSettings]) -> None:
        self.context = context
        self.closed = 0
        self.reloads = 0
        self.asked: list[frozenset[str]] = []
        self.go_on = threading.Event()
        self.go_on.set()

    def observe(self, targets: Sequence[TargetRef], call: Call) -> Mapping[TargetRef, TargetState | TargetError]:
        self.asked.append(frozenset(target.name for target in targets))
        self.go_on.wait(60)
        return {target: TargetState(1, 1, ()) for target in targets}

    def scale(self, target: TargetRef, change: ScaleChange, call: Call) -> ScaleOutcome:
        return Written(change.size)

    def reload_memory(self) -> None:
        self.reloads += 1

    def close(self) -> None:
        self.closed += 1


@dataclass
class FakeLeases:
    """What `record.Leases` says, as a test sets it: an epoch begins with each slot that comes (docs/hosts.md)."""

    state: State
    member: str | None = "me"
    members: int = 1
    held: Mapping[str, Mapping[int, int]] = field(default_factory=dict)
    excess: Mapping[str, Collection[int]] = field(default_factory=dict)
    left: float = 15.0
    given: set[int] = field(default_factory=set)
    fails: bool = False
    left_state: bool = False
    options = LeaseOptions()

    def seconds_left(self) -> float:
        return self.left

    def renew(self) -> None:
        if self.fails:
            raise StateError("the database is away")

    def follow(self, scalers: Collection[Autoscaler], digest: str) -> None:
        pass

    def share(
        self, needs: Mapping[str, Collection[int]], done: Mapping[str, Collection[int]], of_this_host: Collection[str]
    ) -> None:
        gone = set(done.get("a", ()))
        self.given |= gone
        self.held = {"a": {slot: epoch for slot, epoch in self.held.get("a", {}).items() if slot not in gone}}
        self.excess = {"a": set(self.excess.get("a", ())) - gone}

    def leave(self) -> None:
        self.left_state = True

    def hold(self, *names: str) -> None:
        """Hold the slots of these, and of no other."""
        known = self.held.get("a", {})
        new = [SLOT[name] for name in names if SLOT[name] not in known]
        with self.state._database.writing() as connection:
            epochs = next_epochs(connection, "a", new) if new else {}
        self.state._shared.newest.update({("a", slot): epoch for slot, epoch in epochs.items()})
        self.held = {"a": {SLOT[name]: {**known, **epochs}[SLOT[name]] for name in names}}

    def began(self, ledger: Ledger) -> None:
        """As `Leases.begin` does."""
        self.held = {"a": {**self.held.get("a", {}), **ledger._epochs}}


@dataclass
class House:
    runtime: Runtime
    membership: Membership
    leases: FakeLeases
    built: list[Adapter]
    log: RecordingLogger

    def follow(self, names: Sequence[str] = NAMES, shards: int = 1) -> None:
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
        shards = self.runtime._connected.values()
        return {each.target.name for have in shards for each in have.wanted.scalers}

    def give_back(self) -> set[int]:
        """Slots that the state is told of, after a look."""
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
    leases, begin = FakeLeases(state), state.ledger

    def ledger(connection: str, slots: Collection[int]) -> Ledger:
        found = begin(connection, slots)
        leases.began(found)
        return found

    monkeypatch.setattr(state, "ledger", ledger)
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


def test_a_shard_has_the_autoscalers_whose_slots_are_held(house: House) -> None:
    """Another daemon serves the others."""
    house.leases.hold(*NAMES[:3])
    house.follow()
    assert house.served() == set(NAMES[:3])
    assert house.runtime.shards.once()
    assert house.built[0].asked == [frozenset(NAMES[:3])]


def test_a_slot_that_comes_joins_its_shard_and_changes_no_adapter(house: House) -> None:
    """What the adapter remembers of targets is loaded again: another daemon may have kept more."""
    house.leases.hold(*NAMES[:3])
    house.follow()
    assert house.runtime.shards.once()
    house.leases.hold(*NAMES[:5])
    house.runtime.supervise()
    assert house.runtime.shards.once()
    (adapter,) = house.built
    assert adapter.asked[-1] == frozenset(NAMES[:5])
    assert (adapter.closed, adapter.reloads) == (0, 2)


def test_a_slot_that_is_to_go_leaves_its_shard_and_is_given_back(house: House) -> None:
    """Once no cycle uses it."""
    house.leases.hold(*NAMES[:3])
    house.follow()
    house.leases.excess = {"a": {SLOT[NAMES[0]]}}
    assert house.give_back() == {SLOT[NAMES[0]]}
    assert house.served() == set(NAMES[1:3])
    assert [adapter.closed for adapter in house.built] == [0]


def test_a_slot_is_not_given_back_while_the_cycle_that_uses_it_runs(house: House) -> None:
    """It may still write. The others of its shard are served on, from the next cycle."""
    house.leases.hold(*NAMES[:3])
    house.follow()
    (adapter,) = house.built
    adapter.go_on.clear()
    house.runtime.shards.start()
    until(lambda: adapter.asked != [])
    house.leases.excess = {"a": {SLOT[NAMES[0]]}}
    assert house.give_back() == set()
    adapter.go_on.set()
    until(lambda: house.give_back() == {SLOT[NAMES[0]]})


def test_a_shard_without_slots_ends_and_comes_back_with_them(house: House) -> None:
    """Nothing waits for it meanwhile."""
    house.leases.hold(*NAMES[:2])
    house.follow()
    house.leases.excess = {"a": {SLOT[name] for name in NAMES[:2]}}
    assert house.give_back() == {SLOT[name] for name in NAMES[:2]}
    house.runtime.supervise()
    assert house.served() == set()
    assert [adapter.closed for adapter in house.built] == [1]
    house.leases.hold(NAMES[0])
    house.runtime.supervise()
    assert house.served() == {NAMES[0]}
    assert len(house.built) == 2


def test_a_daemon_whose_slots_all_belong_to_others_is_ready_to_serve(house: House) -> None:
    """What is wrong with an adapter's section is said at the start, not when its first slot comes."""
    house.follow()
    assert (house.served(), len(house.built)) == (set(), 1)
    house.leases.hold(NAMES[0])
    house.runtime.supervise()
    assert (house.served(), len(house.built)) == ({NAMES[0]}, 1)


def test_without_a_renewal_for_so_long_everything_is_given_up_whatever_the_thread_does(house: House) -> None:
    """It may hang in a database that is silent; that is no reason to believe that the lease stands."""
    house.leases.hold(*NAMES)
    house.follow()
    assert house.membership.check()
    house.leases.left = 4.9  # of 15: the last renewal is longer ago than the renew deadline, 10
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


class Writing:
    """Stands for the actuator: with which call it is to write."""

    def act(self, decisions: Sequence[Decision], call: Call) -> Mapping[str, Outcome]:
        self.call = call
        return {}


def call_of(house: House, deadline: float) -> Call:
    """What a shard's cycle with this deadline writes with."""
    actuator = Writing()
    unused: Any = None
    Ports(unused, unused, cast("Actuator", actuator), SystemClock(), house.membership).act((), Call(NOW, deadline))
    return actuator.call


def test_without_a_lease_its_share_of_what_is_divided_stays_as_it_was(house: House) -> None:
    """Cycles that are under way go on asking: when all lose the database, each would ask with the whole budget."""
    assert house.membership.members == 1
    for members, counted in ((3, 3), (0, 3), (2, 2)):  # 0: as `Leases` has it until it has joined again
        house.leases.members = members
        house.membership._turn()
        assert house.membership.members == counted
        assert call_of(house, 100).members == counted


def test_a_write_has_to_end_before_the_lease_does(house: House) -> None:
    """A successor may write from then on."""
    house.leases.hold(NAMES[0])
    house.follow()
    house.leases.left = 6.0
    now = time.monotonic()
    assert call_of(house, now + 100).deadline == pytest.approx(now + 6, abs=1)
    assert call_of(house, now + 3).deadline == now + 3
    house.leases.left = 4.0  # given up already
    assert call_of(house, now + 3).deadline <= time.monotonic()


def test_slots_that_the_configuration_needs_no_more_are_given_back(house: House) -> None:
    """They are nobody's then, or another's whose configuration still has them."""
    house.leases.hold(*NAMES)
    house.follow()
    house.follow(NAMES[:2])
    assert house.give_back() == {SLOT[name] for name in NAMES[2:]}


def test_the_schedule_goes_by_the_machines_own_clock(tmp_path: Path) -> None:
    """By which it wakes. The database's says what time it is in a cycle, and may be another by minutes."""
    database, machine, log = FakeClock(), FakeClock(), RecordingLogger()
    state = State.open(None, tmp_path, Retention())
    metrics = Metrics(CollectorRegistry(), database, "0")
    shards = Runtime(state, tmp_path, database, log, lambda batch: None, metrics, machine=machine).shards
    database.step(600)
    shards.follow_clock()
    assert shards.clock_steps() == 0
    machine.step(-600)
    shards.follow_clock()
    assert shards.clock_steps() == 1
    state.close()


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
    membership.end({})


def test_what_hangs_is_kept_when_the_daemon_ends(house: House) -> None:
    """The lease runs out instead; the rest is given back."""
    house.leases.hold(*NAMES[:3])
    house.follow()
    house.membership.end({"a": {SLOT[NAMES[0]]}})
    assert house.leases.given == {SLOT[name] for name in NAMES[1:3]}
    assert not house.leases.left_state


def test_everything_is_given_back_when_nothing_hangs(house: House) -> None:
    """Another daemon has it at once."""
    house.leases.hold(*NAMES)
    house.follow()
    house.membership.end({})
    assert house.leases.left_state


def until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not true():
        assert time.monotonic() < end
        time.sleep(0.01)
