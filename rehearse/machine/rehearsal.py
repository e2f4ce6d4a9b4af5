"""Runs each fault several times, and checks its promises."""

import traceback
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final, TypeAlias

from rehearse.filesystems import require_mounts
from rehearse.machine import clocks, disks, states
from rehearse.machine.scene import Scene, Stage, stage
from rehearse.rehearsal import Extent, Row

RUNS: Final = 4
"""The number of runs in the long form. Each step of a clock comes once."""
Case: TypeAlias = Callable[[Scene, int], None]
"""A fault. Takes the number of the run, from 0. Raises AssertionError if a promise is not kept."""
CASES: Final[Mapping[str, Case]] = clocks.CASES | states.CASES | disks.CASES
"""Faults by name. Those of the disk come last, because not every user may mount one."""
_MAX_TOLD: Final = 3000
_SHORT: Final = (
    "the disk fills up while it runs",
    "the machine's host stops it for an hour",
    "the state is damaged at the start",
)


def rehearse(folder: Path, extent: Extent) -> Iterator[Row]:
    """Yield a row for each case; in the short form for some of them, which run once."""
    names = [name for name in CASES if extent.takes(name) and (name in _SHORT or not extent.short)]
    runs = 1 if extent.short else RUNS
    (folder / "prometheus").mkdir()
    with stage(folder / "prometheus") as found:
        for number, name in enumerate(names):
            if name in disks.CASES:
                require_mounts()
            yield _row(found, folder / str(number), name, CASES[name], runs)


def _row(stage: Stage, folder: Path, name: str, case: Case, runs: int) -> Row:
    refused, followed, broken = 0, list[float](), list[str]()
    for run in range(runs):
        own = folder / str(run)
        own.mkdir(parents=True)
        with stage.scene(own) as scene:
            try:
                case(scene, run)
            except Exception as failure:  # noqa: BLE001 - it is what the row is about
                told = "".join(traceback.format_exception(failure))  # an assertion here may have no other words
                broken.append(f"run {run}: {told[-_MAX_TOLD:]}")
            refused += scene.refused_cycles
            followed += scene.followed_seconds
    held = f"{refused} times nobody scaled; " if refused else ""
    return Row(
        runs,
        f"{name}: it is said, nothing is scaled that could not be remembered, then it goes on",
        f"{held}{len(followed)} times two loads followed, within {max(followed, default=0):.1f} s",
        broken,
    )
