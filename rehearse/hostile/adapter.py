"""A third party's adapter that can be told to give odd answers while it runs.

The daemon loads it as any installed one.
"""

import json
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Final, cast

from autoscaler.target import (
    AdapterContext,
    AdapterSettings,
    Call,
    Instance,
    Phase,
    ScaleChange,
    ScaleOutcome,
    TargetError,
    TargetRef,
    TargetState,
    TargetUnavailable,
    Written,
)

_HUGE: Final = 10 * 2**20
_ROOT: Final = Path(__file__).resolve().parents[2]
_SIZES: Final[dict[str, int]] = {}
"""Target's name -> size. A replaced connection's sizes stay."""


class OddSettings(AdapterSettings):
    """The settings of one connection."""

    folder: Path
    """The folder of `odd.json` (target's name -> word) and of the notes of calls (`notes-CONNECTION`)."""
    seconds: float = 0.0
    """The duration of a write."""


class Odd:
    """An adapter with sizes in memory. It notes each call with its beginning on the monotonic clock."""

    Settings: ClassVar = OddSettings

    def __init__(self, context: AdapterContext[OddSettings]) -> None:
        self._settings = context.settings
        self._notes = context.settings.folder / f"notes-{context.name}"
        self._odd = context.settings.folder / "odd.json"

    def observe(self, targets: Sequence[TargetRef], call: Call) -> Mapping[TargetRef, TargetState | TargetError]:
        """Return each target at its size, except the odd ones."""
        self._note("observes", len(targets))
        odd = json.loads(self._odd.read_text()) if self._odd.exists() else {}
        return {target: _state(target.name, odd.get(target.name)) for target in targets}

    def scale(self, target: TargetRef, change: ScaleChange, call: Call) -> ScaleOutcome:
        """Set the size, slowly."""
        time.sleep(self._settings.seconds)
        _SIZES[target.name] = change.size
        self._note("writes", target.name, change.size)
        return Written(change.size)

    def _note(self, *words: object) -> None:
        with self._notes.open("a") as notes:
            notes.write(" ".join(map(str, (time.monotonic(), *words))) + "\n")


def _state(name: str, word: str | None) -> Any:
    """Return a state as the contract requires, or as `word` says."""
    size = _SIZES.get(name, 1)
    instances = tuple(_instance(f"{name}-{number}") for number in range(size))
    state: Any = TargetState(size, size, instances)
    match word:
        case None:
            return state
        case "an identity is None":
            first, no_text = instances[0], cast("str", None)
            nameless = replace(first, identities=first.identities | {no_text})
            return TargetState(size, size, (nameless, *instances[1:]))
        case "a size is a text":
            return TargetState(str(size), size, instances)  # type: ignore[arg-type]  # what is odd about it
        case "a size is beyond 32 bits":
            return TargetState(2**40, 2**40, instances)
        case "not a state":
            return word
        case "10 MB of error":
            return TargetUnavailable("x" * _HUGE)
        case "10 MB of warning":
            return TargetState(size, size, instances, warnings=("x" * _HUGE,))
    raise AssertionError(word)


def _instance(name: str) -> Instance:
    return Instance(name, Phase.RUNNING, ready=True, identities=frozenset({name}))


def install(folder: Path) -> dict[str, str]:
    """Install the type `odd`. Returns the environment of a daemon that finds it."""
    info = folder / "site/odd_adapter-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: odd-adapter\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[autoscaler.adapters]\nodd = {__name__}:{Odd.__name__}\n")
    return {"PYTHONPATH": os.pathsep.join([str(info.parent), str(_ROOT)])}
