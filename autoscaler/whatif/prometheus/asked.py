"""What Prometheus is asked of an autoscaler's past: its own queries, and the size that its target had."""

from collections.abc import Sequence
from dataclasses import replace

from autoscaler.model import Autoscaler, Query
from autoscaler.observe.plan import Question, queries_of, with_queries
from autoscaler.observe.planner import can_be_written, narrowing
from autoscaler.observe.selectors import Matcher


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
    matcher = Matcher("autoscaler", "=", scaler.name)
    return Question(source, f"max(autoscaler_current_replicas{{{matcher}}})")  # two daemons tell it during a takeover
