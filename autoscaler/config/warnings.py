"""The warnings of `check` and `run`. They are also found in the right parts of a file that has errors.

A daemon that does not start scales nothing. So `run` only warns of two errors of `check`: it sends what the offline
parser refuses, because the server may know it, and serves an autoscaler of which one metric never works, because the
others do.
"""

import os
from collections import Counter
from collections.abc import Iterator

from autoscaler.config.connections import Connections
from autoscaler.config.document import YamlDocument
from autoscaler.config.entries import Entries
from autoscaler.config.problems import Problems
from autoscaler.config.settings import NotifySettings, Syntax, UnknownExpression
from autoscaler.fields.find_values import Loc, find_values
from autoscaler.fields.promql import Expression
from autoscaler.fields.queries import DEFAULT_SOURCE, Reading
from autoscaler.fields.types import HintedSection
from autoscaler.net.files import unreadable_for_others, unwritable
from autoscaler.net.programs import unusable
from autoscaler.target import ExistingFile, Program, SharedFile


def add_warnings(
    absent: Problems, hints: Problems, entries: Entries, connections: Connections, notify: NotifySettings | None
) -> None:
    """Add to `absent` the files that `run` must read and that are empty, or cannot be read here.

    Adds to `hints` the warnings that `run` ignores, apart from those of rules.
    """
    sections: dict[Loc, object] = {("adapters", name): each.settings for name, each in connections.sections.items()}
    sections |= {("prometheus",): entries.sources, ("notify",): notify}
    sections |= {("schedules",): entries.schedules, ("autoscalers",): entries.autoscalers}
    for start, section in sections.items():
        for loc, value in find_values(section, (ExistingFile, SharedFile, Program, HintedSection), start):
            found = absent if isinstance(value, ExistingFile) else hints
            for place, message in _warnings(value):
                found.add((*loc, *place), message)
    _add_beyond_total(hints, entries, connections)


def _warnings(value: object) -> Iterator[tuple[Loc, str]]:
    """Yield what is probably wrong with a value, each with its place in it."""
    match value:
        case ExistingFile():
            if not (os.access(value, os.R_OK) and value.is_file()):  # `is_file` raises where a folder is closed
                yield (), f"{value} is missing or not readable here; `run` needs it"
            elif not value.stat().st_size:
                yield (), f"{value} is empty; `run` needs what it should hold"
        case SharedFile():  # Prometheus reads it, usually as another user
            if problem := unwritable(value) or unreadable_for_others(value):
                yield (), problem
        case Program():  # `run` starts without it
            if problem := unusable(value):
                yield (), f"{problem}; what needs it fails until then"
        case HintedSection():
            yield from (((key,), message) for key, message in value.hints())


def _add_beyond_total(hints: Problems, entries: Entries, connections: Connections) -> None:
    """Add the connections whose autoscalers have minimums that sum to more than maxTotal."""
    minimums = Counter[str]()
    for body in entries.autoscalers.values():
        minimums[body.scale_target_ref.adapter] += body.min_replicas
    for name, limits in connections.limits.items():
        if limits.max_total is not None and minimums[name] > limits.max_total:
            message = (
                f"the minReplicas of its autoscalers sum to {minimums[name]}, and minReplicas takes precedence over "
                "maxTotal; raise it"
            )
            hints.add(("adapters", name, "maxTotal"), message)


def unknown_expressions(document: YamlDocument, entries: Entries) -> tuple[UnknownExpression, ...]:
    """The expressions that only their Prometheus can check."""
    found = []
    for loc, expression, source in expressions(entries):
        if expression.unknown is not None:
            warnings = Problems(document)
            warnings.add(loc, expression.unknown)
            found += [UnknownExpression(problem, source, expression.text) for problem in warnings]
    return tuple(found)


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
