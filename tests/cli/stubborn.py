"""An adapter type whose behavior depends on the target's name."""

import time
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NoReturn

from autoscaler.errors import AdapterError, TargetError, TargetNotScalable
from autoscaler.model import Call, Instance, Limits, Phase, TargetRef, TargetState
from autoscaler.target import AdapterSettings


class Settings(AdapterSettings):
    """`broken` says how building the adapter fails."""

    broken: str = ""


class Stubborn:
    """`global` and `narrow` have states that cannot be scaled, `hanging` hangs; any other name works."""

    Settings: ClassVar = Settings
    dry_runs: ClassVar[list[bool]] = []
    """Whether each adapter that was built is for a dry run."""
    closed: ClassVar[list[bool]] = []

    def __init__(self, context: Any) -> None:
        if context.settings.broken == "expected":
            raise AdapterError("token.txt is absent; write it")
        if context.settings.broken:
            raise ZeroDivisionError("with a secret in it")
        self.dry_runs.append(context.dry_run)

    def observe(self, targets: Sequence[TargetRef], call: Call) -> Mapping[TargetRef, TargetState | TargetError]:
        return {target: self._state(target.name) for target in targets}

    def scale(self, *_: object) -> NoReturn:
        raise AssertionError("a check writes nothing")

    def close(self) -> None:
        self.closed.append(True)

    @staticmethod
    def _state(name: str) -> TargetState | TargetError:
        if name == "hanging":
            time.sleep(3600)
        if name == "global":
            return TargetNotScalable("service global is a global service; only replicated ones have a size")
        workers = tuple(
            Instance(f"w{number}", Phase.RUNNING, None, identities=frozenset({f"w{number}"})) for number in (1, 2)
        )
        return TargetState(2, 2, workers, Limits(7, 9, "the group's own") if name == "narrow" else Limits())
