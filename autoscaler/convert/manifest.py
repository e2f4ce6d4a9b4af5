"""Reads the files that `import` converts: YAML or JSON, several documents, lists.

They contain HorizontalPodAutoscalers, ScaledObjects of KEDA, and policies or jobs of Nomad. A problem of one object
does not affect the others.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeAlias

from autoscaler.config.document import YamlDocument
from autoscaler.config.problems import Problems
from autoscaler.config.source import read
from autoscaler.convert.import_hpa import read_hpa
from autoscaler.convert.imported import Destination, Imported
from autoscaler.convert.nomad_policy import is_job, policies_of, read_policy
from autoscaler.convert.scaled_object import read_scaled_object
from autoscaler.errors import ConfigError, Problem
from autoscaler.fields.find_values import Loc

_Reader: TypeAlias = Callable[[Mapping[str, Any], Loc, str, Problems, Destination], Sequence[Imported]]
_KINDS: Final[Mapping[str, _Reader]] = {
    "HorizontalPodAutoscaler": read_hpa,
    "ScaledObject": read_scaled_object,
}
_LISTS: Final = {f"{kind}List": kind for kind in _KINDS}


@dataclass(slots=True)
class Manifest:
    """The contents of a file."""

    imported: list[Imported] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    """The problems, with their places."""
    refused: list[str] = field(default_factory=list)
    """The autoscalers that are left out because of problems, with their places."""
    notes: list[str] = field(default_factory=list)
    """The first of the other objects that are left out, with their places."""
    skipped: int = 0
    """The number of these other objects."""


_MAX_NOTES: Final = 100
_SEPARATOR: Final = re.compile(r"^(?:---|\.\.\.)(?=[ \t\r\n]|$)", re.MULTILINE)
"""The begin or end of a document."""
_NOTHING: Final = re.compile(r"(?:(?:[ \t]*(?:#[^\n]*)?|%[^\n]*)\r?\n)*+(?:[ \t]*(?:#[^\n]*)?|%[^\n]*)")
"""Empty lines, comments and directives, such as `%YAML 1.2`."""
_TEMPLATE: Final = "{{"
_HCL: Final = re.compile(r'(?:job|variables?|locals|scaling|policy)\b[ \t]*(?:"[^"\n]*"[ \t]*)?\{')
"""The first block of a job or a policy of Nomad."""
_COMMENTS: Final = re.compile(r"(?:\s|#[^\n]*|//[^\n]*|/\*.*?\*/)*+", re.DOTALL)
"""White space and comments before it."""


def read_manifest(path: Path, destination: Destination) -> Manifest:
    """Return the autoscalers in a file, and the problems of the others, or of the file."""
    try:
        text = read(path)
    except ConfigError as error:
        return Manifest(problems=[*error.problems])
    manifest = Manifest()
    if _is_hcl(path, text):
        message = "HCL is not read; use `nomad job run -output JOB.hcl | autoscaler import -`"
        return Manifest(problems=[Problem(str(path), 1, 1, "", message)])
    for part, line in _documents(text):
        _read_document(part, line, str(path), manifest, destination)
    return manifest


def _is_hcl(path: Path, text: str) -> bool:
    """Return whether a file is a job or a policy in HCL, which YAML may read as one long text."""
    begin = _COMMENTS.match(text).end()  # type: ignore[union-attr]  # it matches any text
    return _HCL.match(text, begin) is not None or (
        path.suffix in (".hcl", ".nomad") and text[begin : begin + 1] not in ("{", "[")
    )


def read_object(value: Mapping[str, Any], name: str, destination: Destination) -> Manifest:
    """Return what becomes of one object, which is called `name` in messages."""
    manifest = Manifest()
    _read_document(json.dumps(value, ensure_ascii=False), 1, name, manifest, destination)
    return manifest


def _documents(text: str) -> Iterator[tuple[str, int]]:
    """Yield the file's YAML documents that are not empty, each with the number of its first line."""
    line = 1
    for part in _SEPARATOR.split(text):
        if not _NOTHING.fullmatch(part):
            yield part, line
        line += part.count("\n")


def _read_document(text: str, line: int, path: str, manifest: Manifest, destination: Destination) -> None:
    try:
        document = YamlDocument(text, path, line)
    except ConfigError as error:
        manifest.problems += _problem_of_template(text, line, path) or error.problems
        return
    problems = Problems(document)
    for value, loc in _objects(document.value):
        _read_object(value, loc, document, manifest, problems, destination)
    lines = text.splitlines() if any(problems) and _TEMPLATE in text else []
    if any(_TEMPLATE in lines[each.line - line] for each in problems if each.line - line < len(lines)):
        manifest.problems += _problem_of_template(text, line, path)
    else:
        manifest.problems += problems


def _problem_of_template(text: str, line: int, path: str) -> list[Problem]:
    """Return the problem that the text is a template of Helm; empty: there is no sign of that."""
    at = text.find(_TEMPLATE)
    if at < 0:
        return []
    message = (
        f"this is a template of Helm (`{_TEMPLATE}`), not a manifest; "
        "render it first: helm template CHART | autoscaler import -"
    )
    return [Problem(path, line + text.count("\n", 0, at), at - text.rfind("\n", 0, at), "", message)]


def _objects(value: Any, loc: Loc = ()) -> Iterator[tuple[Any, Loc]]:
    """Yield the document's object, or those of a list. The items of a typed list need no kind."""
    kind, items = (value.get("kind"), value.get("items")) if isinstance(value, dict) else (None, None)
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from _objects(item, (*loc, index))
    elif kind in ("List", *_LISTS) and isinstance(items, list):
        known = {} if kind == "List" else {"apiVersion": value.get("apiVersion"), "kind": _LISTS[kind]}
        for index, item in enumerate(items):
            yield from _objects(known | item if isinstance(item, dict) else item, (*loc, "items", index))
    elif isinstance(value, dict) and kind is None and is_job(value):
        yield from policies_of(value, loc)
    elif value is not None:
        yield value, loc


def _reader(value: Any) -> tuple[str, _Reader] | None:
    """Return what an object is, and what converts it; None: another object. Nomad's have no kind."""
    if not isinstance(value, dict):
        return None
    kind = value.get("kind")
    if isinstance(kind, str):
        return (kind, _KINDS[kind]) if kind in _KINDS else None
    if is_job(value):
        return "job", read_policy
    return ("policy", read_policy) if "Policy" in value and "Target" in value else None


def _read_object(
    value: Any, loc: Loc, document: YamlDocument, manifest: Manifest, problems: Problems, destination: Destination
) -> None:
    place = ":".join(map(str, (document.file, *document.place(loc))))
    found = _reader(value)
    if found is None:
        kind = value.get("kind") if isinstance(value, dict) else None
        manifest.skipped += 1
        if len(manifest.notes) < _MAX_NOTES:
            what = kind[:64] if isinstance(kind, str) and kind else "an object without a kind"
            manifest.notes.append(f"{place}: {what} is skipped")
        return
    kind, read_it = found
    before = len(list(problems))
    manifest.imported += read_it(value, loc, place, problems, destination)
    if len(list(problems)) == before:
        return
    shown = f"{kind} {name[:64]}" if (name := _name(value)) else f"a {kind}"
    manifest.refused.append(f"{place}: {shown} is not imported; correct the problems above")


def _name(value: Mapping[str, Any]) -> str:
    """Return the name of an object: of a policy its target's, with a job and its group; empty: it has none."""
    target, metadata = value.get("Target"), value.get("metadata")
    if isinstance(target, dict):
        return "/".join(target[key] for key in ("Job", "Group", "Task") if isinstance(target.get(key), str))
    name = metadata.get("name") if isinstance(metadata, dict) else value.get("ID")
    return name if isinstance(name, str) else ""
