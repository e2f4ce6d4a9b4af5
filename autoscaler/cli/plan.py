"""`autoscaler check --plan`: shows the queries that the daemon will send, and why they are not fewer."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from autoscaler.config.settings import Settings
from autoscaler.model import Autoscaler
from autoscaler.observe.plan import questions
from autoscaler.observe.planner.query import PlannedQuery
from autoscaler.observe.queries import Queries
from autoscaler.quantity import format_duration
from autoscaler.text import count

_MAX_SHOWN: Final = 300
"""Longest query shown, in characters."""


def plan_lines(settings: Settings) -> Iterator[str]:
    """Yield the plan of each batch: the autoscalers of one connection and sync period, which are observed together."""
    batches: dict[tuple[str, str], list[Autoscaler]] = {}
    for scaler in settings.autoscalers:
        key = scaler.target.adapter, format_duration(scaler.sync_period)
        batches.setdefault(key, []).append(scaler)
    queries = Queries()
    for (adapter, period), scalers in batches.items():
        yield ""
        found = queries.plan(questions(scalers), settings.prometheus, {})
        first, *rest = lines(found)
        yield f"adapter {adapter}, every {period}: {first}"
        for line in rest:
            yield f"  {line}" if line else ""


def lines(queries: Sequence[PlannedQuery]) -> Iterator[str]:
    """Yield the queries that will be sent, and why some are not merged."""
    merged = [query for query in queries if query.form]
    written = [query for query in queries if not query.form]
    asked = sum(len(list(query.questions)) for query in queries)
    yield f"{count(asked, 'question')} in {count(len(queries), 'query', 'queries')}"
    for query in merged:
        yield ""
        yield from _merged(query)
    for reason in dict.fromkeys(query.reason for query in written):
        yield ""
        yield from _written(reason, [query for query in written if query.reason == reason])


def _merged(query: PlannedQuery) -> Iterator[str]:
    form = query.form
    labels = " and ".join(form.labels) if form else ""
    asked = count(sum(map(len, query.members.values())), "question")
    yield f"prometheus {query.prometheus}: {asked} merged, split by {labels}:"
    yield f"  {_shown(query.expr)}"
    for key in (min(query.members), max(query.members)):
        yield f"  among them: {_shown(query.members[key][0].expr)}"


def _written(reason: str, queries: Iterable[PlannedQuery]) -> Iterator[str]:
    found = list(queries)
    yield f"as written, {len(found)}: {reason}"
    for query in found:
        yield f"  prometheus {query.prometheus}: {_shown(query.expr)}"


def _shown(expr: str) -> str:
    """Format an expression on one line."""
    text = " ".join(expr.split())
    return text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}… ({len(text)} characters)"
