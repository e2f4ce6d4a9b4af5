"""Three daemons on one PostgreSQL, fault after fault: what becomes of their writes, and who takes over when."""

import signal
import statistics
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import msgspec

from tests.faults.hosts.life import Outcome, endure, planted
from tests.faults.hosts.moments import MOMENTS, Moment
from tests.faults.hosts.world import LEASE_SECONDS, running_world
from tests.faults.rehearsal import Row

RUNS: Final = 100
SIDE_BY_SIDE: Final = (
    ("kill -9", "SIGSTOP", "database restarted"),
    ("database cut off", "clock 10 min off", "started at once"),
)
"""Two worlds, in each one kind of fault after another: most of their time they wait."""
_SHORT: Final = (
    ("kill -9", MOMENTS.index(Moment.ANSWER)),
    ("SIGSTOP", MOMENTS.index(Moment.INTENT)),
    ("database cut off", 0),
)
_SHORT_LEASE_SECONDS: Final = 2.0
_STOPPED_WITHIN_SECONDS: Final = 60.0


def rehearse(folder: Path, short: bool) -> Iterator[Row]:
    """A row for each kind, and then those of all their writes and decisions together."""
    if short:
        with running_world(folder, seed=0, lease_seconds=_SHORT_LEASE_SECONDS) as world:
            outcomes: Sequence[Outcome] = [endure(world, "a fault of each of three kinds", _SHORT)]
            found = planted(world)
    else:
        outcomes = _side_by_side(folder)
        (folder / "planted").mkdir()
        with running_world(folder / "planted", seed=0) as world:
            found = planted(world)
    for outcome in outcomes:
        yield _of_kind(outcome, None if short else 2 * LEASE_SECONDS)
    yield from _of_all(outcomes)
    missed = [] if found else ["its writes were found to be in order"]
    yield Row(1, "the judge finds a daemon that writes without its lease", found[0] if found else "nothing", missed)


def _side_by_side(folder: Path) -> Sequence[Outcome]:
    worlds = []
    try:
        for number, kinds in enumerate(SIDE_BY_SIDE):
            out = folder / str(number)
            out.mkdir()
            words = [sys.executable, "-m", "tests.faults.hosts", str(out), str(100 * number), str(RUNS), *kinds]
            with (out / "output").open("wb") as output:
                worlds.append(subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=output, stderr=output))
        codes = [world.wait() for world in worlds]
    finally:
        for world in worlds:
            world.send_signal(signal.SIGTERM)
        for world in worlds:
            world.wait(_STOPPED_WITHIN_SECONDS)
    for number, code in enumerate(codes):
        assert code == 0, (folder / str(number) / "output").read_text()
    files = [folder / str(world) / f"{n}.json" for world, kinds in enumerate(SIDE_BY_SIDE) for n in range(len(kinds))]
    return [msgspec.json.decode(file.read_bytes(), type=Outcome) for file in files]


def _of_kind(outcome: Outcome, most: float | None) -> Row:
    """Who serves what after each fault. `most`: seconds that a takeover may take; None: the machine has other work."""
    if not outcome.takeovers:
        through = outcome.runs - len(outcome.stuck)
        return Row(
            outcome.runs, f"{outcome.kind}: all go on by themselves", f"{through} of {outcome.runs}", outcome.stuck
        )
    held = [each.held for each in outcome.takeovers]
    decided = [each.decided for each in outcome.takeovers]
    late = [f"{seconds:.1f} s" for seconds in held if most is not None and seconds > most]
    return Row(
        outcome.runs,
        f"{outcome.kind}: taken over" + ("" if most is None else f" within 2 x leaseDuration ({most:g} s)"),
        f"median {statistics.median(held):.1f} s, at most {max(held):.1f} s; decided again {_figures(decided)}",
        [*outcome.stuck, *late],
    )


def _figures(seconds: Sequence[float]) -> str:
    return f"after {statistics.median(seconds):.1f} s, at most {max(seconds):.1f} s"


def _of_all(outcomes: Sequence[Outcome]) -> Iterator[Row]:
    """Of what was written and decided under all kinds of faults."""
    runs = sum(each.runs for each in outcomes)
    accepted = sum(each.compared.accepted for each in outcomes)
    refused = sum(each.compared.refused for each in outcomes)
    broken = [f"{each.kind}: {text}" for each in outcomes for text in each.compared.broken]
    yield Row(
        runs,
        "no double write where the back end compares and sets (Nomad)",
        f"{len(broken)} of {accepted:,} writes; {refused} refused by Nomad",
        broken,
    )
    accepted = sum(each.uncompared.accepted for each in outcomes)
    late = sum(len(each.uncompared.late) for each in outcomes)
    broken = [f"{each.kind}: {text}" for each in outcomes for text in each.uncompared.broken]
    yield Row(
        runs,
        "where it does not (AWS), none but within the documented window",
        f"{late} of {accepted:,} writes within it, {len(broken)} outside",
        broken,
    )
    decisions = sum(each.decisions for each in outcomes)
    broken = [f"{each.kind}: {text}" for each in outcomes for text in each.decided_otherwise]
    yield Row(
        runs,
        "decisions are what decide gives from everything committed",
        f"{len(broken)} of {decisions:,} are not",
        broken,
    )
    changes = sum(each.changes for each in outcomes)
    broken = [f"{each.kind}: {text}" for each in outcomes for text in each.exceeded]
    yield Row(runs, "no window is forgotten, no policy exceeded", f"{len(broken)} of {changes:,} changes were", broken)
