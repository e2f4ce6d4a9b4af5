"""The contract between the daemon and a back end: `observe` for a batch of targets, and `scale` for one target.

An adapter is a subclass of `Adapter`, registered under the entry point group `autoscaler.adapters` with its type's
name. It imports `autoscaler.target` and its client library, nothing else of this project. `autoscaler.target.contract`
is the suite that every adapter passes.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from enum import Enum
from pathlib import Path
from typing import Any, ClassVar, Generic, Protocol, TypeAlias, TypeVar

from pydantic import BaseModel

from autoscaler.clock import Clock
from autoscaler.errors import TargetError
from autoscaler.logger import Logger
from autoscaler.model import Call, Decision, ScaleChange, ScaleOutcome, TargetRef, TargetState

SettingsT = TypeVar("SettingsT", bound=BaseModel)

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

    Such an instance waits (`TargetState.awaiting_drain`) until `Adapter.release`.
    """
    discovers: bool = False
    """Whether autoscalers are made of the back end's own policies. The adapter does not warn of those, then."""


class NodeDrain(Enum):
    """How far the drain of an instance's node is."""

    NO_NODE = "none"
    """No node, or no single one, is this instance: there is nothing to drain."""
    DRAINING = "draining"
    """The node still has allocations to move or to end."""
    DONE = "done"
    """The drain has ended, this daemon's or another client's, or the node is down or gone."""


@dataclass(frozen=True, slots=True)
class AutoscalerBody:
    """A scaling policy in the form of the configuration: an entry of `autoscalers`."""

    text: str
    """YAML, at most 64 KiB: the entry without `name` and `scaleTargetRef`, which the daemon adds."""
    problems: tuple[str, ...] = ()
    """What is wrong where it is written, each with the remedy. If there is one, the text is not read."""


@dataclass(frozen=True, slots=True)
class Discovery:
    """The scaling policies that a back end has."""

    policies: Mapping[TargetRef, Mapping[str, Any] | AutoscalerBody | TargetError]
    """By target, with its namespace: the policy, or why it is not known.

    A mapping is an object of another system, as `autoscaler import` reads it. TargetNotFound: the target, or its
    policy, is gone for certain. An unchanged policy costs least when it is the same object as the last one.
    """
    failures: Mapping[str, TargetError]
    """Namespace -> why its policies could not be listed."""


class Adapter:
    """One connection to a back end. `observe` and `scale` are the adapter's own; every other method has a default.

    One thread calls it at a time, unless it has `concurrent_writes`. The methods for drains say who else calls them.

    A connection with `shards: N` has an adapter for each shard. Each observes its own targets, concurrently with the
    others. They divide `concurrent_writes` and share `state_dir`.

    Loading the class imports no client library, because `check` loads every type.
    """

    Settings: ClassVar[type[BaseModel]]
    """Its section of the configuration: a subclass of `AdapterSettings`. It has no default."""
    target_keys: ClassVar[frozenset[str]] = frozenset()
    """The optional keys of scaleTargetRef that it accepts, of `namespace`, `region`, `victims`."""
    drain_keys: ClassVar[frozenset[str]] = frozenset()
    """The keys of an autoscaler's `drain` that it accepts, of `hook`, `nomad`, `http`, `command`.

    With one, its instances can wait before they end: it has `release` and `extend`. Without, an autoscaler has no
    `drain`.
    """
    discover_keys: ClassVar[frozenset[str]] = frozenset()
    """The keys of a connection's `discover` that it accepts, of `policies`, `labels`. With one, it has `discover`."""
    one_host: ClassVar[bool] = False
    """Whether all targets of a connection are on the daemon's own machine. Such a daemon has an SQLite state."""
    one_shard: ClassVar[bool] = False
    """Whether a connection has one adapter only and refuses `shards`.

    An adapter that keeps processes running sets it: with several shards, each would keep them.
    """
    without_requests: ClassVar[bool] = False
    """Whether no instance of this type has a reservation, so that Utilization needs a `request`."""
    concurrent_writes: int = 1
    """How many threads may call `scale` at a time, at most 64: one for each target, each call with its own deadline.

    Still one thread at a time calls `observe`. No `scale` or `announce` runs beside it, except one that has not
    returned by its deadline.
    """

    def __init__(self, context: AdapterContext[Any] | None = None) -> None:
        """Build a connection without connecting: a back end that is down is `observe`'s TargetUnavailable.

        Raises AdapterError for a permanent problem, such as a missing secret file. The daemon always gives `context`;
        a class without the base may call this one as that of `object`.
        """

    @classmethod
    def implements(cls, method: str) -> bool:
        """Return whether the adapter has a method of its own in the place of the default of this name."""
        return getattr(cls, method) is not getattr(Adapter, method)

    @staticmethod
    def target_problem(target: TargetRef, settings: Any) -> str | None:
        """Return what is wrong with a target, known offline, or None.

        The text begins with the wrong key of scaleTargetRef, for its position: "name: expected JOB/GROUP; …".
        """
        return None

    @staticmethod
    def size_problem(target: TargetRef, maximum: int, settings: Any) -> str | None:
        """Return what is wrong with a target's `maxReplicas`, known offline, and the remedy, or None."""
        return None

    @staticmethod
    def canonical(target: TargetRef, settings: Any) -> TargetRef:
        """Return the target with the connection's defaults, known offline, so that equal targets compare equal.

        A target may have only one autoscaler: two would overwrite each other's sizes.
        """
        return target

    @staticmethod
    def place(settings: Any) -> str | None:
        """Return where the connection's targets are, known offline; None: the connection's name says it.

        Two connections with an equal place scale the same targets. What is remembered of a target belongs to its type,
        its place and its canonical name, so a connection with another name goes on with it.
        """
        return None

    def observe(self, targets: Sequence[TargetRef], call: Call) -> Mapping[TargetRef, TargetState | TargetError]:
        """Return the state of every target, or the error of that target.

        Every target is a key of the answer. The method only reads, and returns by `call.deadline`. A raised TargetError
        concerns all targets of the call. An unchanged state costs least when it is the same object as the last one.
        """
        raise NotImplementedError

    def scale(self, target: TargetRef, change: ScaleChange, call: Call) -> ScaleOutcome:
        """Set the absolute size `change.size`, guarded by `change.revision` or `change.decided_from`.

        Doing nothing is an outcome: Unchanged (it has that size), Held (scaling would disturb an operation), Conflict
        (another client changed it since the observation). Raises TargetError when the write failed; the message says
        whether the outcome is unknown or certainly nothing changed.
        """
        raise NotImplementedError

    def announce(self, target: TargetRef, decision: Decision, call: Call) -> None:
        """Record with the back end a decision that was not written (a failure, a dry run).

        Raises TargetError, which has no other effect.
        """

    def close(self) -> None:
        """Release threads and connections within a second. The back end's instances go on. Called once."""

    def examine(self, target: TargetRef) -> str | None:
        """For `check --live`: return why scaling the target would fail here, and the remedy, beyond `observe`.

        None: no problem is known. Changes nothing.
        """
        return None

    def failing_addresses(self, call: Call) -> Mapping[str, str]:
        """For `check --live`: return the addresses of the connection that cannot serve now -> why.

        Empty when all can. Each gets a share of the time.
        """
        return {}

    def try_write(self, target: TargetRef, call: Call) -> str | None:
        """For `check --live --write-test`: send a write that needs the same rights as `scale`.

        It changes neither the size nor an instance. Returns in words what the back end answered; None: the adapter has
        no such test. Also called with `dry_run`. Raises TargetForbidden, which names the missing right; any other
        TargetError means that the test failed to reach an answer.
        """
        return None

    def release(self, target: TargetRef, instance: str, call: Call) -> None:
        """Let an instance go, which then ends. Idempotent: one that no longer waits is no error. Raises TargetError.

        Several threads call `release` and `extend` at a time, also beside `observe` and `scale`, but one for each
        instance.
        """

    def extend(self, target: TargetRef, instance: str, call: Call) -> None:
        """Keep an instance waiting for another `heartbeat`. Raises TargetError.

        Called only where `AwaitingDrain.heartbeat` says so.
        """

    def drain_node(self, instance: str, addresses: Collection[str], deadline: timedelta, call: Call) -> NodeDrain:
        """Begin or follow the drain of the one node that is this instance of another back end.

        Its cloud instance id equals `instance`, and its address is in `addresses`. After `deadline` the back end ends
        what is left on the node. Idempotent: called every few seconds until DONE or NO_NODE. A drain that another
        client began is followed, never shortened. Several threads call it at a time, one for each instance. Raises
        TargetError.
        """
        return NodeDrain.NO_NODE

    def try_drain(self, call: Call) -> str | None:
        """Send a write that needs the same rights as `drain_node`, and that changes no node; else as `try_write`."""
        return None

    def discover(self, namespaces: Collection[str], known: Collection[TargetRef], call: Call) -> Discovery:
        """Return the scaling policies in these namespaces, and what has become of the `known` targets.

        `namespaces` is empty for a type whose targets have none. A known target whose policy is not listed is looked
        at by itself: only TargetNotFound means that it has none any more. A target's `parts` say which of two targets
        it is whose names are equal. The method only reads. It is called on an adapter that does nothing else.
        """
        return Discovery({}, {})
