"""The smallest back end that keeps every promise: groups in memory, and an adapter on them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from autoscaler.errors import TargetError, TargetNotFound, TargetNotScalable, TargetUnavailable
from autoscaler.model import (
    Call,
    Conflict,
    Instance,
    Phase,
    ScaleChange,
    ScaleOutcome,
    TargetRef,
    TargetState,
    Unchanged,
    Written,
)
from autoscaler.target import Adapter, Clock
from autoscaler.target.contract import Harness

START = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass
class Group:
    """What the back end keeps of one group; new members are numbered on."""

    members: list[str] = field(default_factory=list)
    revision: int = 0
    born: int = 0
    scalable: bool = True

    def resize(self, size: int, victims: Sequence[str] = ()) -> None:
        """Named victims leave first, then the newest."""
        self.revision += 1
        while len(self.members) < size:
            self.born += 1
            self.members.append(f"member-{self.born}")
        while len(self.members) > size:
            self.members.remove(next((name for name in victims if name in self.members), self.members[-1]))


@dataclass
class Memory:
    """The back end."""

    groups: dict[str, Group] = field(default_factory=dict)
    up: bool = True


class MemoryAdapter:
    """The reference. Each method that a test breaks on purpose is small."""

    def __init__(self, memory: Memory, clock: Clock) -> None:
        self.memory, self.clock = memory, clock

    def observe(self, targets: Sequence[TargetRef], call: Call) -> Mapping[TargetRef, TargetState | TargetError]:
        self.check(call)
        return {target: self.state(target) for target in targets}

    def scale(self, target: TargetRef, change: ScaleChange, call: Call) -> ScaleOutcome:
        self.check(call)
        state = self.state(target)
        if isinstance(state, TargetError):
            raise state
        if change.decided_from != state.replicas or change.revision not in (None, state.revision):
            return Conflict(f"{target} has the size {state.replicas} by now")
        if change.size == state.replicas:
            return Unchanged()
        self.memory.groups[target.name].resize(change.size, change.victims)
        return Written(change.size)

    def check(self, call: Call) -> None:
        if not self.memory.up or self.clock.monotonic() >= call.deadline:
            raise TargetUnavailable("the memory does not answer in time; try again")

    def state(self, target: TargetRef) -> TargetState | TargetError:
        group = self.memory.groups.get(target.name)
        if group is None:
            return TargetNotFound(f"{target} does not exist; create it")
        if not group.scalable:
            return TargetNotScalable(f"{target} is fixed; choose another")
        instances = tuple(map(self.instance, group.members))
        return TargetState(len(instances), len(instances), instances, revision=str(group.revision))

    def instance(self, name: str) -> Instance:
        return Instance(name, Phase.RUNNING, ready=None, started_at=START, identities=frozenset({name, "everybody"}))


class MemoryHarness(Harness):
    """An own memory for each test; `kind` is the adapter under test."""

    patience_seconds = 0
    chooses_victims = True
    target = TargetRef("memory", "web")
    missing = TargetRef("memory", "nobody")
    unscalable: TargetRef | None = TargetRef("memory", "fixed")

    def __init__(self, kind: type[MemoryAdapter] = MemoryAdapter) -> None:
        self.kind = kind
        self.memory = Memory({"web": Group(), "fixed": Group(scalable=False)})
        self.rebuild()

    def rebuild(self, *, dry_run: bool = False) -> Adapter:
        self.adapter = self.kind(self.memory, self.clock)
        return self.adapter

    def set_size_outside(self, size: int) -> None:
        self.memory.groups[self.target.name].resize(size)

    def unreachable(self) -> Adapter | str:
        return self.kind(Memory(up=False), self.clock)
