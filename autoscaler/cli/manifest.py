"""HorizontalPodAutoscaler manifests, read: autoscaling/v2 and v1, several documents, lists.

Source: Kubernetes API reference, HorizontalPodAutoscaler v2 and v1 autoscaling.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeAlias, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from autoscaler.cli.kubernetes import (
    ContainerName,
    MetricName,
    NamespaceName,
    ObjectName,
    ReferredName,
    ResourceName,
)
from autoscaler.config.behavior import Behavior
from autoscaler.config.document import Loc, YamlDocument
from autoscaler.config.fields import LabelKey, LabelValue
from autoscaler.config.metrics import PodsTarget, ResourceTarget, TotalTarget
from autoscaler.config.problems import Problems
from autoscaler.config.source import read
from autoscaler.errors import ConfigError, Problem

_KIND: Final = "HorizontalPodAutoscaler"
_OLD: Final = "autoscaling.alpha.kubernetes.io/"
"""Annotations in which autoscaling/v1 hides what it has no fields for."""


class _HpaModel(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, alias_generator=to_camel)


_ModelT = TypeVar("_ModelT", bound=BaseModel)
_Count: TypeAlias = Annotated[int, Field(strict=True, ge=0, le=2**31 - 1)]
_Positive: TypeAlias = Annotated[int, Field(strict=True, ge=1, le=2**31 - 1)]


class Requirement(_HpaModel):
    """One of a selector's `matchExpressions`."""

    key: LabelKey
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist"]
    values: tuple[LabelValue, ...] = ()


class Selector(_HpaModel):
    """Which series of a metric are meant."""

    match_labels: Mapping[LabelKey, LabelValue] = Field(default_factory=dict)
    match_expressions: tuple[Requirement, ...] = ()


class Identifier(_HpaModel):
    """A metric's name and selector."""

    name: MetricName
    selector: Selector | None = None


class DescribedObject(_HpaModel):
    """What an Object metric is about."""

    api_version: str | None = None
    kind: ReferredName
    name: ReferredName


class Resource(_HpaModel):
    """A resource of each pod."""

    name: ResourceName
    target: ResourceTarget


class ContainerResource(Resource):
    """A resource of one container of each pod."""

    container: ContainerName


class Pods(_HpaModel):
    """A metric of each pod."""

    metric: Identifier
    target: PodsTarget


class Total(_HpaModel):
    """A metric of something else."""

    metric: Identifier
    target: TotalTarget


class Object(Total):
    """A metric of another object."""

    described_object: DescribedObject


class Fallback(_HpaModel):
    """What an External metric proposes once it has had no value for long (KEP-5679)."""

    failure_duration_seconds: _Positive | None = None
    replicas: _Positive


class External(Total):
    """A metric of something outside of the cluster."""

    fallback: Fallback | None = None


class HpaMetric(_HpaModel):
    """One metric: its type, and the body of that type."""

    type: Literal["Resource", "ContainerResource", "Pods", "Object", "External"]
    resource: Resource | None = None
    container_resource: ContainerResource | None = None
    pods: Pods | None = None
    object_: Object | None = Field(default=None, alias="object")
    external: External | None = None

    @property
    def body(self) -> Resource | ContainerResource | Pods | Total | None:
        """That of its type; None: it is missing."""
        return {
            "Resource": self.resource,
            "ContainerResource": self.container_resource,
            "Pods": self.pods,
            "Object": self.object_,
            "External": self.external,
        }[self.type]


class _TargetRef(_HpaModel):
    api_version: str | None = None
    kind: ReferredName
    name: ObjectName


class _Metadata(BaseModel):
    """What is read of it; it holds more."""

    name: ObjectName
    namespace: NamespaceName = "default"
    labels: Mapping[LabelKey, LabelValue] = Field(default_factory=dict)
    annotations: Any = None


class _Spec(_HpaModel):
    scale_target_ref: _TargetRef
    min_replicas: _Count | None = None
    max_replicas: _Positive


class _SpecV1(_Spec):
    target_cpu_utilization_percentage: Annotated[_Positive | None, Field(alias="targetCPUUtilizationPercentage")] = None


class _SpecV2(_Spec):
    metrics: tuple[HpaMetric, ...] | None = None
    behavior: Behavior | None = None


_SPECS: Final[Mapping[str, type[_Spec]]] = {
    "autoscaling/v1": _SpecV1,
    "autoscaling/v2": _SpecV2,
    "autoscaling/v2beta2": _SpecV2,
}


@dataclass(frozen=True, slots=True)
class Hpa:
    """One HorizontalPodAutoscaler, defaulted as Kubernetes does."""

    place: str
    """`file:line:column`."""
    name: str
    namespace: str
    target: str
    minimum: int
    maximum: int
    metrics: Sequence[tuple[HpaMetric, Mapping[str, Any]]]
    """Each with its target as it is written."""
    behavior: Mapping[str, Any] | None
    labels: Mapping[str, str]


@dataclass(slots=True)
class Manifest:
    """What a file holds."""

    hpas: list[Hpa] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """What is left out, with its place; the first of many."""
    skipped: int = 0
    """How many objects are left out."""


_DEFAULT_CPU_PERCENT: Final = 80
"""What Kubernetes scales on where nothing is said."""
_MOST_NOTES: Final = 100
_SEPARATOR: Final = re.compile(r"^---(?=[ \t\r\n]|$)", re.MULTILINE)
_NOTHING: Final = re.compile(r"(?:[ \t]*(?:#[^\n]*)?\r?\n)*[ \t]*(?:#[^\n]*)?")
"""Empty lines and comments."""


def read_manifest(path: Path) -> Manifest:
    """The autoscalers in a file. Raises ConfigError with everything that is wrong with them."""
    manifest, problems = Manifest(), list[Problem]()
    for text, line in _documents(read(path)):
        try:
            document = YamlDocument(text, str(path), line)
        except ConfigError as error:
            problems += error.problems
            continue
        found = Problems(document)
        for value, loc in _objects(document.value):
            _read_object(value, loc, document, manifest, found)
        problems += found
    if problems:
        raise ConfigError(problems)
    return manifest


def _documents(text: str) -> Iterator[tuple[str, int]]:
    """The file's YAML documents that hold something, each with the number of its first line."""
    line = 1
    for part in _SEPARATOR.split(text):
        if not _NOTHING.fullmatch(part):
            yield part, line
        line += part.count("\n")


def _objects(value: Any, loc: Loc = ()) -> Iterator[tuple[Any, Loc]]:
    """The document's object, or a list's."""
    if isinstance(value, dict) and value.get("kind") == "List" and isinstance(value.get("items"), list):
        for index, item in enumerate(value["items"]):
            yield from _objects(item, (*loc, "items", index))
    elif value is not None:
        yield value, loc


def _read_object(value: Any, loc: Loc, document: YamlDocument, manifest: Manifest, problems: Problems) -> None:
    place = ":".join(map(str, (document.file, *document.place(loc))))
    if not isinstance(value, dict) or value.get("kind") != _KIND:
        kind = value.get("kind") if isinstance(value, dict) else None
        manifest.skipped += 1
        if len(manifest.notes) < _MOST_NOTES:
            what = kind[:64] if isinstance(kind, str) and kind else "something without a kind"
            manifest.notes.append(f"{place}: {what} is skipped")
        return
    version = value.get("apiVersion")
    model = _SPECS.get(version) if isinstance(version, str) else None
    if model is None:
        known = ", ".join(sorted(_SPECS))
        problems.add((*loc, "apiVersion"), f"is not one of {known}; `kubectl get hpa -o yaml` writes autoscaling/v2")
        return
    given, spec = value.get("metadata"), value.get("spec")
    spec = spec if isinstance(spec, dict) else {}
    metadata = _read(_Metadata, given, (*loc, "metadata"), problems)
    read_spec = _read(model, spec, (*loc, "spec"), problems)
    if metadata is None or read_spec is None:
        return
    annotations = metadata.annotations if isinstance(metadata.annotations, dict) else {}
    hidden = any(key.startswith(_OLD) for key in annotations)
    if isinstance(read_spec, _SpecV1) and hidden:
        message = (
            "annotations hold what autoscaling/v1 has no fields for; write it with `kubectl get hpa.v2.autoscaling`"
        )
        problems.add((*loc, "metadata", "annotations"), message)
        return
    metrics = _metrics(read_spec, spec, (*loc, "spec", "metrics"), problems)
    manifest.hpas.append(
        Hpa(
            place=place,
            name=metadata.name,
            namespace=metadata.namespace,
            target=read_spec.scale_target_ref.name,
            minimum=1 if read_spec.min_replicas is None else read_spec.min_replicas,
            maximum=read_spec.max_replicas,
            metrics=metrics,
            behavior=spec.get("behavior") or None,
            labels=metadata.labels,
        )
    )


def _read(model: type[_ModelT], value: Any, loc: Loc, problems: Problems) -> _ModelT | None:
    """None: what is wrong was added to `problems`."""
    known = {} if not isinstance(value, dict) else {key: each for key, each in value.items() if each is not None}
    try:
        return model.model_validate(known, by_alias=True, by_name=False)
    except ValidationError as error:
        problems.add_validation(error, model, loc)
        return None


def _metrics(
    spec: _Spec, raw: Mapping[str, Any], loc: Loc, problems: Problems
) -> Sequence[tuple[HpaMetric, Mapping[str, Any]]]:
    if isinstance(spec, _SpecV2) and spec.metrics:
        found = []
        for index, (metric, source) in enumerate(zip(spec.metrics, raw["metrics"], strict=True)):
            key = metric.type[:1].lower() + metric.type[1:]
            if metric.body is None:
                problems.add((*loc, index), f"{key} is missing; a metric of type {metric.type} needs it")
                continue
            found.append((metric, source[key]["target"]))
        return found
    given = spec.target_cpu_utilization_percentage if isinstance(spec, _SpecV1) else None
    target = {"type": "Utilization", "averageUtilization": given or _DEFAULT_CPU_PERCENT}
    metric = HpaMetric.model_validate({"type": "Resource", "resource": {"name": "cpu", "target": target}})
    return [(metric, target)]
