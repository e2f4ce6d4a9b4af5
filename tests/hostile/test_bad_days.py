"""The short version of `make bench-hostile`: a good autoscaler beside hostile neighbours, bad day after bad day."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Final

import pytest

from bench.hostile import table
from bench.hostile.cases import SECTIONS
from bench.hostile.guarded import guarded_world
from bench.hostile.measure import Bounds
from bench.hostile.world import World, world

pytestmark = pytest.mark.slow

PERIOD_SECONDS: Final = 1.0
BOUNDS: Final = Bounds(in_time_ratio=0.5, followed_periods=10)
"""Other tests have the machine, too: time may be lost here, and nothing else."""


@pytest.mark.parametrize(
    ("opened", "guarded"), [pytest.param(world, False, id="open"), pytest.param(guarded_world, True, id="guarded")]
)
def test_a_good_autoscaler_follows_its_load_through_every_bad_day(
    tmp_path: Path, opened: Callable[..., AbstractContextManager[World]], guarded: bool
) -> None:
    """One daemon meets them all; of none may it lose a decision, or keep memory, log or state."""
    cases = [
        (section, case)
        for section, chosen in SECTIONS.items()
        for case in chosen
        if case.short and case.guarded is guarded
    ]
    with opened(tmp_path, PERIOD_SECONDS, BOUNDS, moves=1) as found:
        rows = [found.endure(section, case) for section, case in cases]
    lines = [line for row in rows if not row.clean for line in table.lines(row)]
    assert not lines, "\n".join(lines)
