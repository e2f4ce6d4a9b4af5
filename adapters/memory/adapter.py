"""The smallest adapter. To write an adapter, copy this one and replace `Groups` with your client.

docs/internals/adapters.md explains it.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import ClassVar

from adapters.memory.groups import Group, Groups
from adapters.memory.settings import GroupSettings, MemorySettings
from autoscaler.target import (
    Adapter,
    AdapterContext,
    Call,
    Instance,
    Phase,
    ScaleChange,
    ScaleOutcome,
    TargetError,
    TargetNotFound,
    TargetNotScalable,
    TargetNotWritten,
    TargetRef,
    TargetState,
    TargetUnavailable,
    Written,
    check_before_write,
    nothing_written,
)


class Memory(Adapter):
    """One connection. Its groups are files in its state folder; no process is started or stopped."""

    Settings: ClassVar = MemorySettings
    target_keys: ClassVar = frozenset({"victims"})

    @staticmethod
    def target_problem(target: TargetRef, settings: MemorySettings) -> str | None:
        """Return why the target is invalid, known offline: its group is not configured."""
        if target.name in settings.groups:
            return None
        return f"name: there is no group {target.name!r}; the groups are {', '.join(sorted(settings.groups))}"

    def __init__(self, context: AdapterContext[MemorySettings]) -> None:
        """Reads nothing: a back end that is down must not prevent the start."""
        self.groups = Groups(context.state_dir)
        self._settings = context.settings.groups
        self._clock = context.clock

    def observe(self, targets: Sequence[TargetRef], call: Call) -> Mapping[TargetRef, TargetState | TargetError]:
        """Read one batch. An error of one target is its value; an error of all is raised (TargetUnavailable)."""
        self.check(call)
        return {target: self.state(target, call.now) for target in targets}

    def scale(self, target: TargetRef, change: ScaleChange, call: Call) -> ScaleOutcome:
        """Write the absolute size unless another client has changed it. Raises TargetError."""
        with nothing_written():
            self.check(call)
            state = self.state(target, call.now)
            if isinstance(state, TargetError):
                raise state
        unsent = check_before_write(str(target), change, state.replicas, state.revision, state.hold)
        if unsent is not None:
            return unsent
        group = self.read(target.name)
        try:
            self.groups.write(target.name, group.resized(target.name, change.size, call.now, change.victims))
        except OSError as error:
            raise TargetNotWritten(f"{target} was not written: {error.strerror}; make its folder writable") from None
        return Written(change.size)

    def check(self, call: Call) -> None:
        """Raise TargetUnavailable when the call's deadline has passed."""
        if call.seconds_left(self._clock.monotonic()) <= 0:
            raise TargetUnavailable("no time is left before the cycle's deadline; the next cycle tries again")

    def state(self, target: TargetRef, now: datetime) -> TargetState | TargetError:
        """Return one target's state, or its error."""
        settings = self._settings.get(target.name)
        if settings is None:
            return TargetNotFound(f"{target} does not exist; add it to `groups`, or correct scaleTargetRef.name")
        if not settings.scalable:
            return TargetNotScalable(f"{target} has `scalable: false`; name another group")
        try:
            group = self.read(target.name)
        except TargetUnavailable as error:
            return error
        instances = tuple([self.instance(name, since, settings, now) for name, since in group.members.items()])
        return TargetState(len(instances), len(instances), instances, revision=str(group.revision))

    def read(self, name: str) -> Group:
        """Return a group; its initial one if it was never written. Raises TargetUnavailable."""
        try:
            return self.groups.read(name) or Group.first(name, self._settings[name].initial_replicas)
        except OSError as error:
            raise TargetUnavailable(f"{name} cannot be read: {error.strerror}; make its folder readable") from None
        except ValueError:
            raise TargetUnavailable(
                f"{self.groups.file(name)} is not a valid record of a group; repair it, or remove it to begin anew"
            ) from None

    def instance(self, name: str, since: datetime | None, settings: GroupSettings, now: datetime) -> Instance:
        """Return a member. It is ready once its start-up time has passed."""
        starts_until = None if since is None else since + settings.startup_time
        ready = starts_until is None or starts_until <= now
        return Instance(
            name,
            Phase.RUNNING,
            ready=ready,
            ready_transition=starts_until if ready else since,
            started_at=since,
            identities=frozenset({name}),
        )
