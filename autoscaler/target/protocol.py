"""The contract between the daemon and a back end: `observe` for a batch of targets, and `scale` for one target.

An adapter is a class that `AdapterType` describes, registered under the entry point group `autoscaler.adapters` with
its type's name. It imports `autoscaler.target` and its client library, nothing else of this project.
`autoscaler.target.contract` is the suite that every adapter passes.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from enum import Enum
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, Final, Generic, Protocol, TypeAlias, TypeVar, runtime_checkable

from pydantic import BaseModel

from autoscaler.clock import Clock
from autoscaler.errors import TargetError
from autoscaler.logger import Logger
from autoscaler.model import Call, Decision, ScaleChange, ScaleOutcome, TargetRef, TargetState

SettingsT = TypeVar("SettingsT", bound=BaseModel)

MOST_CONCURRENT_WRITES: Final = 64
"""Writes of one connection, each on its own thread."""

AdapterValues: TypeAlias = Mapping[str, Any]
"""The values that an adapter remembers of one target: text keys, JSON values."""


class AdapterMemory(Protocol):
    """The values that an adapter keeps across restarts: a few for each target, saved in the state.

    The memory belongs to the adapter's shard. Once the shard is superseded, saving fails.
    """

    def load(self) -> Mapping[TargetRef, AdapterValues]:
        """Return the values of every target of this connection. Call it from `observe` on. Raises StateError."""

    def save(self, target: TargetRef, values: AdapterValues | None) -> None:
        """Replace the values of a target; None removes them. They are durable when this returns.

        Any thread may call it. Raises StateError: a write that depends on the values must then not be made.
        """


class ForgetfulMemory:
    """An AdapterMemory that lasts as long as its process, for tests and read-only commands."""

    def __init__(self) -> None:
        self._values: dict[TargetRef, AdapterValues] = {}

    def load(self) -> Mapping[TargetRef, AdapterValues]:
        """Return the saved values."""
        return dict(self._values)

    def save(self, target: TargetRef, values: AdapterValues | None) -> None:
        """Keep the values until the process ends."""
        if values is None:
            self._values.pop(target, None)
        else:
            self._values[target] = values


@dataclass(frozen=True, slots=True)
class AdapterContext(Generic[SettingsT]):
    """The arguments of an adapter."""

    name: str
    """The connection's name in the configuration's `adapters`."""
    settings: SettingsT
    """Its section of the configuration, validated by the adapter's `Settings`."""
    clock: Clock
    logger: Logger
    state_dir: Path
    """The connection's own folder, shared by its shards. It exists and survives restarts."""
    dry_run: bool
    """True: the adapter must not start, stop, change or replace anything outside `state_dir`."""
    dry_targets: frozenset[TargetRef] = frozenset()
    """Targets whose autoscalers are all dry runs: the adapter must not start, stop or replace anything of theirs.

    Only for types that have `one_host`: other adapters replace nothing by themselves.
    """
    memory: AdapterMemory = field(default_factory=ForgetfulMemory)
    """A few values for each target. The daemon's memory survives restarts."""
    drains: Mapping[TargetRef, str | None] = field(default_factory=dict)
    """Targets whose instances are drained before they end, each with the hook that the configuration names.

    Such an instance waits (`TargetState.awaiting_drain`) until `Drains.release`.
    """
    discovers: bool = False
    """Whether autoscalers are made of the back end's own policies. The adapter does not warn of those, then."""


class Adapter(Protocol):
    """One connection to a back end. One thread calls it at a time, unless it has `concurrent_writes`.

    With the attribute `concurrent_writes` greater than 1, up to that many threads call `scale` at a time, one for each
    target, each call with its own deadline. Still one thread at a time calls `observe`. No `scale` or `announce` runs
    beside it, except one that has not returned by its deadline.

    A connection with `shards: N` has an adapter for each shard. Each observes its own targets, concurrently with the
    others. They divide `concurrent_writes` and share `state_dir`.
    """

    def observe(self, targets: Sequence[TargetRef], call: Call) -> Mapping[TargetRef, TargetState | TargetError]:
        """Return the state of every target, or the error of that target.

        Every target is a key of the answer. The method only reads, and returns by `call.deadline`. A raised TargetError
        concerns all targets of the call. An unchanged state costs least when it is the same object as the last one.
        """

    def scale(self, target: TargetRef, change: ScaleChange, call: Call) -> ScaleOutcome:
        """Set the absolute size `change.size`, guarded by `change.revision` or `change.decided_from`.

        Doing nothing is an outcome: Unchanged (it has that size), Held (scaling would disturb an operation), Conflict
        (another client changed it since the observation). Raises TargetError when the write failed; the message says
        whether the outcome is unknown or certainly nothing changed.
        """


def concurrent_writes(adapter: object) -> int:
    """Return how many `scale` calls an adapter accepts at a time: its attribute `concurrent_writes`, if valid.

    Else 1; at most MOST_CONCURRENT_WRITES.
    """
    found: object = getattr(adapter, "concurrent_writes", 1)
    return min(found, MOST_CONCURRENT_WRITES) if type(found) is int and found > 1 else 1


def one_host(kind: object) -> bool:
    """Return whether all targets of a connection are on the machine that its section names as `host`.

    This is the attribute `one_host`. Only the daemon on that machine serves them.
    """
    return getattr(kind, "one_host", False) is True


def one_shard(kind: object) -> bool:
    """Return whether a connection of this type has one adapter only and refuses `shards`: the attribute `one_shard`.

    An adapter that keeps processes running sets it: with several shards, each would keep them.
    """
    return getattr(kind, "one_shard", False) is True


def without_requests(kind: object) -> bool:
    """Return whether no instance of this type has a reservation, so that Utilization needs a `request`.

    This is the attribute `without_requests`.
    """
    return getattr(kind, "without_requests", False) is True


@runtime_checkable
class Announces(Protocol):
    """An adapter whose back end records decisions that were not written (a failure, a dry run)."""

    def announce(self, target: TargetRef, decision: Decision, call: Call) -> None:
        """Record `decision` with the back end. Raises TargetError, which has no other effect."""


@runtime_checkable
class Closes(Protocol):
    """An adapter that holds threads or connections."""

    def close(self) -> None:
        """Release everything within a second. The back end's instances go on. Called once."""


class AdapterType(Protocol):
    """The class behind an entry point. Loading it imports no client library, because `check` loads every type."""

    Settings: ClassVar[type[BaseModel]]
    """Its section of the configuration: a subclass of `AdapterSettings`."""
    target_keys: ClassVar[frozenset[str]]
    """The optional keys of scaleTargetRef that it accepts, of `namespace`, `region`, `victims`."""

    def __call__(self, context: AdapterContext[Any]) -> Adapter:
        """Build a connection without connecting: a back end that is down is `observe`'s TargetUnavailable.

        Raises AdapterError for a permanent problem, such as a missing secret file.
        """

    def target_problem(self, target: TargetRef, settings: Any) -> str | None:
        """Return what is wrong with a target, known offline, or None.

        The text begins with the wrong key of scaleTargetRef, for its position: "name: expected JOB/GROUP; …".
        """


@runtime_checkable
class Canonicalizes(Protocol):
    """An adapter type with several ways to name one target."""

    def canonical(self, target: TargetRef, settings: Any) -> TargetRef:
        """Return the target with the connection's defaults, known offline, so that equal targets compare equal.

        A target may have only one autoscaler: two would overwrite each other's sizes.
        """


def canonical(kind: object, target: TargetRef, settings: object) -> TargetRef:
    """The target with what its connection fills in written out, where a type knows several ways to name one."""
    known = _canonicalizing(kind)
    return target if known is None else known.canonical(target, settings)


@lru_cache(maxsize=64)  # the check takes longer than the answer, and is made for every target
def _canonicalizing(kind: object) -> Canonicalizes | None:
    return kind if isinstance(kind, Canonicalizes) else None


@runtime_checkable
class ChecksSizes(Protocol):
    """An adapter type whose settings may limit the size."""

    def size_problem(self, target: TargetRef, maximum: int, settings: Any) -> str | None:
        """Return what is wrong with a target's `maxReplicas`, known offline, and the remedy, or None."""


@runtime_checkable
class Examines(Protocol):
    """An adapter with checks beyond `observe`, for `check --live`."""

    def examine(self, target: TargetRef) -> str | None:
        """Return why scaling the target would fail here, and the remedy; None: no problem is known. Changes nothing."""


@runtime_checkable
class HasAddresses(Protocol):
    """An adapter whose connection may have several addresses, for `check --live`."""

    def failing_addresses(self, call: Call) -> Mapping[str, str]:
        """Return the addresses that cannot serve now -> why; empty when all can. Each gets a share of the time."""


@runtime_checkable
class TriesWrites(Protocol):
    """An adapter that can find out whether it may scale, for `check --live --write-test`."""

    def try_write(self, target: TargetRef, call: Call) -> str:
        """Send a write that needs the same rights as `scale`, and that changes neither the size nor an instance.

        Returns in words what the back end answered. Also called with `dry_run`. Raises TargetForbidden, which names the
        missing right; any other TargetError means that the test failed to reach an answer.
        """


def drain_keys(kind: object) -> frozenset[str]:
    """Return the keys of an autoscaler's `drain` that a type accepts, of `hook`, `nomad`, `http`, `command`.

    This is the attribute `drain_keys`; without it an autoscaler has no `drain`.
    """
    found: frozenset[str] = getattr(kind, "drain_keys", frozenset())
    return found


@runtime_checkable
class Drains(Protocol):
    """An adapter whose instances can wait before they end. Its type has `drain_keys`.

    Several threads call these methods at a time, also beside `observe` and `scale`, but one for each instance.
    """

    def release(self, target: TargetRef, instance: str, call: Call) -> None:
        """Let an instance go, which then ends. Idempotent: one that no longer waits is no error. Raises TargetError."""

    def extend(self, target: TargetRef, instance: str, call: Call) -> None:
        """Keep an instance waiting for another `heartbeat`. Raises TargetError.

        Called only where `AwaitingDrain.heartbeat` says so.
        """


class NodeDrain(Enum):
    """How far the drain of an instance's node is."""

    NO_NODE = "none"
    """No node, or no single one, is this instance: there is nothing to drain."""
    DRAINING = "draining"
    """The node still has allocations to move or to end."""
    DONE = "done"
    """The drain has ended, this daemon's or another client's, or the node is down or gone."""


@runtime_checkable
class DrainsNodes(Protocol):
    """An adapter whose back end runs its work on nodes, and can move it off a node that is about to go."""

    def drain_node(self, instance: str, addresses: Collection[str], deadline: timedelta, call: Call) -> NodeDrain:
        """Begin or follow the drain of the one node that is this instance.

        Its cloud instance id equals `instance`, and its address is in `addresses`. After `deadline` the back end ends
        what is left on the node. Idempotent: called every few seconds until DONE or NO_NODE. A drain that another
        client began is followed, never shortened. Several threads call it at a time, one for each instance. Raises
        TargetError.
        """


@runtime_checkable
class TriesDrains(Protocol):
    """An adapter that can find out whether it may drain nodes, for `check --live --write-test`."""

    def try_drain(self, call: Call) -> str:
        """Send a write that needs the same rights as `drain_node`, and that changes no node; else as `try_write`."""


@dataclass(frozen=True, slots=True)
class Discovery:
    """The scaling policies that a back end has."""

    policies: Mapping[TargetRef, Mapping[str, Any] | TargetError]
    """By target, with its namespace: the policy, as an object that `autoscaler import` reads, or why it is not known.

    TargetNotFound: the target, or its policy, is gone for certain. An unchanged policy costs least when it is the same
    object as the last one.
    """
    failures: Mapping[str, TargetError]
    """Namespace -> why its policies could not be listed."""


@runtime_checkable
class Discovers(Protocol):
    """An adapter whose back end has scaling policies beside its targets. Its type accepts `discover`."""

    def discover(self, namespaces: Collection[str], known: Collection[TargetRef], call: Call) -> Discovery:
        """Return the policies in these namespaces, and what has become of the `known` targets.

        A known target whose policy is not listed is looked at by itself: only TargetNotFound means that it has none
        any more. A target's `parts` say which of two targets it is whose names are equal. The method only reads. It is
        called on an adapter that does nothing else.
        """
