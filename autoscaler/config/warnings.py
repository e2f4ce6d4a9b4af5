"""The warnings of `check`. They are also found in the right parts of a file that has errors."""

import os
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime
from itertools import permutations
from typing import Final

from autoscaler import model
from autoscaler.config.connections import Connections
from autoscaler.config.document import Loc, YamlDocument
from autoscaler.config.entries import Entries
from autoscaler.config.find_values import find_values
from autoscaler.config.judgement import expressions
from autoscaler.config.problems import Problems
from autoscaler.config.schedules import ScheduleEntry, entries_of
from autoscaler.config.settings import NotifySettings, PrometheusSource, UnknownExpression
from autoscaler.cron import joins_days_by_and
from autoscaler.errors import Problem
from autoscaler.net.files import unreadable_for_others, unwritable
from autoscaler.net.programs import unusable
from autoscaler.target import ExistingFile, Program, SharedFile

_EVER: Final = datetime.max.replace(tzinfo=UTC)


def absent_files(
    document: YamlDocument,
    sources: Mapping[str, PrometheusSource],
    connections: Connections,
    notify: NotifySettings | None,
) -> tuple[Problem, ...]:
    """The files that `run` must read and that cannot be read here."""
    warnings = Problems(document)
    sections: dict[Loc, object] = {("prometheus", name): source for name, source in sources.items()}
    sections |= {("adapters", name): section.settings for name, section in connections.sections.items()}
    sections[("notify",)] = notify
    for start, section in sections.items():
        for loc, file in find_values(section, ExistingFile, start):
            if not (os.access(file, os.R_OK) and file.is_file()):  # `is_file` raises where a folder is closed
                warnings.add(loc, f"{file} is missing or not readable here; `run` needs it")
    return tuple(sorted(warnings))


def found_hints(document: YamlDocument, entries: Entries, connections: Connections) -> tuple[Problem, ...]:
    """The warnings that `run` ignores, sorted."""
    hints = Problems(document)
    _add_unshared_files(hints, connections)
    _add_absent_programs(hints, entries, connections)
    _add_beyond_total(hints, entries, connections)
    _add_without_effect(hints, entries)
    _add_doubtful_days(hints, entries)
    _add_overlaps(hints, entries)
    _add_idle_schedules(hints, entries)
    return tuple(sorted(hints))


def _add_unshared_files(hints: Problems, connections: Connections) -> None:
    """Add the files for Prometheus that cannot be written here, or that another user cannot read."""
    for name, section in connections.sections.items():
        for loc, file in find_values(section.settings, SharedFile, ("adapters", name)):
            if problem := unwritable(file) or unreadable_for_others(file):
                hints.add(loc, problem)


def _add_absent_programs(hints: Problems, entries: Entries, connections: Connections) -> None:
    """Add the programs that would not run here. `run` starts without them, and what needs them fails."""
    sections: dict[Loc, object] = {("adapters", name): each.settings for name, each in connections.sections.items()}
    sections |= {("autoscalers", index): body for index, body in entries.autoscalers.items()}
    for start, section in sections.items():
        for loc, program in find_values(section, Program, start):
            if problem := unusable(program):
                hints.add(loc, f"{problem}; what needs it fails until then")


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


def _add_without_effect(hints: Problems, entries: Entries) -> None:
    """Add the warm-ups of autoscalers without samples of instances, and what only idle autoscalers use."""
    for index, body in entries.autoscalers.items():
        if not body.can_idle:
            message = f"it has no effect with minReplicas {body.min_replicas} and no idleReplicas; add idleReplicas: 0"
            if body.cooldown is not None:
                hints.add(("autoscalers", index, "cooldown"), message)
            for at in body.activations:
                key = "external" if body.metrics[at].external else "object"
                hints.add(("autoscalers", index, "metrics", at, key, "activation"), message)
        if body.warm_up and not any(True for metric in body.metrics for _ in metric.instance_queries()):
            message = "no metric has a sample for each instance, so a warm-up changes nothing; remove it"
            hints.add(("autoscalers", index, "warmUp"), message)


def _add_doubtful_days(hints: Problems, entries: Entries) -> None:
    """Add the cron expressions whose two day fields are joined by "and", where "or" is usual."""
    for key, section in (("schedules", entries.schedules), ("autoscalers", entries.autoscalers)):
        for loc, entry in find_values(section, ScheduleEntry, (key,)):
            for name, expression in (("cron", entry.cron), ("until", entry.until)):
                if expression is not None and joins_days_by_and(expression):
                    message = (
                        "a day must match both day fields, because one of them begins with `*`; write its days out, "
                        "as in 1-31/2, if a match of either is meant"
                    )
                    hints.add((*loc, name), message)


def _add_overlaps(hints: Problems, entries: Entries) -> None:
    """Add the schedules whose minimum is open at a time at which another's maximum is lower."""
    for number, body in entries.autoscalers.items():
        own = list(entries_of(body.schedules, entries.schedules))
        for (_, low), (index, high) in permutations(own, 2):
            minimum, maximum = low.min_replicas, high.max_replicas
            if minimum is None or maximum is None or minimum <= maximum:
                continue
            at = low.overlap(high)
            if at is not None:
                message = (
                    f"{low.name} and {high.name} are open together, as on {at:%Y-%m-%d at %H:%M} UTC; then minReplicas "
                    f"{minimum} takes precedence over maxReplicas {maximum}"
                )
                hints.add(("autoscalers", number, "schedules", index), message)


def _add_idle_schedules(hints: Problems, entries: Entries) -> None:
    """Add the entries of schedules that are never open, are always open, or set no bound that counts."""
    for number, body in entries.autoscalers.items():
        own = list(entries_of(body.schedules, entries.schedules))
        for index, entry in own:
            message = _why_idle(entry) or _why_without_effect(
                entry, body.min_replicas, body.max_replicas, len(own) == 1
            )
            if message:
                hints.add(("autoscalers", number, "schedules", index), f"{entry.name} {message}")


def _why_idle(entry: model.ScheduleEntry) -> str:
    if entry.cron is None:
        window = next(entry.openings(_EVER, _EVER), None)
        return "" if window else "is never open, because a change of the clock leaves out all of it; correct its times"
    if entry.until is not None and entry.until.split() == entry.cron.split():
        return "is always open, because `until` equals `cron`; correct one of them"
    return ""


def _why_without_effect(entry: model.ScheduleEntry, minimum: int, maximum: int, alone: bool) -> str:
    """Return why an entry changes nothing. `alone`: no other schedule can make a bound count that is the file's own."""
    low, high = entry.min_replicas, entry.max_replicas
    if low is not None and low < minimum and not entry.replace and high in (None, maximum):
        return (
            f"has no effect: minReplicas {low} is below the autoscaler's {minimum}; add `replace: true`, or remove it"
        )
    if alone and low in (None, minimum) and high in (None, maximum):
        return "has no effect: its bounds are the autoscaler's own; correct them, or remove it"
    return ""


def unknown_expressions(document: YamlDocument, entries: Entries) -> tuple[UnknownExpression, ...]:
    """The expressions that only their Prometheus can check."""
    found = []
    for loc, expression, source in expressions(entries):
        if expression.unknown is not None:
            warnings = Problems(document)
            warnings.add(loc, expression.unknown)
            found += [UnknownExpression(problem, source, expression.text) for problem in warnings]
    return tuple(found)
