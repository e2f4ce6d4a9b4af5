"""`autoscaler tune`: the best combinations, the choice beside the configuration, and a verdict."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Final

from autoscaler.layout import BOLD, Screen, Table
from autoscaler.quantity import format_age
from autoscaler.text import clean
from autoscaler.whatif.changes import Change
from autoscaler.whatif.documents.measured import hours_text, instance_times_text
from autoscaler.whatif.documents.tuning import CandidateDocument, PartDocument, ScoreDocument, TuningDocument

_MOST: Final = 12
"""Combinations in the table."""


def tuning_lines(found: TuningDocument, screen: Screen) -> Iterator[str]:
    """The whole result, without the YAML."""
    yield screen.paint(BOLD, clean(found.name))
    yield (
        f"{len(found.tried)} of {found.combinations:,} combinations tried, seed {found.seed}; history from the "
        f"{found.origin}, at most {_percent(found.limit)} of the demand unserved"
    )
    yield instance_times_text([(found.name, found.start_up)], found.termination)
    if found.saturated_seconds:
        yield (
            f"{format_age(timedelta(seconds=found.saturated_seconds))} are left out: the target was at its maximum and "
            "above target, so more may have been needed than was measured"
        )
    for note in found.notes:
        yield clean(note)
    yield ""
    yield from _front(found, screen)
    yield ""
    yield from _parts(found, screen)
    yield ""
    yield from _verdict(found)


def _verdict(found: TuningDocument) -> Iterator[str]:
    """What to do with the result, in sentences."""
    limit, left = _percent(found.limit), _percent(found.held_back.choice.unserved)
    if found.short_history:
        length = format_age(found.searched.until - found.searched.since)
        yield f"Warning: the history spans {length}, less than a day, so the load of a whole day is not in it."
    if not found.keeps_limit:
        yield f"No candidate keeps the limit of {limit}; the choice is the nearest to it."
    if not found.choice:
        yield "No candidate is better than the configuration."
        return
    worst, blocks = found.blocks[found.worst], len(found.blocks)
    yield (
        f"In the worst of the {blocks} blocks that were held back, {_time(worst.since)} to {_time(worst.until)}, the "
        f"choice leaves {_percent(worst.choice.unserved)} of the demand unserved, the configuration "
        f"{_percent(worst.in_force.unserved)}."
    )
    if found.refuted:
        yield (
            f"Keep what you have: in all that was held back the choice leaves {left} of the demand unserved, and the "
            f"configuration {_percent(found.held_back.in_force.unserved)}. The limit is {limit}. Look further back "
            "with --since."
        )
    elif found.keeps_limit and not found.keeps_limit_held_back:
        yield f"Note: in all that was held back the choice leaves {left} unserved, over the limit of {limit}."


def _percent(share: float) -> str:
    """A share as `1.25%`."""
    return f"{share * 100:.3g}%"


def _front(found: TuningDocument, screen: Screen) -> Iterator[str]:
    rows = [
        (
            "choice" if each.choice else "now" if not each.settings else "",
            hours_text(each.instance_hours),
            _percent(each.unserved),
            str(each.changes),
            _settings(each.settings),
        )
        for each in _around(found)
    ]
    yield from Table(("BEST", "INSTANCE-HOURS", "UNSERVED", "CHANGES", "SETTINGS"), screen).lines(rows)
    if len(found.front) > len(rows):
        yield f"and {len(found.front) - len(rows)} more; -o json has them all"


def _around(found: TuningDocument) -> Sequence[CandidateDocument]:
    """The combinations that are nearest to the limit, by cost."""
    nearest = sorted(found.front, key=lambda each: abs(each.unserved - found.limit))[:_MOST]
    return [each for each in found.front if each in nearest]


def _settings(changes: Sequence[Change]) -> str:
    return ", ".join(clean(f"{_short(each.path)} {each.after}") for each in changes) or "as they are"


def _short(path: str) -> str:
    """A key without its common parts: `scaleDown.tolerance`, `cpu averageUtilization`."""
    path = path.removeprefix("behavior.")
    if path.startswith("metrics["):
        name, _, rest = path.removeprefix("metrics[").partition("]")
        return f"{name} {rest.rpartition('.')[2]}"
    return path


def _parts(found: TuningDocument, screen: Screen) -> Iterator[str]:
    rows = list[tuple[str, ...]]()
    for title, part in (("searched", found.searched), ("held back", found.held_back)):
        when = f"{title}, {_time(part.since)} to {_time(part.until)}"
        rows.append((when, "now", *_score(part.in_force), ""))
        rows.append(("", "choice", *_score(part.choice), _saved(part)))
    yield from Table(("HISTORY", "", "INSTANCE-HOURS", "UNSERVED", "CHANGES", ""), screen).lines(rows)


def _score(score: ScoreDocument) -> tuple[str, str, str]:
    return hours_text(score.instance_hours), _percent(score.unserved), str(score.changes)


def _saved(part: PartDocument) -> str:
    before, after = part.in_force.instance_hours, part.choice.instance_hours
    if not before or before == after:
        return ""
    return f"{abs(after / before - 1) * 100:.1f}% {'fewer' if after < before else 'more'} instance-hours"


def _time(at: datetime) -> str:
    return at.astimezone().isoformat(sep=" ", timespec="minutes")[:16]
