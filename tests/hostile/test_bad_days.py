"""The short version of `make bench-hostile`: a good autoscaler beside hostile neighbours, bad day after bad day."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.faults.hostile.case import Case
from tests.faults.hostile.cases import SECTIONS
from tests.faults.hostile.guarded import guarded_world
from tests.faults.hostile.rehearsal import Opened, rehearsed
from tests.faults.hostile.world import world
from tests.faults.rehearsal import held

pytestmark = pytest.mark.slow


def _short(*sections: str, guarded: bool = False) -> Sequence[Case]:
    return [case for name in sections for case in SECTIONS[name] if case.short and case.guarded is guarded]


@pytest.mark.parametrize(
    ("opened", "days"),
    [
        pytest.param(world, _short("Answers"), id="answers"),
        pytest.param(
            world, _short(*[name for name in SECTIONS if name != "Answers"]), id="sockets, files, time and writes"
        ),
        pytest.param(guarded_world, _short("Sockets", guarded=True), id="users"),
    ],
)
def test_a_good_autoscaler_follows_its_load_through_every_bad_day(
    tmp_path: Path, opened: Opened, days: Sequence[Case]
) -> None:
    """One daemon runs through all. On no day may it lose a decision, or let memory, log or state grow."""
    held(rehearsed(tmp_path, opened, days, short=True))
