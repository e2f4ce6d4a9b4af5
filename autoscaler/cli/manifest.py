"""Reads HorizontalPodAutoscaler manifests: autoscaling/v2 and v1, several documents, lists.

A problem of one object does not affect the others.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeVar

from pydantic import BaseModel, ValidationError

from autoscaler.cli.hpa import SPECS, HpaMetric, Metadata, SpecV1
from autoscaler.config.document import Loc, YamlDocument
from autoscaler.config.problems import Problems
from autoscaler.config.source import read
from autoscaler.errors import ConfigError, Problem

_KIND: Final = "HorizontalPodAutoscaler"
_ModelT = TypeVar("_ModelT", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Hpa:
    """One HorizontalPodAutoscaler, with Kubernetes' defaults."""

    place: str
    """`file:line:column`."""
    name: str
    namespace: str
    target: str
    minimum: int
    maximum: int
    metrics: Sequence[tuple[HpaMetric, Mapping[str, Any]]]
    """Each metric, with its target as it is written."""
    behavior: Mapping[str, Any] | None
    labels: Mapping[str, str]


@dataclass(slots=True)
class Manifest:
    """The contents of a file."""

    hpas: list[Hpa] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    """The problems, with their places."""
    refused: list[str] = field(default_factory=list)
    """The autoscalers that are left out because of problems, with their places."""
    notes: list[str] = field(default_factory=list)
    """The first of the other objects that are left out, with their places."""
    skipped: int = 0
    """The number of these other objects."""


_MOST_NOTES: Final = 100
_SEPARATOR: Final = re.compile(r"^(?:---|\.\.\.)(?=[ \t\r\n]|$)", re.MULTILINE)
"""The begin or end of a document."""
_NOTHING: Final = re.compile(r"(?:(?:[ \t]*(?:#[^\n]*)?|%[^\n]*)\r?\n)*+(?:[ \t]*(?:#[^\n]*)?|%[^\n]*)")
"""Empty lines, comments and directives, such as `%YAML 1.2`."""
_TEMPLATE: Final = "{{"
_DEFAULT_CPU_PERCENT: Final = 80
"""Kubernetes' default."""
_ANNOTATIONS: Final = ("autoscaling.alpha.kubernetes.io/metrics", "autoscaling.alpha.kubernetes.io/behavior")
"""What autoscaling/v1 has no field for. Source: pkg/apis/autoscaling/v1/conversion.go."""


def read_manifest(path: Path) -> Manifest:
    """Return the autoscalers in a file, and the problems of the others, or of the file."""
    manifest = Manifest()
    try:
        text = read(path)
    except ConfigError as error:
        manifest.problems += error.problems
        return manifest
    for part, line in _documents(text):
        _read_document(part, line, path, manifest)
    return manifest


def _documents(text: str) -> Iterator[tuple[str, int]]:
    """Yield the file's YAML documents that are not empty, each with the number of its first line."""
    line = 1
    for part in _SEPARATOR.split(text):
        if not _NOTHING.fullmatch(part):
            yield part, line
        line += part.count("\n")


def _read_document(text: str, line: int, path: Path, manifest: Manifest) -> None:
    try:
        document = YamlDocument(text, str(path), line)
    except ConfigError as error:
        manifest.problems += _problem_of_template(text, line, path) or error.problems
        return
    problems = Problems(document)
    for value, loc in _objects(document.value):
        _read_object(value, loc, document, manifest, problems)
    lines = text.splitlines() if any(problems) and _TEMPLATE in text else []
    if any(_TEMPLATE in lines[each.line - line] for each in problems if each.line - line < len(lines)):
        manifest.problems += _problem_of_template(text, line, path)
    else:
        manifest.problems += problems


def _problem_of_template(text: str, line: int, path: Path) -> list[Problem]:
    """Return the problem that the text is a template of Helm; empty: there is no sign of that."""
    at = text.find(_TEMPLATE)
    if at < 0:
        return []
    message = (
        f"this is a template of Helm (`{_TEMPLATE}`), not a manifest; "
        "render it first: helm template CHART | autoscaler import -"
    )
    return [Problem(str(path), line + text.count("\n", 0, at), at - text.rfind("\n", 0, at), "", message)]


def _objects(value: Any, loc: Loc = ()) -> Iterator[tuple[Any, Loc]]:
    """Yield the document's object, or those of a list. The items of a typed list need no kind."""
    kind, items = (value.get("kind"), value.get("items")) if isinstance(value, dict) else (None, None)
    if kind in ("List", f"{_KIND}List") and isinstance(items, list):
        known = {} if kind == "List" else {"apiVersion": value.get("apiVersion"), "kind": _KIND}
        for index, item in enumerate(items):
            yield from _objects(known | item if isinstance(item, dict) else item, (*loc, "items", index))
    elif value is not None:
        yield value, loc


def _read_object(value: Any, loc: Loc, document: YamlDocument, manifest: Manifest, problems: Problems) -> None:
    place = ":".join(map(str, (document.file, *document.place(loc))))
    if not isinstance(value, dict) or value.get("kind") != _KIND:
        kind = value.get("kind") if isinstance(value, dict) else None
        manifest.skipped += 1
        if len(manifest.notes) < _MOST_NOTES:
            what = kind[:64] if isinstance(kind, str) and kind else "an object without a kind"
            manifest.notes.append(f"{place}: {what} is skipped")
        return
    hpa = _read_hpa(value, loc, place, problems)
    if hpa is not None:
        manifest.hpas.append(hpa)
        return
    metadata = value.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    shown = f"{_KIND} {name[:64]}" if isinstance(name, str) else f"a {_KIND}"
    manifest.refused.append(f"{place}: {shown} is not imported; correct the problems above")


def _read_hpa(value: Mapping[str, Any], loc: Loc, place: str, problems: Problems) -> Hpa | None:
    """Return the autoscaler; None: its problems were added to `problems`."""
    version = value.get("apiVersion")
    model = SPECS.get(version) if isinstance(version, str) else None
    if model is None:
        known = ", ".join(sorted(SPECS))
        problems.add((*loc, "apiVersion"), f"is not one of {known}; `kubectl get hpa -o yaml` writes autoscaling/v2")
        return None
    given = value.get("spec")
    given = given if isinstance(given, dict) else {}
    metadata = _read(Metadata, value.get("metadata"), (*loc, "metadata"), problems)
    spec = _read(model, given, (*loc, "spec"), problems)
    if metadata is None or spec is None:
        return None
    if isinstance(spec, SpecV1):
        wanted = _metrics_of_v1(spec, metadata, (*loc, "metadata", "annotations"), problems)
    else:
        wanted = given.get("metrics") or [_cpu_metric(None)]
    if not wanted:
        return None
    return Hpa(
        place=place,
        name=metadata.name,
        namespace=metadata.namespace,
        target=spec.scale_target_ref.name,
        minimum=1 if spec.min_replicas is None else spec.min_replicas,
        maximum=spec.max_replicas,
        metrics=[_with_target(each) for each in wanted],
        behavior=given.get("behavior") or None,
        labels=metadata.labels,
    )


def _metrics_of_v1(spec: SpecV1, metadata: Metadata, loc: Loc, problems: Problems) -> Sequence[Mapping[str, Any]]:
    """Return the only metric that autoscaling/v1 has a field for.

    Returns none if an annotation, which the API server writes, has others; that is added to `problems`.
    """
    lost = [key for key in _ANNOTATIONS if isinstance(metadata.annotations, dict) and key in metadata.annotations]
    for key in lost:
        problems.add((*loc, key), "autoscaling/v1 has no field for this; use `kubectl get hpa.v2.autoscaling -o yaml`")
    return [] if lost else [_cpu_metric(spec.target_cpu_utilization_percentage)]


def _cpu_metric(percent: int | None) -> Mapping[str, Any]:
    """Return the metric for a `targetCPUUtilizationPercentage`; None: Kubernetes' default."""
    target = {"type": "Utilization", "averageUtilization": percent or _DEFAULT_CPU_PERCENT}
    return {"type": "Resource", "resource": {"name": "cpu", "target": target}}


def _with_target(metric: Mapping[str, Any]) -> tuple[HpaMetric, Mapping[str, Any]]:
    """Return the metric, and its target as it is written."""
    read = HpaMetric.model_validate(metric, by_alias=True, by_name=False)
    return read, {key: value for key, value in metric[read.key]["target"].items() if value is not None}


def _read(model: type[_ModelT], value: Any, loc: Loc, problems: Problems) -> _ModelT | None:
    """Return the model; None: its problems were added to `problems`."""
    known = {} if not isinstance(value, dict) else {key: each for key, each in value.items() if each is not None}
    try:
        return model.model_validate(known, by_alias=True, by_name=False)
    except ValidationError as error:
        problems.add_validation(error, model, loc)
        return None
