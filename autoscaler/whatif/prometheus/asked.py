"""What Prometheus is asked of an autoscaler's past: its own queries, and what tells of its instances and its size."""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Final

from autoscaler.config.kept_labels import INSTANCE_LABELS
from autoscaler.model import Autoscaler, Query
from autoscaler.observe.plan import Question, queries_of, with_queries
from autoscaler.observe.planner import can_be_written, narrowing
from autoscaler.observe.selectors import Matcher, Selector, selectors
from autoscaler.quantity import format_duration

_MOST_SELECTORS: Final = 4
"""Of an expression, that are asked about."""
_MOST_JOBS: Final = 50
_COUNTERS: Final = ("rate", "irate", "increase")
"""Functions that only make sense of counters."""


def as_asked(scaler: Autoscaler, prometheus: str | None) -> Autoscaler:
    """The same with the queries that are sent: of a shared one, only this autoscaler's samples where that is possible.

    `prometheus`: the source that is asked in place of the queries' own.
    """

    def change(query: Query) -> Query:
        for label, value in query.match:
            if can_be_written(value) and (narrowed := narrowing(query.expr, label)) is not None:
                query = replace(query, expr=narrowed.to(value))
        return replace(query, prometheus=prometheus or query.prometheus)

    return with_queries(scaler, change)


def sources_of(scaler: Autoscaler) -> Sequence[str]:
    """The names of the sources that its queries are for, in the order of its queries."""
    return list(dict.fromkeys(query.prometheus for query in queries_of(scaler)))


def own_size(scaler: Autoscaler, source: str) -> Question:
    """The size that the daemon read in its last cycle, as its /metrics has it."""
    return Question(source, f"autoscaler_current_replicas{_with('autoscaler', '=', scaler.name)}")


def presence(query: Query) -> Iterator[Question]:
    """When the series that an expression reads had samples: a range in it looks back, these do not."""
    for selector in selectors(query.expr)[:_MOST_SELECTORS]:
        yield Question(query.prometheus, f"group by ({_labels(query)}) ({selector})")


def resets(query: Query) -> Iterator[Question]:
    """When the counters that an expression reads began anew."""
    for selector in _counters(query):
        if selector.range is not None:
            counted = f"resets({selector}[{format_duration(selector.range)}])"
            yield Question(query.prometheus, f"sum by ({_labels(query)}) ({counted}) > 0")


def scrapes(source: str, jobs: Collection[str]) -> Question:
    """Whether the scrapes of these jobs' targets worked."""
    return Question(source, f"up{_of_jobs(jobs)}")


def any_scrape(source: str, jobs: Collection[str], within: timedelta) -> Question:
    """Has a sample where any of them was scraped within such a time: of an older one `up` still has its sample.

    `timestamp(up)` would say it exactly, and takes Prometheus a hundred times as long over a range.
    """
    return Question(source, f"count(count_over_time(up{_of_jobs(jobs)}[{format_duration(within)}]))")


def _counters(query: Query) -> Iterator[Selector]:
    for selector in selectors(query.expr)[:_MOST_SELECTORS]:
        if selector.function in _COUNTERS:
            yield selector


def _labels(query: Query) -> str:
    """That may name an instance, and by which its scrapes are known."""
    return ", ".join(
        dict.fromkeys([*([query.instance_label] if query.instance_label else []), *INSTANCE_LABELS, "job"])
    )


def _of_jobs(jobs: Collection[str]) -> str:
    return _with("job", "=~", "|".join(re.escape(job) for job in sorted(jobs)[:_MOST_JOBS]))


def _with(label: str, operator: str, value: str) -> str:
    return "{" + str(Matcher(label, operator, value)) + "}"
