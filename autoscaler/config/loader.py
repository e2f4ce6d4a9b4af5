"""Loads a file: returns its settings, or raises every problem at once."""

from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, NamedTuple

from autoscaler import collector
from autoscaler.config.connections import Connections, read_connections, type_of
from autoscaler.config.document import YamlDocument
from autoscaler.config.entries import Entries, read_entries
from autoscaler.config.problems import Problems, path_text
from autoscaler.config.rules import check_autoscalers, check_discover, check_grants, check_rules, check_sharing
from autoscaler.config.sections import File
from autoscaler.config.settings import Operator, Settings, Shared
from autoscaler.config.source import read
from autoscaler.config.warnings import add_refused, add_warnings, add_without_instance, unknown_expressions
from autoscaler.errors import AutoscalerError, ConfigError, Problem
from autoscaler.fields.find_values import Loc
from autoscaler.fields.promql import Parser
from autoscaler.fields.queries import DEFAULT_SOURCE
from autoscaler.fields.types import Scope, suggest

_MANIFESTS: Final = ("HorizontalPodAutoscaler", "HorizontalPodAutoscalerList", "List")
"""The `kind` of what `autoscaler import` reads."""


def load(path: Path, *, judge: bool = False) -> Settings:
    """Return the settings of the file `path`, with the autoscalers in teams' files.

    Raises ConfigError with every problem of the file itself. Problems of teams' files are in `Settings.refused`.
    `judge`: problems of which `run` only warns raise ConfigError, too.
    """
    main = load_text(path, read(path), judge=judge)
    if main.autoscalers_dir is None:
        return main
    from autoscaler.config.teams import with_teams  # noqa: PLC0415 - keeps `check` fast, and most files need no teams

    return with_teams(main)


@collector.paused()
def load_text(path: Path, text: str, *, judge: bool = False) -> Settings:
    """Return the settings of `text`, without teams' files. Raises ConfigError with every problem at once.

    `path`: the file's name in messages. Relative paths in the text begin at its folder.
    """
    document = YamlDocument(text, str(path))
    if not isinstance(document.value, dict):
        found = "the file is empty" if document.value is None else "the file is not a mapping"
        message = f"{found}; write at least the key autoscalers"
        raise ConfigError([Problem(str(path), *document.place(()), "", message)])
    if document.value.get("kind") in _MANIFESTS:
        message = "the file is a Kubernetes manifest, not a configuration; convert it with `autoscaler import`"
        raise ConfigError([Problem(str(path), *document.place(("kind",)), "kind", message)])
    digest = sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return _settings(path, document, digest, judge=judge)


def connection_type(path: Path, name: str) -> str:
    """Return the type of the connection `name` in the file `path`.

    The rest of the file may be wrong, because its author may not have finished it. Raises ConfigError if the file is
    not YAML or the type is wrong, AutoscalerError if there is no such connection.
    """
    document = YamlDocument(read(path), str(path))
    value = document.value
    known = value.get("adapters") if isinstance(value, dict) else None
    known = known if isinstance(known, dict) else {}
    if name not in known:
        raise AutoscalerError(f"no connection {name[:64]!r} in `adapters` of {path}; {suggest(name, known)}")
    problems = Problems(document)
    if type_of(name, known[name], problems) is None:
        raise ConfigError(list(problems))
    return str(known[name]["type"])


class Sections(NamedTuple):
    """The sections of a file, as far as they are right."""

    file: File | None
    connections: Connections
    entries: Entries
    scope: Scope


def sections_of(path: Path, document: YamlDocument, problems: Problems) -> Sections:
    """Return the sections of a file that is a mapping. Each is checked by itself, and its problems go to `problems`."""
    folder, value = path.absolute().parent, document.value
    adapters = _mapping(value, "adapters")
    connections = read_connections(adapters, folder, problems)
    scope: Scope = {
        "folder": folder,
        "prometheus": _mapping(value, "prometheus") or {DEFAULT_SOURCE},
        "queries": _mapping(value, "queries"),
        "expressions": Parser(),
        "adapters": connections.types or adapters,
        "schedules": _mapping(value, "schedules"),
    }
    entries = read_entries(value, scope, problems)
    return Sections(problems.read(File, value, (), scope), connections, entries, scope)


def _settings(path: Path, document: YamlDocument, digest: str, *, judge: bool) -> Settings:
    problems, value = Problems(document), document.value
    file, connections, entries, scope = sections_of(path, document, problems)
    check_autoscalers(value.get("autoscalers"), connections, document, problems)
    warnings, hints = Problems(document), Problems(document)
    check_rules(entries, problems, hints)
    add_warnings(warnings, hints, entries, connections, None if file is None else file.notify)
    if file is not None:
        check_sharing(value, file.state.shared, connections, problems)
        check_grants(file.grants, connections, problems)
        check_discover(file.grants, connections, problems)
    without_instance = problems if judge else Problems(document)
    add_without_instance(without_instance, entries)
    unknown = unknown_expressions(document, entries) if scope["expressions"].has_unknown else ()
    if judge and unknown:
        add_refused(problems, entries)
    if file is None or any(problems):
        wrong = {each.path for each in problems}
        raise ConfigError(
            list(problems), {*warnings, *hints, *(each.problem for each in unknown if each.problem.path not in wrong)}
        )
    options = file.controller.options()
    return Settings(
        path=path,
        prometheus=entries.sources,
        adapters=connections.sections,
        limits=connections.limits,
        autoscalers=tuple(
            body.spec(file.controller, options, entries.queries, entries.schedules)
            for body in entries.autoscalers.values()
        ),
        autoscalers_dir=file.autoscalers_dir,
        grants=file.grants,
        shared=Shared(file.controller, entries.queries, entries.schedules),
        state=file.state,
        ha=file.ha,
        web=file.web,
        operators=tuple(_operators(file, document)),
        log=file.log,
        notify=file.notify,
        warnings=tuple(sorted(warnings)),
        hints=tuple(sorted(hints)),
        digest=digest,
        unknown_expressions=unknown,
        without_instance=tuple(sorted(without_instance)),
    )


def _operators(file: File, document: YamlDocument) -> Iterator[Operator]:
    """Yield every user who may change something, with the place."""
    named: dict[Loc, tuple[str, ...]] = {("web", "operators"): file.web.operators}
    named |= {("grants", name, "operators"): grant.operators for name, grant in file.grants.items()}
    for loc, names in named.items():
        for at, name in enumerate(names):
            yield Operator(name, path_text(loc), *document.place((*loc, at)))


def _mapping(value: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """A section, for the names in it; one of another form is reported elsewhere, and may mean any name."""
    section = value.get(key)
    return section if isinstance(section, dict) else {} if section is None else _AnyName()


class _AnyName(dict[str, Any]):
    """The names of a section whose form is wrong. No reference to it is a further problem."""

    def __bool__(self) -> bool:
        return True

    def __contains__(self, name: object) -> bool:
        return True

    def __missing__(self, name: str) -> None:
        return None
