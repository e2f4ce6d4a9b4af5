"""Lines below `autoscaler get` about pauses, overrides and refused reloads."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Final

from autoscaler.cli.tables.steering import asked, bounds, scope
from autoscaler.layout import moment
from autoscaler.text import clean, count
from autoscaler.view.status import ReloadStatus
from autoscaler.view.summary import Summary

_MAX_NOTED: Final = 10
"""Autoscalers with lines; the last line counts the others."""


def notes(found: Sequence[Summary], refused: ReloadStatus | None, now: datetime, *, led: bool = True) -> list[str]:
    """Return a line about the last reload if it was refused, then the lines of each autoscaler.

    `led`: whether a daemon leads.
    """
    lines = [] if led else ["no daemon leads, so sizes stay as they are; `autoscaler status` lists those that run"]
    lines += [] if refused is None else [_reload(refused, now)]
    noted = [each for each in found if each.steering.pause or each.steering.override]
    for each in noted[:_MAX_NOTED]:
        lines += [f"{clean(each.name)}: {clean(text)}" for text in _of(each, now)]
    if len(noted) > _MAX_NOTED:
        lines.append(f"and {len(noted) - _MAX_NOTED} more; `autoscaler get -o wide` shows them")
    return lines


def _of(summary: Summary, now: datetime) -> Iterator[str]:
    pause, override = summary.steering.pause, summary.steering.override
    if pause is not None:
        yield f"{scope(pause)} is paused {asked(pause, now)}"
    if override is not None:
        yield f"its bounds are overridden ({bounds(override)}) {asked(override, now)}"


def _reload(refused: ReloadStatus, now: datetime) -> str:
    at = moment(refused.at, now)
    others = refused.problems - 1
    more = f"; and {count(others, 'more problem')}" if others > 0 else ""
    problem = clean(refused.problem or "")
    return f"the reload at {at} was refused, and the previous configuration stays in force: {problem}{more}"
