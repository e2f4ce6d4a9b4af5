"""The fields of a HorizontalPodAutoscaler, as Kubernetes' API accepts them.

Source: Kubernetes API reference, HorizontalPodAutoscaler v2 and v1 autoscaling; for targets pkg/apis/autoscaling/
validation and pkg/controller/podautoscaler.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal, Self, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, model_validator
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
from autoscaler.config.fields import LabelKey, LabelValue
from autoscaler.config.metrics import PodsTarget, ResourceTarget, TotalTarget


class _HpaModel(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, alias_generator=to_camel)


_Count: TypeAlias = Annotated[int, Field(strict=True, ge=0, le=2**31 - 1)]
_Positive: TypeAlias = Annotated[int, Field(strict=True, ge=1, le=2**31 - 1)]
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
            what = "is missing its values" if wanted else "takes no values"
            raise ValueError(
                f"the operator {self.operator} {what}; correct it, because Kubernetes refuses the selector"
            )
        return self


class Selector(_HpaModel):
    """Selects series of a metric."""

    match_labels: Mapping[LabelKey, _SeriesValue] = Field(default_factory=dict)
    match_expressions: tuple[Requirement, ...] = ()


class Identifier(_HpaModel):
    """A metric's name and selector."""

    name: MetricName
    selector: Selector | None = None


class DescribedObject(_HpaModel):
    """The object that an Object metric describes."""

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
    """A metric that does not belong to pods."""

    metric: Identifier
    target: TotalTarget


class Object(Total):
    """A metric of another object."""

    described_object: DescribedObject


class Fallback(_HpaModel):
    """The proposal of an External metric that has had no value for some time (KEP-5679)."""

    failure_duration_seconds: _Positive | None = None
    replicas: _Positive


class External(Total):
    """A metric of something outside the cluster."""

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
        """Return the body of its type; None: it is missing."""
        return {
            "Resource": self.resource,
            "ContainerResource": self.container_resource,
            "Pods": self.pods,
            "Object": self.object_,
            "External": self.external,
        }[self.type]


class TargetRef(_HpaModel):
    """The object that is scaled."""

    api_version: str | None = None
    kind: ReferredName
    name: ObjectName


class Metadata(BaseModel):
    """The fields that are used; others are ignored."""

    name: ObjectName
    namespace: NamespaceName = "default"
    labels: Mapping[LabelKey, LabelValue] = Field(default_factory=dict)
    annotations: Any = None


class Spec(_HpaModel):
    """The fields of all versions."""

    scale_target_ref: TargetRef
    min_replicas: _Count | None = None
    max_replicas: _Positive


class SpecV1(Spec):
    """autoscaling/v1."""

    target_cpu_utilization_percentage: Annotated[_Positive | None, Field(alias="targetCPUUtilizationPercentage")] = None


class SpecV2(Spec):
    """autoscaling/v2, and v2beta2, which has the same fields."""

    metrics: tuple[HpaMetric, ...] | None = None
    behavior: Behavior | None = None


_TYPES: Final = ("Utilization", "Value", "AverageValue")
_VALUES: Final = ("value", "averageValue", "averageUtilization")
_PER_INSTANCE: Final = {"averageUtilization": "Utilization", "averageValue": "AverageValue"}
_OF_ALL: Final = {"value": "Value", "averageValue": "AverageValue"}
_DECIDING: Final[Mapping[str, Mapping[str, str]]] = {
    "resource": _PER_INSTANCE,
    "containerResource": _PER_INSTANCE,
    "pods": {"averageValue": "AverageValue"},
    "external": _OF_ALL,
}
"""Kind of metric -> the keys of its target that Kubernetes' controller reads, and the type of each."""


def target_in_effect(source: str, target: Any) -> Any:
    """Return a target as Kubernetes' controller uses it, for a metric's source (`pods`, …).

    The API server accepts each of the three types for every metric. The controller reads the type of Object metrics
    only. For all others it uses the value that belongs to the source, and ignores other values. A target that the API
    server would refuse, or that the controller could not use, is returned unchanged.
    """
    if not isinstance(target, dict) or target.get("type") not in _TYPES:
        return target
    given = {key: value for key, value in target.items() if value is not None}
    if source == "object":
        deciding = {key: kind for key, kind in _OF_ALL.items() if kind == given["type"]}
    else:
        deciding = dict(_DECIDING.get(source, {}))
    found = [key for key in deciding if key in given]
    if len(found) != 1:
        return target
    others = {key: value for key, value in given.items() if key not in _VALUES and key != "type"}
    return {"type": deciding[found[0]], found[0]: given[found[0]], **others}


SPECS: Final[Mapping[str, type[Spec]]] = {
    "autoscaling/v1": SpecV1,
    "autoscaling/v2": SpecV2,
    "autoscaling/v2beta2": SpecV2,
}
