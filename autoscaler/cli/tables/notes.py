"""Lines below `autoscaler get` about overrides and refused reloads. The column WHY tells of a pause."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from autoscaler.cli.tables.steering import asked
from autoscaler.layout import moment
from autoscaler.text import clean, count
from autoscaler.view.status import ReloadStatus
from autoscaler.view.summary import Summary

_MAX_NOTED: Final = 10
"""Overrides with a line; the last line counts the others."""


def notes(found: Sequence[Summary], refused: ReloadStatus | None, now: datetime, *, led: bool = True) -> list[str]:
    """Return a line about the last reload if it was refused, then one for each override.

    `led`: whether a daemon leads.
    """
    lines = [] if led else ["no daemon leads, so sizes stay as they are; `autoscaler status` lists those that run"]
    lines += [] if refused is None else [_reload(refused, now)]
    noted = [(clean(each.name), given) for each in found if (given := each.steering.override) is not None]
    for name, given in noted[:_MAX_NOTED]:
        lines.append(f"{name}: its bounds are overridden ({given.bounds}) {clean(asked(given, now))}")
    if len(noted) > _MAX_NOTED:
        lines.append(f"and {len(noted) - _MAX_NOTED} more; `autoscaler get -o wide` shows them")
    return lines


def _reload(refused: ReloadStatus, now: datetime) -> str:
    at = moment(refused.at, now)
    others = refused.problems - 1
    more = f"; and {count(others, 'more problem')}" if others > 0 else ""
    problem = clean(refused.problem or "")
    return f"the reload at {at} was refused, and the previous configuration stays in force: {problem}{more}"
