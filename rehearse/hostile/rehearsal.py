"""Runs every bad day against one daemon, and those that need TLS and users against a second one."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Final, TypeAlias

from rehearse.hostile.case import Case
from rehearse.hostile.cases import SECTIONS
from rehearse.hostile.guarded import guarded_world
from rehearse.hostile.measure import Bounds
from rehearse.hostile.world import World, world
from rehearse.rehearsal import Extent, Row

_PERIOD_SECONDS: Final = 2.0
_BOUNDS_SHORT: Final = Bounds(in_time_ratio=0.1, followed_periods=60, heals_periods=60, answers_seconds=60)
"""Times that a busy machine keeps."""
Opened: TypeAlias = Callable[..., AbstractContextManager[World]]


def rehearse(folder: Path, extent: Extent) -> Iterator[Row]:
    """Yield a row for each day."""
    sections = {word.lower() for word in extent.sections}
    chosen = [
        case
        for section, cases in SECTIONS.items()
        if not sections or section.lower() in sections
        for case in cases
        if extent.takes(case.name) and (case.short or not extent.short)
    ]
    for opened, guarded in ((world, False), (guarded_world, True)):
        home = folder / opened.__name__
        home.mkdir()
        yield from rehearsed(home, opened, [case for case in chosen if case.guarded is guarded], short=extent.short)


def rehearsed(folder: Path, opened: Opened, cases: Sequence[Case], *, short: bool) -> Iterator[Row]:
    """Yield a row for each case, all in one world."""
    if not cases:
        return
    with opened(folder, _PERIOD_SECONDS, _BOUNDS_SHORT if short else Bounds(), moves=1 if short else 2) as found:
        for case in cases:
            yield found.endure(case)
