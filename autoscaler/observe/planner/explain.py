"""The output of `autoscaler check --plan`."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from autoscaler.observe.planner.query import PlannedQuery

_MAX_SHOWN: Final = 300
"""Longest query shown, in characters."""


def lines(queries: Sequence[PlannedQuery]) -> Iterator[str]:
    """Yield the queries that will be sent, and why some are not merged."""
    merged = [query for query in queries if query.form]
    written = [query for query in queries if not query.form]
    asked = sum(len(list(query.questions)) for query in queries)
    yield f"{_count(asked, 'question')} in {_count(len(queries), 'query', 'queries')}"
    for query in merged:
        yield ""
        yield from _merged(query)
    for reason in dict.fromkeys(query.reason for query in written):
        yield ""
        yield from _written(reason, [query for query in written if query.reason == reason])


def _merged(query: PlannedQuery) -> Iterator[str]:
    form = query.form
    labels = " and ".join(form.labels) if form else ""
    count = _count(sum(map(len, query.members.values())), "question")
    yield f"prometheus {query.prometheus}: {count} merged, split by {labels}:"
    yield f"  {_shown(query.expr)}"
    for key in (min(query.members), max(query.members)):
        yield f"  among them: {_shown(query.members[key][0].expr)}"


def _written(reason: str, queries: Iterable[PlannedQuery]) -> Iterator[str]:
    found = list(queries)
    yield f"as written, {len(found)}: {reason}"
    for query in found:
        yield f"  prometheus {query.prometheus}: {_shown(query.expr)}"


def _count(number: int, one: str, many: str | None = None) -> str:
    return f"{number} {one}" if number == 1 else f"{number} {many or one + 's'}"


def _shown(expr: str) -> str:
    """Format an expression on one line."""
    text = " ".join(expr.split())
    return text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}… ({len(text)} characters)"
