"""Reads HorizontalPodAutoscaler manifests: autoscaling/v2 and v1, several documents, lists.

A problem of one object does not affect the others.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeAlias, TypeVar

from pydantic import BaseModel, ValidationError

from autoscaler.cli import hpa_v1
from autoscaler.cli.hpa import SPECS, HpaMetric, Metadata, Spec, SpecV1, SpecV2, target_in_effect
from autoscaler.config.behavior import Behavior
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
    """Each metric, with its target as Kubernetes' controller uses it."""
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
    given = _in_effect(value.get("spec"))
    metadata = _read(Metadata, value.get("metadata"), (*loc, "metadata"), problems)
    spec = _read(model, given, (*loc, "spec"), problems)
    if metadata is None or spec is None:
        return None
    if isinstance(spec, SpecV1):
        wanted = _wanted_by_v1(spec, metadata, (*loc, "metadata", "annotations"), problems)
    else:
        wanted = _wanted_by_v2(spec, given, (*loc, "spec", "metrics"), problems)
    if wanted is None:
        return None
    return Hpa(
        place=place,
        name=metadata.name,
        namespace=metadata.namespace,
        target=spec.scale_target_ref.name,
        minimum=1 if spec.min_replicas is None else spec.min_replicas,
        maximum=spec.max_replicas,
        metrics=wanted[0],
        behavior=wanted[1],
        labels=metadata.labels,
    )


_Wanted: TypeAlias = tuple[Sequence[tuple[HpaMetric, Mapping[str, Any]]], Mapping[str, Any] | None]
"""The metrics, each with its target, and the behavior."""


def _in_effect(spec: Any) -> dict[str, Any]:
    """Return a spec with each metric's target as Kubernetes' controller uses it."""
    given = spec if isinstance(spec, dict) else {}
    metrics = given.get("metrics")
    if not isinstance(metrics, list):
        return given
    return given | {"metrics": [_metric_in_effect(each) for each in metrics]}


def _metric_in_effect(metric: Any) -> Any:
    if not isinstance(metric, dict):
        return metric
    return {
        key: each | {"target": target_in_effect(key, each["target"])}
        if isinstance(each, dict) and "target" in each
        else each
        for key, each in metric.items()
    }


def _wanted_by_v2(spec: Spec, given: Mapping[str, Any], loc: Loc, problems: Problems) -> _Wanted | None:
    metrics = spec.metrics if isinstance(spec, SpecV2) else None
    raw = given["metrics"] if metrics else [hpa_v1.cpu_metric(None)]
    found = _with_targets(metrics or [HpaMetric.model_validate(each) for each in raw], raw, loc, problems)
    return None if found is None else (found, given.get("behavior") or None)


def _wanted_by_v1(spec: SpecV1, metadata: Metadata, loc: Loc, problems: Problems) -> _Wanted | None:
    annotations = metadata.annotations if isinstance(metadata.annotations, dict) else {}
    kept = {key: annotations.get(key) for key in (hpa_v1.METRICS, hpa_v1.BEHAVIOR)}
    metrics, behavior, at = list[Any](), None, hpa_v1.METRICS
    try:
        if isinstance(text := kept[hpa_v1.METRICS], str):
            metrics = hpa_v1.metrics_of(text)
        at = hpa_v1.BEHAVIOR
        if isinstance(text := kept[hpa_v1.BEHAVIOR], str):
            behavior = hpa_v1.behavior_of(text)
    except ValueError as error:
        problems.add((*loc, at), str(error))
        return None
    percent = spec.target_cpu_utilization_percentage
    if percent is not None or not metrics:
        metrics.append(hpa_v1.cpu_metric(percent))
    metrics = [_metric_in_effect(each) for each in metrics]
    read_metrics = [_read(HpaMetric, each, (*loc, hpa_v1.METRICS), problems) for each in metrics]
    if behavior is not None and _read(Behavior, behavior, (*loc, hpa_v1.BEHAVIOR), problems) is None:
        return None
    right = [each for each in read_metrics if each is not None]
    if len(right) < len(metrics):
        return None
    found = _with_targets(right, metrics, (*loc, hpa_v1.METRICS), problems)
    return None if found is None else (found, behavior)


def _with_targets(
    metrics: Sequence[HpaMetric], raw: Sequence[Mapping[str, Any]], loc: Loc, problems: Problems
) -> Sequence[tuple[HpaMetric, Mapping[str, Any]]] | None:
    found = []
    for index, (metric, source) in enumerate(zip(metrics, raw, strict=True)):
        key = metric.type[:1].lower() + metric.type[1:]
        if metric.body is None:
            problems.add((*loc, index), f"{key} is missing; a metric of type {metric.type} needs it")
        else:
            found.append((metric, source[key]["target"]))
    return found if len(found) == len(metrics) else None


def _read(model: type[_ModelT], value: Any, loc: Loc, problems: Problems) -> _ModelT | None:
    """Return the model; None: its problems were added to `problems`."""
    known = {} if not isinstance(value, dict) else {key: each for key, each in value.items() if each is not None}
    try:
        return model.model_validate(known, by_alias=True, by_name=False)
    except ValidationError as error:
        problems.add_validation(error, model, loc)
        return None
