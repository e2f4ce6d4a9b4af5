"""The fields of a HorizontalPodAutoscaler, as Kubernetes' API accepts them.

Source: Kubernetes API reference, HorizontalPodAutoscaler v2 and v1 autoscaling; for the names of metrics
api/validation/path (IsValidPathSegmentName).
"""

from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any, Final, Literal, Self, TypeAlias

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator
from pydantic.alias_generators import to_camel

from autoscaler.config.behavior import Behavior
from autoscaler.config.metrics import Metric, PodsTarget, ResourceTarget, TotalTarget
from autoscaler.fields.types import DnsName, LabelKey, LabelValue, Text


class _HpaModel(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, alias_generator=to_camel)


def _check_name(name: str) -> str:
    """Check a segment of a URL's path. Only the refusal of unprintable characters is not from Kubernetes."""
    if not name.isprintable() or name in (".", "..") or "/" in name or "%" in name:
        raise ValueError(
            f"{name[:64]!r} is not a valid name; use printable characters other than `/` and `%`, as in Kubernetes"
        )
    return name


_Name: TypeAlias = Annotated[Text, AfterValidator(_check_name)]
Count: TypeAlias = Annotated[int, Field(strict=True, ge=0, le=2**31 - 1)]
"""A number as Go's int32."""
Positive: TypeAlias = Annotated[int, Field(strict=True, ge=1, le=2**31 - 1)]
_READ: Final[Mapping[str, Mapping[str, str]]] = {
    "Resource": {"averageUtilization": "Utilization", "averageValue": "AverageValue"},
    "ContainerResource": {"averageUtilization": "Utilization", "averageValue": "AverageValue"},
    "Pods": {"averageValue": "AverageValue"},
    "External": {"averageValue": "AverageValue", "value": "Value"},
}
"""Type of a metric -> the values of its target that the HPA reads, exactly one of which is given -> their types.

Source: pkg/controller/podautoscaler/horizontal.go and pkg/apis/autoscaling/validation. The type that the target itself
has counts for an Object metric alone.
"""


def read_target(kind: str, target: Any) -> Any:
    """Return a target as the HPA reads it: with the one value that counts, and its type. A wrong one is returned as is.

    `kind`: the type of the metric.
    """
    types = ("Utilization", "Value", "AverageValue")
    if not isinstance(target, dict) or target.get("type") not in types:
        return target
    values = {key for read in _READ.values() for key in read}
    read = _READ.get(kind) or {key: word for key, word in _READ["External"].items() if word == target["type"]}
    given = [key for key in read if target.get(key) is not None]
    if len(given) != 1:
        return target
    others = {key: value for key, value in target.items() if key not in values}
    return {**others, "type": read[given[0]], given[0]: target[given[0]]}


_SeriesValue: TypeAlias = Annotated[str, Field(max_length=1024)]
"""A label's value in a metric's selector. Kubernetes' API accepts any value, because a series has the label."""


class Requirement(_HpaModel):
    """One of a selector's `matchExpressions`."""

    key: LabelKey
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist"]
    values: tuple[_SeriesValue, ...] = ()

    @model_validator(mode="after")
    def _has_values(self) -> Self:
        wanted = self.operator in ("In", "NotIn")
        if wanted != bool(self.values):
            remedy = "needs values; write them" if wanted else "takes no values; remove them"
            raise ValueError(f"the operator {self.operator} {remedy}, or Kubernetes refuses the selector")
        return self


class Selector(_HpaModel):
    """Selects series of a metric."""

    match_labels: Mapping[LabelKey, _SeriesValue] = Field(default_factory=dict)
    match_expressions: tuple[Requirement, ...] = ()


class Identifier(_HpaModel):
    """A metric's name and selector."""

    name: _Name
    selector: Selector | None = None


class DescribedObject(_HpaModel):
    """The object that an Object metric describes."""

    api_version: str | None = None
    kind: _Name
    name: _Name


class Resource(_HpaModel):
    """A resource of each pod."""

    name: LabelKey
    target: Annotated[ResourceTarget, BeforeValidator(partial(read_target, "Resource"))]


class ContainerResource(Resource):
    """A resource of one container of each pod."""

    container: DnsName


class Pods(_HpaModel):
    """A metric of each pod."""

    metric: Identifier
    target: Annotated[PodsTarget, BeforeValidator(partial(read_target, "Pods"))]


class Total(_HpaModel):
    """A metric that does not belong to pods."""

    metric: Identifier
    target: TotalTarget


class Object(Total):
    """A metric of another object."""

    described_object: DescribedObject
    target: Annotated[TotalTarget, BeforeValidator(partial(read_target, "Object"))]


class Fallback(_HpaModel):
    """The proposal of an External metric that has had no value for some time, as KEP-5679 proposes."""

    failure_duration_seconds: Positive | None = None
    replicas: Positive


class External(Total):
    """A metric of something outside the cluster."""

    fallback: Fallback | None = None
    target: Annotated[TotalTarget, BeforeValidator(partial(read_target, "External"))]


class HpaMetric(_HpaModel):
    """One metric: its type, and the body of that type."""

    type: Literal["Resource", "ContainerResource", "Pods", "Object", "External"]
    resource: Resource | None = None
    container_resource: ContainerResource | None = None
    pods: Pods | None = None
    object_: Object | None = Field(default=None, alias="object")
    external: External | None = None

    @property
    def key(self) -> str:
        """Return the key of the body of its type."""
        return self.type[:1].lower() + self.type[1:]

    @property
    def body(self) -> Resource | Pods | Total:
        """Return the body of its type."""
        body: Resource | Pods | Total = getattr(self, Metric.bodies[self.type])
        return body

    @model_validator(mode="after")
    def _has_body(self) -> Self:
        if getattr(self, Metric.bodies[self.type]) is None:
            raise ValueError(f"{self.key} is missing; a metric of type {self.type} needs it")
        others = [key for key in Metric.bodies.values() if getattr(self, key) not in (None, self.body)]
        if others:
            other = to_camel(others[0].removesuffix("_"))
            raise ValueError(f"{other} does not belong to a metric of type {self.type}; remove it")
        return self


class TargetRef(_HpaModel):
    """The object that is scaled."""

    api_version: str | None = None
    kind: _Name
    name: DnsName


class Metadata(BaseModel):
    """The fields that are used; others are ignored."""

    name: DnsName
    namespace: DnsName = "default"
    labels: Mapping[LabelKey, LabelValue] = Field(default_factory=dict)
    annotations: Any = None
    owner_references: Any = Field(default=None, alias="ownerReferences")


class Spec(_HpaModel):
    """The fields of all versions."""

    scale_target_ref: TargetRef
    min_replicas: Count | None = None
    max_replicas: Positive


class SpecV1(Spec):
    """autoscaling/v1."""

    target_cpu_utilization_percentage: Annotated[Positive | None, Field(alias="targetCPUUtilizationPercentage")] = None


class SpecV2(Spec):
    """autoscaling/v2, and v2beta2, which has the same fields."""

    metrics: tuple[HpaMetric, ...] | None = None
    behavior: Behavior | None = None


SPECS: Final[Mapping[str, type[Spec]]] = {
    "autoscaling/v1": SpecV1,
    "autoscaling/v2": SpecV2,
    "autoscaling/v2beta2": SpecV2,
}
