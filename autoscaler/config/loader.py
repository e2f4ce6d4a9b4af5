"""From a file to settings, or to everything that is wrong with it."""

import gc
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, ValidationError

from autoscaler.config.brakes import Brakes
from autoscaler.config.connections import Connections, read_connections, type_of
from autoscaler.config.document import Loc, YamlDocument
from autoscaler.config.fields import Scope, suggest
from autoscaler.config.problems import Problems
from autoscaler.config.promql import Parser
from autoscaler.config.queries import DEFAULT_SOURCE, Reading
from autoscaler.config.rules import check_autoscalers, check_sharing
from autoscaler.config.sections import File, Prometheus
from autoscaler.config.settings import Settings, UnknownExpression, WebSettings
from autoscaler.config.source import read
from autoscaler.config.within import within
from autoscaler.errors import AutoscalerError, ConfigError, Problem
from autoscaler.target import ExistingFile, SharedFile
from autoscaler.target.files import unreadable_for_others, unwritable

_MANIFESTS: Final = ("HorizontalPodAutoscaler", "HorizontalPodAutoscalerList", "List")
"""The `kind` of what `autoscaler import` reads."""


def load(path: Path) -> Settings:
    """The settings in `path`. Raises ConfigError with every problem at once."""
    return load_text(path, read(path))


def load_text(path: Path, text: str) -> Settings:
    """The settings in `text`, as `path` holds it. Raises ConfigError with every problem at once."""
    with _collector_paused():
        return _load(path, text)


def connection_type(path: Path, name: str) -> str:
    """The type of a connection in `path`. Nothing else in the file is looked at: it may not be finished yet.

    Raises ConfigError for a file that is not YAML or a type that is wrong, AutoscalerError for an unknown connection.
    """
    document = YamlDocument(read(path), str(path))
    value = document.value
    known = _mapping(value, "adapters") if isinstance(value, dict) else {}
    if name not in known:
        raise AutoscalerError(f"no connection {name[:64]!r} in `adapters` of {path}; {suggest(name, known)}")
    problems = Problems(document)
    if type_of(name, known[name], problems) is None:
        raise ConfigError(list(problems))
    return str(known[name]["type"])


def _load(path: Path, text: str) -> Settings:
    document = YamlDocument(text, str(path))
    if not isinstance(document.value, dict):
        found = "the file is empty" if document.value is None else "the file is not a mapping"
        message = f"{found}; write at least the key autoscalers"
        raise ConfigError([Problem(str(path), *document.place(()), "", message)])
    if document.value.get("kind") in _MANIFESTS:
        message = "the file is a Kubernetes manifest, not a configuration; `autoscaler import` makes one of it"
        raise ConfigError([Problem(str(path), *document.place(("kind",)), "kind", message)])
    return _settings(path, document, sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16])


def _settings(path: Path, document: YamlDocument, digest: str) -> Settings:
    problems, folder = Problems(document), path.absolute().parent
    value = document.value
    connections = read_connections(_mapping(value, "adapters"), folder, problems)
    scope: Scope = {
        "folder": folder,
        "prometheus": frozenset(_mapping(value, "prometheus") or [DEFAULT_SOURCE]),
        "queries": _mapping(value, "queries"),
        "expressions": Parser(),
        "adapters": connections.types,
    }
    file = None
    try:
        file = File.model_validate(value, context=scope, by_alias=True, by_name=False)
    except ValidationError as error:
        problems.add_validation(error, File)
    check_autoscalers(value.get("autoscalers"), connections, document, problems)
    if file is not None:
        check_sharing(value, file.state.settings().shared, connections, problems)
    if file is None or any(problems):
        raise ConfigError(list(problems))
    options = file.controller.options()
    return Settings(
        path=path,
        prometheus={name: source.source() for name, source in file.prometheus.items()},
        adapters=connections.sections,
        limits=connections.limits,
        autoscalers=tuple(body.spec(file.controller, options, file.queries) for body in file.autoscalers),
        sync_period=file.controller.sync_period,
        state=file.state.settings(),
        ha=file.ha.settings(),
        web=WebSettings(
            file.web.listen_address,
            {name: document.place(("web", "operators", at)) for at, name in enumerate(file.web.operators)},
            frozenset(file.web.allowed_hosts),
            None if file.web.control_socket is None else Path(file.web.control_socket),
        ),
        log=file.log.settings(),
        warnings=_absent_files(document, file.prometheus, connections),
        hints=(
            *_unshared_files(document, connections),
            *_aggregated(document, file),
            *_beyond_total(document, file, connections),
            *_never_on(document, file),
        ),
        digest=digest,
        unknown_expressions=_unknown_expressions(document, file) if scope["expressions"].has_unknown else (),
    )


def _mapping(value: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """A section to look names up in; one of another form is a problem of its own."""
    section = value.get(key)
    return section if isinstance(section, dict) else {}


def _absent_files(
    document: YamlDocument, sources: Mapping[str, Prometheus], connections: Connections
) -> tuple[Problem, ...]:
    """A warning for every file that must be readable where the daemon runs, and is not here."""
    warnings = Problems(document)
    sections: dict[Loc, BaseModel] = {("prometheus", name): source for name, source in sources.items()}
    sections |= {("adapters", name): section.settings for name, section in connections.sections.items()}
    for start, section in sections.items():
        for loc, file in within(section, ExistingFile, start):
            if not (file.is_file() and os.access(file, os.R_OK)):
                warnings.add(loc, f"{file} is missing or not readable here; `run` needs it")
    return tuple(sorted(warnings))


def _unshared_files(document: YamlDocument, connections: Connections) -> tuple[Problem, ...]:
    """A hint for every file for Prometheus that could not be written here, or not be read by another user."""
    hints = Problems(document)
    for name, section in connections.sections.items():
        for loc, file in within(section.settings, SharedFile, ("adapters", name)):
            if problem := unwritable(file) or unreadable_for_others(file):
                hints.add(loc, problem)
    return tuple(sorted(hints))


def _aggregated(document: YamlDocument, file: File) -> tuple[Problem, ...]:
    """A hint for every query whose samples can belong to no instance. No error: other metrics may do without it."""
    hints = Problems(document)
    for index, body in enumerate(file.autoscalers):
        for at, metric in enumerate(body.metrics):
            for loc, query in metric.instance_queries():
                if problem := query.names_no_instance(file.queries):
                    hints.add(
                        ("autoscalers", index, "metrics", at, *loc, "expr" if query.ref is None else "ref"), problem
                    )
    return tuple(sorted(hints))


def _beyond_total(document: YamlDocument, file: File, connections: Connections) -> tuple[Problem, ...]:
    """A hint for every connection whose autoscalers' minimums alone sum to more than its maxTotal."""
    hints, minimums = Problems(document), Counter[str]()
    for body in file.autoscalers:
        minimums[body.scale_target_ref.adapter] += body.min_replicas
    for name, limits in connections.limits.items():
        if limits.max_total is not None and minimums[name] > limits.max_total:
            message = (
                f"the minReplicas of its autoscalers sum to {minimums[name]}, and nobody is kept from these; raise it"
            )
            hints.add(("adapters", name, "maxTotal"), message)
    return tuple(hints)


def _never_on(document: YamlDocument, file: File) -> tuple[Problem, ...]:
    """A hint for every brake that no shortfall can put on: no more than all of a size can be missing."""
    hints = Problems(document)
    places: dict[Loc, Brakes] = {("controller",): file.controller.brakes}
    places |= {("autoscalers", index): body.brakes for index, body in enumerate(file.autoscalers)}
    for loc, brakes in places.items():
        if brakes.unfulfilled and brakes.unfulfilled.percent == 100:
            message = (
                "the brake is never on, for no more than 100 % of a size can be missing; lower it, or write "
                "unfulfilled: false"
            )
            hints.add((*loc, "brakes", "unfulfilled", "percent"), message)
    return tuple(sorted(hints))


def _unknown_expressions(document: YamlDocument, file: File) -> tuple[UnknownExpression, ...]:
    """A warning for every expression that only its Prometheus knows."""
    found = []
    for key, section in (("queries", file.queries), ("autoscalers", file.autoscalers)):
        for loc, query in within(section, Reading, (key,)):
            if query.expr is not None and query.expr.unknown is not None:
                warnings = Problems(document)
                warnings.add((*loc, "expr"), query.expr.unknown)
                source = query.prometheus or DEFAULT_SOURCE
                found += [UnknownExpression(problem, source, query.expr.text) for problem in warnings]
    return tuple(found)


@contextmanager
def _collector_paused() -> Iterator[None]:
    """Loading makes objects by the million and no garbage: looking for some took four fifths of the time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
