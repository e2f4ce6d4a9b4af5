"""The short version of `make bench-hostile`: a good autoscaler beside hostile neighbours, bad day after bad day."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Final

import pytest

from bench.hostile import table
from bench.hostile.case import Case
from bench.hostile.cases import SECTIONS
from bench.hostile.guarded import guarded_world
from bench.hostile.measure import Bounds
from bench.hostile.world import World, world

pytestmark = pytest.mark.slow

PERIOD_SECONDS: Final = 1.0
BOUNDS: Final = Bounds(in_time_ratio=0.5, followed_periods=10)
"""Other tests have the machine, too: time may be lost here, and nothing else."""


def _short(section: str, *, guarded: bool = False) -> Sequence[tuple[str, Case]]:
    return [(section, case) for case in SECTIONS[section] if case.short and case.guarded is guarded]


@pytest.mark.parametrize(
    ("opened", "days"),
    [
        pytest.param(world, _short("Answers"), id="answers"),
        pytest.param(
            world,
            [day for section in SECTIONS if section != "Answers" for day in _short(section)],
            id="sockets, files, time and writes",
        ),
        pytest.param(guarded_world, _short("Sockets", guarded=True), id="users"),
    ],
)
def test_a_good_autoscaler_follows_its_load_through_every_bad_day(
    tmp_path: Path, opened: Callable[..., AbstractContextManager[World]], days: Sequence[tuple[str, Case]]
) -> None:
    """One daemon meets them all; on none may it lose a decision, or let memory, log or state grow."""
    with opened(tmp_path, PERIOD_SECONDS, BOUNDS, moves=1) as found:
        rows = [found.endure(section, case) for section, case in days]
    lines = [line for row in rows if not row.clean for line in table.lines(row)]
    assert not lines, "\n".join(lines)
