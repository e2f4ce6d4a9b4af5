"""A Runtime that shares its state, with a lease that a test gives and takes away."""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pytest

from autoscaler.clock import SystemClock
from autoscaler.errors import TargetError
from autoscaler.model import Call, TargetRef, TargetState, shard_of
from autoscaler.record.fence import begin_generation
from autoscaler.record.lease import LeaseOptions
from autoscaler.runtime.leadership import Leadership
from autoscaler.runtime.running_shard import RunningShard
from autoscaler.target import AdapterContext, AdapterSettings
from autoscaler.target.contract.harness import RecordingLogger
from tests.clocks import FakeClock
from tests.daemon.runtime import FakeAdapter, RuntimeHarness, on, running_runtime
from tests.waiting import until

OF: Final = 3
NAMES: Final = tuple({shard_of(TargetRef("a", f"s{n}"), OF): f"s{n}" for n in range(40)}.values())
"""A target in each shard."""
_OTHER: Final = "two, pid 7"


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
class FakeLease:
    """Stands for `record.Lease`; a test sets what it returns."""

    generation: str | None = None
    leader: str | None = _OTHER
    differs: bool = False
    left: float = 15.0
    """Seconds that the lease lasts, if this daemon has it."""
    digest: str | None = None
    resigned: list[bool] = field(default_factory=list)
    """For each resignation, whether a call hung."""
    present: list[str] = field(default_factory=list)
    """Other daemons that are connected."""
    on_turn: Callable[[], None] = lambda: None
    options: LeaseOptions = LeaseOptions()  # noqa: RUF009 - it is frozen

    def seconds_left(self) -> float:
        return 0.0 if self.generation is None else self.left

    def turn(self) -> None:
        self.on_turn()

    def others(self) -> list[str]:
        return self.present

    def follow(self, digest: str) -> None:
        self.digest = digest

    def resign(self, *, hanging: bool = False) -> None:
        self.generation = None
        self.resigned.append(hanging)

    def leadership(
        self, log: RecordingLogger, clock: FakeClock | None = None, changed: Callable[[], None] = lambda: None
    ) -> Leadership:
        return Leadership(self, clock or SystemClock(), log, changed)  # type: ignore[arg-type]  # it stands for the database's


@dataclass
class Member:
    """A Runtime that shares the state, and its leadership. It stands by at first."""

    harness: RuntimeHarness[WaitingAdapter]
    leadership: Leadership
    lease: FakeLease

    @property
    def built(self) -> Sequence[WaitingAdapter]:
        return self.harness.built

    def follow(self, *names: str) -> None:
        """Follow a configuration with these targets."""
        self.harness.follow({"a": AdapterSettings()}, [on("a", name) for name in names], shards=OF)

    def take(self, generation: str = "first") -> None:
        """Begin to lead."""
        state = self.harness.state
        with state._database.writing() as connection:
            begin_generation(connection, generation)
        state._generation = self.lease.generation = generation
        self.lease.leader = None

    def lose(self) -> None:
        """Cease to lead: another daemon does."""
        self.lease.generation, self.lease.leader = None, _OTHER

    def lead(self, *names: str) -> None:
        """Lead, with a configuration of these targets."""
        self.take()
        self.follow(*(names or NAMES))

    def turn(self) -> None:
        """Do what the main thread does each second."""
        self.leadership.check()
        self.harness.runtime.supervise()

    def served(self) -> set[str]:
        """Return the targets of the running shards."""
        return {name for names in self.harness.served().values() for name in names}

    def begin_cycle(self) -> WaitingAdapter:
        """Begin a cycle of the only shard, which waits for its adapter."""
        (adapter,) = self.built
        adapter.go_on.clear()
        self.harness.runtime.shards.start()
        until(lambda: adapter.asked != [], "a cycle under way")
        return adapter

    def shard(self) -> RunningShard:
        """Return the only running shard."""
        (shard,) = self.harness.runtime.running.values()
        return shard


@contextmanager
def member(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Member]:
    """Yield a daemon that stands by. A test makes each turn of the lease."""
    lease, log = FakeLease(), RecordingLogger()
    leadership = lease.leadership(log)

    def start(*, alone: bool = False) -> None:
        leadership.started = True

    monkeypatch.setattr(leadership, "start", start)
    with running_runtime(folder, monkeypatch, WaitingAdapter, log=log, leadership=leadership) as harness:
        yield Member(harness, leadership, lease)
        for adapter in harness.built:
            adapter.go_on.set()
