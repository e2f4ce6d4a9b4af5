"""The targets of a scenario: an adapter whose instances start, become ready and leave on the virtual clock."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

from autoscaler.errors import TargetError, TargetNotFound, TargetUnavailable
from autoscaler.model import (
    Call,
    Deployment,
    Hold,
    HoldReason,
    Instance,
    Phase,
    ScaleChange,
    ScaleOutcome,
    TargetRef,
    TargetState,
    Written,
)
from autoscaler.quantity import Milli
from autoscaler.scenarios.clock import VirtualClock
from autoscaler.target import Adapter, check_before_write

_LONG_AGO: Final = timedelta(days=-1)
"""When the instances that are there at the start were started."""
_DEPLOYING: Final = HoldReason("DeploymentInProgress", "a deployment is under way")


@dataclass(slots=True)
class Group:
    """The instances of one target."""

    name: str
    """The autoscaler's; instances are called NAME-1, NAME-2."""
    start_up: timedelta
    requests: Mapping[str, Milli]
    containers: Mapping[str, Mapping[str, Milli]]
    """For each container that a metric names, what it reserves."""
    warm_up: timedelta = timedelta(0)
    """The target's own."""
    members: dict[str, timedelta] = field(default_factory=dict)
    """Instance -> when it was started, in order."""
    born: int = 0
    revision: int = 0
    deployed_until: timedelta = _LONG_AGO
    """When the last deployment ends."""
    deployment: Deployment | None = None
    """The one that set the size; None: it was scaled since."""

    def resize(self, size: int, now: timedelta, victims: Sequence[str] = ()) -> None:
        """Start instances, or end victims first, then the newest."""
        staying = list(self.members)
        for victim in victims:
            if len(staying) > size and victim in staying:
                staying.remove(victim)
        self.members = {member: self.members[member] for member in staying[:size]}
        for _ in range(size - len(self.members)):
            self.born += 1
            self.members[f"{self.name}-{self.born}"] = now
        self.revision += 1
        self.deployment = None

    def deploy(self, size: int | None, now: timedelta, until: timedelta) -> None:
        """Begin a deployment that lasts until then, and sets the size if it has one."""
        self.deployed_until = max(self.deployed_until, until)
        if size is not None:
            before = len(self.members)
            self.resize(size, now)
            self.deployment = Deployment(str(now), before, "deploy without a size")

    def ready(self, now: timedelta) -> Sequence[str]:
        """Return the instances that are ready."""
        return [member for member, started in self.members.items() if self._is_ready(started, now)]

    def _is_ready(self, started: timedelta, now: timedelta) -> bool:
        return started < timedelta(0) or started + self.start_up <= now

    def state(self, clock: VirtualClock) -> TargetState:
        """Return the group as an adapter reports it."""
        hold = Hold(_DEPLOYING, _DEPLOYING) if clock.elapsed < self.deployed_until else Hold()
        instances = tuple(self._instances(clock))
        size, revision = len(instances), str(self.revision)
        return TargetState(
            size, size, instances, hold=hold, revision=revision, deployment=self.deployment, warm_up=self.warm_up
        )

    def _instances(self, clock: VirtualClock) -> Iterator[Instance]:
        for member, started in self.members.items():
            ready = self._is_ready(started, clock.elapsed)
            turned = started + self.start_up if ready and started >= timedelta(0) else started
            yield Instance(
                member,
                Phase.RUNNING if ready else Phase.PENDING,
                ready=ready,
                ready_transition=clock.wall + turned,
                started_at=clock.wall + started,
                identities=frozenset({member}),
                requests=self.requests,
                container_requests=self.containers,
            )


class Groups(Adapter):
    """An adapter of these groups."""

    def __init__(self, connection: str, groups: Mapping[TargetRef, Group], clock: VirtualClock) -> None:
        self.silent_until = _LONG_AGO
        """Until when it does not answer."""
        self._connection: Final = connection
        self._groups: Final = groups
        self._clock: Final = clock

    def observe(self, targets: Sequence[TargetRef], _call: Call) -> Mapping[TargetRef, TargetState | TargetError]:
        """Return the state of each. Raises TargetUnavailable during an outage."""
        self._answer()
        return {target: self._state(target) for target in targets}

    def _state(self, target: TargetRef) -> TargetState | TargetError:
        group = self._groups.get(target)
        return TargetNotFound(f"{target} is in no test") if group is None else group.state(self._clock)

    def scale(self, target: TargetRef, change: ScaleChange, _call: Call) -> ScaleOutcome:
        """Set the size, unless it has changed since the observation. Raises TargetUnavailable during an outage."""
        self._answer()
        group = self._groups[target]
        unsent = check_before_write(str(target), change, len(group.members), str(group.revision))
        if unsent is not None:
            return unsent
        group.resize(change.size, self._clock.elapsed, change.victims)
        return Written(change.size)

    def _answer(self) -> None:
        if self._clock.elapsed < self.silent_until:
            raise TargetUnavailable(f"adapter {self._connection!r} does not answer: the test has an outage now")
