"""The contract between the daemon and a back end: two methods, `observe` for a batch and `scale` for one target.

An adapter is a class that `AdapterType` describes, registered under the entry point group `autoscaler.adapters`
with its type's name. It imports `autoscaler.target` and its own client library, nothing else of this project.
`autoscaler.target.contract` is the suite that every adapter passes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Final, Generic, Protocol, TypeAlias, TypeVar, runtime_checkable

from pydantic import BaseModel

from autoscaler.clock import Clock
from autoscaler.errors import TargetError
from autoscaler.logger import Logger
from autoscaler.model import Call, Decision, ScaleChange, ScaleOutcome, TargetRef, TargetState

SettingsT = TypeVar("SettingsT", bound=BaseModel)

MOST_CONCURRENT_WRITES: Final = 64
"""Of one connection: each is a thread of the daemon's."""

AdapterValues: TypeAlias = Mapping[str, Any]
"""What an adapter remembers of one target: texts as keys, and values that JSON knows."""


class AdapterMemory(Protocol):
    """What an adapter must not forget when the daemon restarts: a few values for each target, kept in the state.

    It belongs to the adapter's shard. An adapter whose shard was superseded can save nothing any more.
    """

    def load(self) -> Mapping[TargetRef, AdapterValues]:
        """What is remembered of every target of this connection. Not before the first `observe`. Raises StateError."""

    def save(self, target: TargetRef, values: AdapterValues | None) -> None:
        """Remember these of a target in place of what was; None: nothing. They are durable when it returns.

        From any thread. Raises StateError: then a write that depends on being remembered must not be made.
        """


class ForgetfulMemory:
    """An AdapterMemory that lives as long as its process: for tests, and where nothing is written."""

    def __init__(self) -> None:
        self._values: dict[TargetRef, AdapterValues] = {}

    def load(self) -> Mapping[TargetRef, AdapterValues]:
        """What was saved."""
        return dict(self._values)

    def save(self, target: TargetRef, values: AdapterValues | None) -> None:
        """Remember it until the process ends."""
        if values is None:
            self._values.pop(target, None)
        else:
            self._values[target] = values


@dataclass(frozen=True, slots=True)
class AdapterContext(Generic[SettingsT]):
    """All that an adapter is handed when it is built."""

    name: str
    """The connection's name in the configuration's `adapters`."""
    settings: SettingsT
    """Its section of the configuration, validated by the adapter's own `Settings`."""
    clock: Clock
    logger: Logger
    state_dir: Path
    """A folder of this connection's own, which its shards share; it exists and survives restarts."""
    dry_run: bool
    """True: nothing outside `state_dir` may be started, stopped, changed or replaced."""
    dry_targets: frozenset[TargetRef] = frozenset()
    """Targets whose every autoscaler is a dry run: nothing of theirs may be started, stopped or replaced."""
    memory: AdapterMemory = field(default_factory=ForgetfulMemory)
    """A few values for each target; the daemon's survives restarts."""


class Adapter(Protocol):
    """One connection to a back end. Called from one thread at a time, unless it says how many writes it takes at once.

    It says so by an attribute `concurrent_writes` greater than 1. Then `scale` is called from up to so many threads
    at a time, of one target by one alone, and each call has a deadline of its own. `observe` is still called by one
    thread at a time, and with no `scale` beside it but one that has not returned by its deadline.

    A connection with `shards: N` has an adapter for each shard, each asked about targets of its own alone, at the same
    time as the others. They divide `concurrent_writes`, and share `state_dir`.
    """

    def observe(self, targets: Sequence[TargetRef], call: Call) -> Mapping[TargetRef, TargetState | TargetError]:
        """The state of every target asked for, or the error that concerns it alone.

        Every target is a key of the answer. Read only: the same call twice changes nothing. Returns by
        `call.deadline`. A TargetError that is raised concerns all targets of the call. A state of which nothing has
        changed costs least as the very object of the last time.
        """

    def scale(self, target: TargetRef, change: ScaleChange, call: Call) -> ScaleOutcome:
        """Set the absolute size `change.size`, guarded by `change.revision` or `change.decided_from`.

        Doing nothing is an outcome: Unchanged (already that size), Held (an operation has begun that scaling would
        disturb), Conflict (changed by somebody else since it was observed). Raises TargetError when the write
        failed; it is then unknown or certain that nothing changed, and the message says which.
        """


def concurrent_writes(adapter: object) -> int:
    """How many calls of `scale` an adapter takes at a time: its attribute of this name, where that is a valid number.

    Else 1, and at most MOST_CONCURRENT_WRITES.
    """
    found: object = getattr(adapter, "concurrent_writes", 1)
    return min(found, MOST_CONCURRENT_WRITES) if type(found) is int and found > 1 else 1


def one_host(kind: object) -> bool:
    """Whether the targets of a connection are on one machine alone, whose name its section says as `host`.

    Its attribute `one_host`. Only the daemon of that machine serves them.
    """
    return getattr(kind, "one_host", False) is True


def one_shard(kind: object) -> bool:
    """Whether a connection of this type has one adapter only, so that `shards` is refused: its attribute `one_shard`.

    One that keeps something running by itself says so: several of them would each keep it.
    """
    return getattr(kind, "one_shard", False) is True


def without_requests(kind: object) -> bool:
    """Whether no instance of this type has a reservation, so that Utilization needs a `request` in the file.

    Its attribute `without_requests`.
    """
    return getattr(kind, "without_requests", False) is True


@runtime_checkable
class Announces(Protocol):
    """An adapter whose back end keeps a record of decisions that were not written (a failure, a dry run)."""

    def announce(self, target: TargetRef, decision: Decision, call: Call) -> None:
        """Record `decision` with the back end. Raises TargetError; nothing depends on it."""


@runtime_checkable
class Closes(Protocol):
    """An adapter that holds threads or connections."""

    def close(self) -> None:
        """Let go of everything held, within a second; what runs at the back end goes on. Called once."""


class AdapterType(Protocol):
    """The class behind an entry point. Loading it imports no client library: `check` loads every type it meets."""

    Settings: ClassVar[type[BaseModel]]
    """Its section of the configuration: a subclass of `AdapterSettings`."""
    target_keys: ClassVar[frozenset[str]]
    """Which optional keys of scaleTargetRef it takes, of `namespace`, `region`, `victims`."""

    def __call__(self, context: AdapterContext[Any]) -> Adapter:
        """Build a connection. Must not connect: a back end that is down is `observe`'s TargetUnavailable.

        Raises AdapterError for what can never work (a secret file that is absent).
        """

    def target_problem(self, target: TargetRef, settings: Any) -> str | None:
        """What is wrong with a target, known offline, or None.

        It begins with the key of scaleTargetRef that is wrong, which places it: "name: expected JOB/GROUP; …".
        """


@runtime_checkable
class Canonicalizes(Protocol):
    """An adapter type with several ways to name one target."""

    def canonical(self, target: TargetRef, settings: Any) -> TargetRef:
        """The target with what its connection fills in written out, known offline: equal for names of one target.

        No target may have two autoscalers, for each would undo the other's writes.
        """


def canonical(kind: object, target: TargetRef, settings: object) -> TargetRef:
    """The target with what its connection fills in written out, where a type knows several ways to name one."""
    return kind.canonical(target, settings) if isinstance(kind, Canonicalizes) else target


@runtime_checkable
class ChecksSizes(Protocol):
    """An adapter type whose settings may not allow every size that the configuration asks for."""

    def size_problem(self, target: TargetRef, maximum: int, settings: Any) -> str | None:
        """What is wrong with a target's `maxReplicas`, known offline, and what to do; None: nothing."""


@runtime_checkable
class Examines(Protocol):
    """An adapter that knows of more than `observe` tells, for `check --live`."""

    def examine(self, target: TargetRef) -> str | None:
        """Why scaling the target would fail here, and what to do; None: nothing is known. Changes nothing."""
