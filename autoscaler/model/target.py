"""The state of a target and the outcome of a write to it: the values of the adapter contract."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final, NoReturn, TypeAlias

from autoscaler.model.steering import Direction
from autoscaler.moment import Moment
from autoscaler.quantity import Milli

MAX_SIZE: Final = 2**31 - 1
"""The largest size there is: sizes are int32, as in autoscaling/v2."""


@dataclass(frozen=True, slots=True)
class TargetRef:
    """Names one scalable thing of one adapter connection. Hashable; the key of all batches."""

    adapter: str
    """Name of the connection in the configuration's `adapters`."""
    name: str
    """The back end's own name: a group, a service, `job/group` for Nomad, a pool."""
    namespace: str | None = None
    region: str | None = None
    parts: tuple[str, ...] = field(default=(), kw_only=True)
    """The parts of the name, where the back end told them apart, as a discovered job and its group.

    Empty: the adapter splits the name.
    """

    def __str__(self) -> str:
        return f"{self.adapter}/{self.name}"


class Phase(StrEnum):
    """Life of an instance, in the words of a Kubernetes pod."""

    PENDING = "Pending"
    """Asked for, not running yet."""
    RUNNING = "Running"
    FAILED = "Failed"
    """Ended without success and not counted any more."""


class _NoRequests(dict[str, Any]):
    """An empty mapping that nobody can fill, because every instance has the same one."""

    __slots__ = ()

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise TypeError("an instance's default requests cannot be changed; give it a mapping of its own")

    __setitem__ = __ior__ = setdefault = update = _refuse


NO_REQUESTS: Final = _NoRequests()
"""Two empty mappings of its own would take a third of what an instance takes."""


@dataclass(frozen=True, slots=True)
class Instance:
    """One worker, task, allocation or machine: what a pod is to Kubernetes."""

    name: str
    """Unique in its target, and the same at every observation."""
    phase: Phase
    ready: bool | None
    """None: the back end knows no health. A running instance then counts as ready."""
    ready_transition: datetime | None = None
    """When `ready` last changed. None: unknown; the daemon then uses when it first saw it."""
    started_at: datetime | None = None
    """When it was started. None: unknown; the daemon then uses when it first saw the instance."""
    first_ready: datetime | None = None
    """When it was ready for the first time, for its warm-up. None: at `ready_transition`, if it is ready.

    The daemon sets it, from what it saw.
    """
    deleting: bool = False
    """The instance leaves: its samples are ignored, as a terminating pod's are, and `status_replicas` leaves it out."""
    identities: frozenset[str] = frozenset()
    """Everything a sample's label may call it: id, addresses with and without port, names."""
    requests: Mapping[str, Milli] = field(default_factory=lambda: NO_REQUESTS)
    """Its own reservation per resource, in thousandths: `memory` in bytes, `cpu` in cores or `cpu_mhz` in MHz.

    A metric named `cpu` is compared with either. All instances of a target have the same one.
    """
    container_requests: Mapping[str, Mapping[str, Milli]] = field(default_factory=lambda: NO_REQUESTS)
    """The same for each container or task in it: container -> resource -> thousandths."""
    weight: int = 1
    """Units of size that it counts for (weighted AWS groups); at least 1."""
    detail: str = ""
    """Why it is pending or not ready, in the back end's words. Only shown."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds on the size that the target itself has, apart from the autoscaler's."""

    minimum: int = 0
    maximum: int | None = None
    source: str = "the target's own limits"
    """Whose they are, for messages: "the group's MinSize and MaxSize"."""


@dataclass(frozen=True, slots=True)
class HoldReason:
    """Why scaling in one direction must wait. `reason` is a CamelCase word for a condition."""

    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Hold:
    """An operation under way that scaling must not disturb, per direction. None: free to scale."""

    scale_out: HoldReason | None = None
    scale_in: HoldReason | None = None


@dataclass(frozen=True, slots=True)
class Deployment:
    """The deployment that set a target's present size: a job was registered, a service's specification was changed."""

    id: str
    """Another one for each deployment."""
    before: int
    """The size just before it; 0: the target was created, or ran nothing."""
    remedy: str
    """How to deploy without setting the size: an imperative sentence without a full stop; empty: it had to set one."""
    rollback: bool = False
    """Whether it returned to an earlier specification. The size of that one is then wanted."""
    earlier: tuple[tuple[str, int], ...] = ()
    """Id and size before of the deployments just before it, the newest first; empty: the size was scaled before it."""
    certain: bool = True
    """False: it may have been another client's scaling, as the next observation tells."""


@dataclass(frozen=True, slots=True)
class AwaitingDrain:
    """An instance that leaves, and waits until it is released. It is among the instances, `deleting`."""

    instance: str
    """Its name."""
    addresses: tuple[str, ...] = ()
    """Where its drain reaches it, the first for HTTP: its private addresses; of a worker on this machine HOST:PORT."""
    heartbeat: timedelta | None = None
    """How long the back end waits after the last `extend`; None: without a limit."""


@dataclass(frozen=True, slots=True)
class TargetState:
    """One target as the back end reports it in this cycle."""

    replicas: int
    """The size that is asked for (HPA's spec.replicas), in units."""
    status_replicas: int
    """The size that exists (HPA's status.replicas), in units; includes what is not ready.

    Without what is on its way out or has failed, as a ReplicaSet counts its active pods alone. Averages are taken
    over it.
    """
    instances: tuple[Instance, ...]
    limits: Limits = Limits()
    hold: Hold = Hold()
    revision: str | None = None
    """Opaque; a write with it fails as a Conflict when the target changed since. None: no compare-and-set."""
    warnings: tuple[str, ...] = ()
    """What the operator should know, the most urgent first; it alone is shown in lists.

    "worker web-3 ended with exit code 1", "a scaling policy on this group is another autoscaler at work".
    """
    deployment: Deployment | None = None
    """None: the size was scaled since the last deployment, or the back end does not tell who set it."""
    reset_by: str = ""
    """What sets the size at the next deployment, and the remedy; empty: nothing is known to."""
    warm_up: timedelta = timedelta(0)
    """The target's own: how long after an instance was first ready its samples do not count.

    An autoscaler's `warm_up` goes before it.
    """
    awaiting_drain: tuple[AwaitingDrain, ...] | None = ()
    """Instances that leave and wait to be drained. Only of the targets in the context's `drains`.

    None: that could not be read now, so drains that are under way go on.
    """
    not_started: bool = False
    """Whether the target has never had an instance, because the daemon itself starts them and has not run yet."""

    @property
    def ready(self) -> int | None:
        """Units that run, stay, and are not known to be unready; None: the back end lists no instances."""
        if not self.instances and self.status_replicas:
            return None
        return sum(
            [
                each.weight
                for each in self.instances
                if each.ready is not False and not each.deleting and each.phase is Phase.RUNNING
            ]
        )


@dataclass(frozen=True, slots=True)
class Call:
    """What every call of an adapter is given. No call may last past `deadline`, and none begins a request after it."""

    now: datetime
    """The cycle's one time, aware, UTC."""
    deadline: float
    """In seconds on the context's `clock.monotonic()`."""
    moment: Moment | None = None
    """`now`, with what tells a clock that was set from time gone by; None: that is not known."""
    is_current: Callable[[], bool] = field(default=lambda: True)
    """Of a write: whether the target is still this daemon's and this shard's. Asked by `seconds_left`."""

    def seconds_left(self, monotonic: float) -> float:
        """How long a request that begins now may take; 0 or less: none may begin.

        `monotonic`: now, on the context's clock. To be asked before each request, also the second one of a write.
        """
        return self.deadline - monotonic if self.is_current() else 0.0


@dataclass(frozen=True, slots=True)
class ScaleChange:
    """One decision to write. Sizes are absolute and in units."""

    id: str
    """Unique to the decision: a repeated call with the same id never removes or adds twice."""
    size: int
    decided_from: int
    """The size that the decision saw; another one found now is a Conflict."""
    revision: str | None
    reason: str
    """One sentence for the back end's own records."""
    victims: tuple[str, ...] = ()
    """Instance names to remove first when scaling in, best victim first; empty: the back end chooses."""

    @property
    def direction(self) -> Direction:
        """Direction.OUT or Direction.IN; `size` always differs from `decided_from`."""
        return Direction.OUT if self.size > self.decided_from else Direction.IN


@dataclass(frozen=True, slots=True)
class Written:
    """The back end accepted the size."""

    size: int


@dataclass(frozen=True, slots=True)
class Unchanged:
    """The target already had the size; nothing was written."""


@dataclass(frozen=True, slots=True)
class Held:
    """Nothing was written: an operation began meanwhile that scaling must not disturb. No cooldown starts."""

    hold: HoldReason


@dataclass(frozen=True, slots=True)
class Conflict:
    """Nothing was written: somebody changed the target since it was observed. The next cycle decides again."""

    message: str


ScaleOutcome: TypeAlias = Written | Unchanged | Held | Conflict
"""What `Adapter.scale` returns; failures are raised as TargetError."""
