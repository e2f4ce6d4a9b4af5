"""Lines below `autoscaler get` about failures, pauses, overrides and refused reloads."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Final

from autoscaler.cli.tables.steering import asked, bounds, scope
from autoscaler.quantity import format_age
from autoscaler.text import clean, count
from autoscaler.view.status import ReloadStatus
from autoscaler.view.summary import Summary

_MAX_NOTED: Final = 10
"""Autoscalers with lines; the last line counts the others."""


def notes(
    found: Sequence[Summary], refused: ReloadStatus | None, now: datetime, *, errors: bool = True, led: bool = True
) -> list[str]:
    """Return a line about the last reload if it was refused, then the lines of each autoscaler.

    `errors`: whether to include failures, which a wide table shows itself. `led`: whether a daemon leads.
    """
    lines = [] if led else ["no daemon leads, so sizes stay as they are; `autoscaler status` lists those that run"]
    lines += [] if refused is None else [_reload(refused, now)]
    noted = [each for each in found if _has_note(each, errors=errors)]
    for each in noted[:_MAX_NOTED]:
        lines += [f"{clean(each.name)}: {clean(text)}" for text in _of(each, now, errors=errors)]
    if len(noted) > _MAX_NOTED:
        lines.append(f"and {len(noted) - _MAX_NOTED} more; `autoscaler get -o wide` shows them")
    return lines


def _has_note(summary: Summary, *, errors: bool) -> bool:
    steering = summary.steering
    return bool(_failures(summary, errors=errors) or steering.pause or steering.override)


def _failures(summary: Summary, *, errors: bool) -> Sequence[str]:
    """Return the texts about missing samples, the target's warning and the failure.

    A wide table's last column has the last of them.
    """
    known = [each for each in (summary.unmeasured, summary.problem, summary.error) if each]
    return known if errors else known[:-1]


def _of(summary: Summary, now: datetime, *, errors: bool) -> Iterator[str]:
    pause, override = summary.steering.pause, summary.steering.override
    if pause is not None:
        yield f"{scope(pause)} is paused {asked(pause, now)}"
    if override is not None:
        yield f"its bounds are overridden ({bounds(override)}) {asked(override, now)}"
    yield from _failures(summary, errors=errors)


def _reload(refused: ReloadStatus, now: datetime) -> str:
    at = f"{refused.at.astimezone():%H:%M:%S} ({format_age(now - refused.at)} ago)"
    others = refused.problems - 1
    more = f"; and {count(others, 'more problem')}" if others > 0 else ""
    problem = clean(refused.problem or "")
    return f"the reload at {at} was refused, and the previous configuration stays in force: {problem}{more}"
