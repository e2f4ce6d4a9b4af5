"""Compares the result of a scenario with the expectations of its test."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Final

from autoscaler.quantity import format_duration
from autoscaler.scenarios.file import Claim, Expectation
from autoscaler.scenarios.run import Seen
from autoscaler.scenarios.scenario import Expected
from autoscaler.scenarios.times import Start

_MAX_LISTED: Final = 20


@dataclass(frozen=True, slots=True)
class Failure:
    """An expectation that was not met."""

    expected: Expected
    at: str
    """The time, for readers."""
    wanted: str
    got: str
    seen: Seen
    """The moment, whose last decision explains it."""

    def __str__(self) -> str:
        return f"{self.expected.autoscaler} at {self.at}: expected {self.wanted}, got {self.got}"


def failure(expected: Expected, seen: Sequence[Seen], start: Start) -> Failure | None:
    """Return how an expectation was not met, or None if it was. `seen`: its autoscaler's, in order of time."""
    what = expected.what
    first = bisect_left(seen, expected.begin, key=attrgetter("at"))
    during = seen[first : bisect_right(seen, expected.end, key=attrgetter("at"))]
    if what.at is not None:
        if any(_unmet(what, each) is None for each in during):
            return None
        last = during[-1]
        wanted, got = _unmet(what, last) or ("", "")
        if what.within is not None:
            wanted += f" within {format_duration(what.within)} of {start.text(expected.begin)}"
        return Failure(expected, start.text(last.at), wanted, got, last)
    if what.changes is not None:
        return _changes(expected, during, start)
    claim, is_always = (what.never, False) if what.always is None else (what.always, True)
    wrong = next((each for each in during if claim is not None and _holds(claim, each) is not is_always), None)
    if claim is None or wrong is None:
        return None
    wanted = f"{'always' if is_always else 'never'} {claim}"
    return Failure(expected, start.text(wrong.at), wanted, f"{_number(claim, wrong)}", wrong)


def _unmet(what: Expectation, seen: Seen) -> tuple[str, str] | None:
    """Return what was expected of a moment and what was there, or None if all of it was."""
    wanted, got = list[str](), list[str]()
    for word, bound, number in (("size", what.size, seen.size), ("ready", what.ready, seen.ready)):
        if bound is not None and not bound.holds(number):
            wanted.append(f"{word} {bound}")
            got.append(f"{word} {number}")
    if what.reason is not None and what.reason not in seen.reasons:
        wanted.append(f"reason {what.reason}")
        got.append(", ".join(seen.reasons) or "no decision")
    return (" and ".join(wanted), " and ".join(got)) if wanted else None


def _changes(expected: Expected, during: Sequence[Seen], start: Start) -> Failure | None:
    made = [each for each in during if each.written is not None]
    bound = expected.what.changes
    if bound is None or bound.holds(len(made)):
        return None
    listed = "; ".join(f"to {each.written} at {start.text(each.at)}" for each in made[:_MAX_LISTED])
    last = made[-1] if made else during[-1]
    return Failure(expected, start.text(last.at), f"changes {bound}", f"{len(made)}: {listed or 'none'}", last)


def _number(claim: Claim, seen: Seen) -> int:
    return seen.size if claim.subject == "size" else seen.ready


def _holds(claim: Claim, seen: Seen) -> bool:
    return claim.bound.holds(_number(claim, seen))
