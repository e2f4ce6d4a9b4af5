"""What `check` calls an error in the queries of a file, and `run` only warns of.

A daemon that does not start scales nothing. So `run` sends what the offline parser refuses, because the server may know
it, and serves an autoscaler of which one metric never works, because the others do.
"""

from collections.abc import Iterator

from autoscaler.config.entries import Entries
from autoscaler.config.problems import Problems
from autoscaler.config.settings import Syntax
from autoscaler.fields.find_values import Loc, find_values
from autoscaler.fields.promql import Expression
from autoscaler.fields.queries import DEFAULT_SOURCE, Reading


def expressions(entries: Entries) -> Iterator[tuple[Loc, Expression, str]]:
    """Yield each expression with its place and the name of its source."""
    for key, section in (("queries", entries.queries), ("autoscalers", entries.autoscalers)):
        for loc, query in find_values(section, Reading, (key,)):
            if query.expr is not None:
                yield (*loc, "expr"), query.expr, query.prometheus or DEFAULT_SOURCE


def add_refused(problems: Problems, entries: Entries) -> None:
    """Add the expressions that the offline parser refuses, unless their source has a syntax that it does not know."""
    for loc, expression, name in expressions(entries):
        source = entries.sources.get(name)
        if expression.refused is not None and (source is None or source.syntax is Syntax.PROMQL):
            problems.add(loc, expression.refused)


def add_without_instance(problems: Problems, entries: Entries) -> None:
    """Add the queries whose samples belong to no instance, although each instance needs one."""
    for index, body in entries.autoscalers.items():
        for at, metric in enumerate(body.metrics):
            for loc, query in metric.instance_queries():
                if problem := query.names_no_instance(entries.queries):
                    place = ("autoscalers", index, "metrics", at, *loc, "expr" if query.ref is None else "ref")
                    problems.add(place, problem)
