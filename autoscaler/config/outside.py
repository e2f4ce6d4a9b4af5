"""Reads autoscalers that are not in the main file, under a grant.

For a team's file, and for any other source of autoscalers: write them as a YAML list in the form of the file's
`autoscalers`, and call `read_outside` with the grant that applies. What it returns may be served beside `settings`, as
far as names, targets and the budget of queries are free (`origins.py`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Final, TypeAlias

from pydantic import AfterValidator, ConfigDict, PlainValidator
from pydantic.json_schema import SkipJsonSchema

from autoscaler import model
from autoscaler.config.connections import Connections
from autoscaler.config.document import YamlDocument
from autoscaler.config.entries import Entries
from autoscaler.config.grants import Grant, queries_of
from autoscaler.config.problems import Problems
from autoscaler.config.rules import check_autoscalers, check_rules
from autoscaler.config.sections import Autoscaler
from autoscaler.config.settings import Settings
from autoscaler.config.warnings import add_refused, add_without_instance
from autoscaler.errors import ConfigError, Problem
from autoscaler.fields.promql import Parser
from autoscaler.fields.types import Flag, Scope
from autoscaler.target import load

MAX_VALUES: Final = 50_000
"""Keys and values of one grant's autoscalers: a thousand or two. They bound what these cost in a cycle."""
TOO_MANY: Final = f"a grant's autoscalers have at most {MAX_VALUES:,} keys and values, with aliases; shorten them"
_KEY: Final = "autoscalers"


def _refuse(_: Any) -> None:
    raise ValueError("only the main file may set it; remove it")


def _only_true(value: bool) -> bool:
    if not value:
        raise ValueError("only the main file makes an autoscaler scale; write true, or remove it")
    return True


_Refused: TypeAlias = SkipJsonSchema[Annotated[None, PlainValidator(_refuse)]]


class OutsideAutoscaler(Autoscaler):
    """An autoscaler that is not in the main file."""

    model_config = ConfigDict(defer_build=True)  # most daemons read none, and the build takes memory

    dry_run: Annotated[Flag, AfterValidator(_only_true)] = False
    """true: decide and log, write nothing. The main file may say so, too."""
    sync_period: _Refused = None
    drain: _Refused = None


@dataclass(frozen=True, slots=True)
class Granted:
    """An autoscaler that its grant allows."""

    scaler: model.Autoscaler
    """With the grant's labels and ceiling."""
    target: model.TargetRef
    """With the connection's defaults written out."""
    queries: frozenset[tuple[str, str, bool]]
    """What counts towards the grant's `maxQueries`."""
    values: int
    """Its keys and values in the text, with all aliases written out: what it may cost in a cycle."""
    line: int
    column: int
    capped: str = ""
    """What the grant's ceiling changes; empty: no maxReplicas is above it."""


@dataclass(slots=True)
class Effort:
    """Limits what reading the texts of one grant takes, before anything in them is checked."""

    expressions: Parser = field(default_factory=Parser)
    values: int = MAX_VALUES


def read_outside(
    text: str,
    file: str,
    grant: Grant,
    settings: Settings,
    effort: Effort | None = None,
    head: Mapping[str, Any] | None = None,
) -> tuple[Granted, ...]:
    """Return the autoscalers in `text`, which is a YAML list. Raises ConfigError with every problem.

    `file`: the name of the text in messages. `settings`: the main file's; the text may refer to its connections,
    sources, shared queries and shared schedules. `effort`: a limit that several texts share. `head`: if given,
    the text is a mapping instead, with the other keys of a single autoscaler.
    """
    effort = effort or Effort()
    document = YamlDocument(text, file, stands_at=(_KEY,) if head is None else (_KEY, 0))
    raw = document.value if head is None else [_behind(head, document)]
    if not isinstance(raw, list):
        what = "the file is empty" if raw is None else "the file is not a list of autoscalers"
        raise ConfigError([Problem(file, *document.place(()), "", f"{what}; write a list, as in `- name: web`, or []")])
    effort.values -= _values(raw)
    if effort.values < 0:
        raise ConfigError([Problem(file, 1, 1, "", TOO_MANY)])
    shared, problems = settings.shared, Problems(document)
    types = {name: load(section.type) for name, section in settings.adapters.items()}
    connections = Connections(types, settings.adapters, settings.limits)
    scope: Scope = {
        "folder": settings.path.absolute().parent,
        "prometheus": frozenset(settings.prometheus),
        "queries": {name: {"expr": query.expr.text} for name, query in shared.queries.items()},
        "expressions": effort.expressions,
        "adapters": types,
        "schedules": shared.schedules,
    }
    found = {at: problems.read(OutsideAutoscaler, each, (_KEY, at), scope) for at, each in enumerate(raw)}
    bodies = {at: body for at, body in found.items() if body is not None}
    check_autoscalers(raw, connections, document, problems)
    entries = Entries(settings.prometheus, shared.queries, dict(bodies), shared.schedules)
    check_rules(entries, problems)
    add_refused(problems, replace(entries, queries={}))
    add_without_instance(problems, entries)
    granted, options = [], shared.controller.options()
    for at, body in bodies.items():
        scaler = body.spec(shared.controller, options, shared.queries, shared.schedules)
        section = settings.adapters[scaler.target.adapter]
        target = types[scaler.target.adapter].canonical(scaler.target, section.settings)
        for loc, message in grant.refusals(scaler, target):
            problems.add((_KEY, at, *loc), message)
        if body.dry_run and section.one_host:
            problems.add((_KEY, at, "dryRun"), "only the main file makes the connection's targets dry runs; remove it")
        place = document.place((_KEY, at, "name"))
        written, ceiling = scaler.max_replicas, grant.max_replicas
        capped = f"maxReplicas {written} counts as {ceiling}, the grant's; lower it, or ask for a higher one"
        capped = capped if written > ceiling else ""
        restricted, queries = grant.restricted(scaler), queries_of(scaler)
        granted.append(Granted(restricted, target, queries, _values(raw[at]), *place, capped))
    if any(problems):
        raise ConfigError(list(problems))
    return tuple(granted)


def _behind(head: Mapping[str, Any], document: YamlDocument) -> Mapping[str, Any]:
    """Return the keys of `head`, and behind them those of the document, which is a mapping. Raises ConfigError."""
    body, place = document.value, document.file
    if not isinstance(body, dict):
        message = "expected a mapping with the keys of an autoscaler; write it as in `maxReplicas: 5`"
        raise ConfigError([Problem(place, *document.place(()), "", message)])
    given = [key for key in head if key in body]
    if given:
        message = "is made of the target's name; remove it"
        raise ConfigError([Problem(place, *document.place((_KEY, 0, key), of_key=True), key, message) for key in given])
    return {**head, **body}


def _values(value: Any) -> int:
    """Return the number of keys and values in a value."""
    if isinstance(value, dict):
        return 1 + sum(1 + _values(each) for each in value.values())
    return 1 + sum(map(_values, value)) if isinstance(value, list) else 1
