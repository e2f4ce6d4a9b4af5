"""A template to copy: an adapter that scales whatever follows a number in a file.

Each target is a file in `folder` that holds its size and a revision, as in `3 17`; some script of yours starts and
stops what the number says. docs/adapters.md walks through it.
"""

from collections.abc import Mapping, Sequence
from typing import ClassVar

from autoscaler.errors import TargetError, TargetNotFound, TargetUnavailable
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
from autoscaler.target import AdapterContext, AdapterSettings, ConfigPath
from autoscaler.target.files import write_atomically


class SizeFiles:
    """One connection: a folder of size files."""

    class Settings(AdapterSettings):
        """`adapters.NAME` of type size-files."""

        folder: ConfigPath
        """Where the size files are; a target's name is its file's name."""

    target_keys: ClassVar[frozenset[str]] = frozenset()

    @staticmethod
    def target_problem(target: TargetRef, settings: Settings) -> str | None:
        """A name that could leave the folder, said before anything runs."""
        if target.name and "/" not in target.name and not target.name.startswith("."):
            return None
        return f"name: {target.name!r} is no file name; name a file in {settings.folder}"

    def __init__(self, context: AdapterContext[Settings]) -> None:
        self._folder = context.settings.folder
        self._clock = context.clock

    def observe(self, targets: Sequence[TargetRef], call: Call) -> Mapping[TargetRef, TargetState | TargetError]:
        """One batch. What concerns one target is its value; what concerns all is raised."""
        self._check(call)
        return {target: self._state(target) for target in targets}

    def scale(self, target: TargetRef, change: ScaleChange, call: Call) -> ScaleOutcome:
        """Write the absolute size, unless somebody else was faster."""
        self._check(call)
        state = self._state(target)
        if isinstance(state, TargetError):
            raise state
        if change.decided_from != state.replicas or change.revision not in (None, state.revision):
            return Conflict(f"{target} has the size {state.replicas} at revision {state.revision} by now")
        if change.size == state.replicas:
            return Unchanged()
        content = f"{change.size} {int(state.revision or 0) + 1}"
        write_atomically(self._folder / target.name, content, mode=0o644)  # the script that follows it reads it, too
        return Written(change.size)

    def _check(self, call: Call) -> None:
        if self._clock.monotonic() >= call.deadline:
            raise TargetUnavailable(f"{self._folder}: no time left before the cycle's deadline")
        if not self._folder.is_dir():
            raise TargetUnavailable(f"{self._folder} is no folder that can be read; create or mount it")

    def _state(self, target: TargetRef) -> TargetState | TargetError:
        try:
            size, revision = map(int, (self._folder / target.name).read_text().split())
        except FileNotFoundError:
            return TargetNotFound(f"{target}: no file {target.name} in {self._folder}; create it with `0 0` in it")
        except (OSError, ValueError) as error:
            return TargetUnavailable(f"{target}: expected a size and a revision in its file, as in `3 17`: {error}")
        names = [f"{target.name}-{number}" for number in range(1, size + 1)]
        instances = tuple(Instance(name, Phase.RUNNING, ready=None, identities=frozenset({name})) for name in names)
        return TargetState(size, len(instances), instances, revision=str(revision))
