"""The metrics of an autoscaler: autoscaling/v2's five types, each with its query."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, ClassVar, Final, Literal, TypeAlias

from pydantic import Field, PlainValidator, Tag, ValidationInfo, field_validator
from pydantic.alias_generators import to_camel
from pydantic.json_schema import SkipJsonSchema

from autoscaler import model
from autoscaler.fields.find_values import Loc, find_values
from autoscaler.fields.queries import InstanceQuery, SharedQuery, TotalQuery
from autoscaler.fields.types import Count, LabelName, PositiveQuantity, Section, Text, two_forms
from autoscaler.rules import with_rule_keys

Shared: TypeAlias = Mapping[str, SharedQuery]

_VALUE_KEYS: Final = {"value": "Value", "average_value": "AverageValue", "average_utilization": "Utilization"}


class Target(Section):
    """The target value: exactly the key that `type` names."""

    type: Literal["Utilization", "Value", "AverageValue"]
    """Utilization: percent of the request; AverageValue: for each instance; Value: the value itself."""
    value: PositiveQuantity | None = Field(default=None, validate_default=True)
    """For type Value."""
    average_value: PositiveQuantity | None = Field(default=None, validate_default=True)
    """For type AverageValue."""
    average_utilization: Count | None = Field(default=None, validate_default=True)
    """For type Utilization, in whole percent."""

    @field_validator(*_VALUE_KEYS)
    @classmethod
    def _of_type(cls, value: int | None, info: ValidationInfo) -> int | None:
        wanted, given = info.data.get("type"), _VALUE_KEYS[info.field_name or ""]
        if value is None and wanted == given:
            raise ValueError(f"is missing; a target of type {wanted} needs it")
        if value is not None and wanted not in (given, None):
            raise ValueError(f"does not belong to a target of type {wanted}; remove it, or write type: {given}")
        return value

    def spec(self) -> model.MetricTarget:
        """Return the frozen target."""
        value = self.average_utilization or self.average_value or self.value or 0
        return model.MetricTarget(model.TargetType(self.type), value)


class ResourceTarget(Target):
    """A target for each instance."""

    type: Literal["Utilization", "AverageValue"]
    """Utilization: percent of the request; AverageValue: the value of each instance."""


class PodsTarget(Target):
    """A target for the value of each instance."""

    type: Literal["AverageValue"]
    """AverageValue: the value of each instance."""


class TotalTarget(Target):
    """A target for all instances together."""

    type: Literal["Value", "AverageValue"]
    """Value: the value itself; AverageValue: divided by the number of instances."""


def _refuse_selector(_: Any) -> None:
    raise ValueError("a selector is not used here; write its matchers into the query")


class MetricIdentifier(Section):
    """The name of the metric. It is only shown."""

    name: Text
    """Shown in decisions and events."""
    selector: SkipJsonSchema[Annotated[None, PlainValidator(_refuse_selector)]] = None


class RequestQuery(Section):
    """A query for the capacity of an instance."""

    query: InstanceQuery
    """Its samples are matched with instances like those of the metric."""


Request: TypeAlias = Annotated[
    Annotated[PositiveQuantity, Tag("a quantity")] | Annotated[RequestQuery, Tag("a query")],
    two_forms((dict, RequestQuery), "a query", "a quantity"),
]


@with_rule_keys(lambda rule: rule.instance_metric_keys)
class ResourceMetric(Section):
    """A resource of each instance, relative to its capacity."""

    of_instances: ClassVar[bool] = True

    name: Text
    """`cpu` follows HPA's readiness rule for cpu; any other name does not."""
    query: InstanceQuery
    """One sample for each instance."""
    target: ResourceTarget
    """The target value."""
    request: Request | None = None
    """The capacity of an instance, for Utilization. Default: its reservation, if the adapter knows it."""

    @field_validator("request")
    @classmethod
    def _for_utilization(cls, request: Any, info: ValidationInfo) -> Any:
        target = info.data.get("target")
        if request is not None and target is not None and target.type != "Utilization":
            raise ValueError(f"is used with type Utilization only; remove it, or replace the type {target.type}")
        return request


class ContainerResourceMetric(ResourceMetric):
    """A resource of one container or task of each instance."""

    container: Text
    """The name of the container or task."""
    container_label: LabelName | None = None
    """The label that names the container. Default: task, else container."""


@with_rule_keys(lambda rule: rule.instance_metric_keys)
class PodsMetric(Section):
    """A value of each instance."""

    of_instances: ClassVar[bool] = True

    metric: MetricIdentifier
    query: InstanceQuery
    """One sample for each instance."""
    target: PodsTarget


@with_rule_keys(lambda rule: rule.total_metric_keys)
class TotalMetric(Section):
    """A value of all instances together."""

    of_instances: ClassVar[bool] = False

    metric: MetricIdentifier
    query: TotalQuery
    """Its samples are summed."""
    target: TotalTarget


class ExternalMetric(TotalMetric):
    """A value outside the target. Samples are summed."""


class DescribedObject(Section):
    """The object of the metric. It is only shown."""

    api_version: Text | None = None
    kind: Text
    name: Text


class ObjectMetric(TotalMetric):
    """A value of another object: exactly one sample."""

    query: TotalQuery
    """Exactly one sample, or a scalar."""
    described_object: DescribedObject | None = None
    """What the metric is about. Only shown."""


class Metric(Section):
    """One metric: its type, and the body that belongs to the type."""

    type: Literal["Resource", "ContainerResource", "Pods", "Instances", "Object", "External"]
    """`Instances` is another name for `Pods`."""
    resource: ResourceMetric | None = Field(default=None, validate_default=True)
    """For type Resource."""
    container_resource: ContainerResourceMetric | None = Field(default=None, validate_default=True)
    """For type ContainerResource."""
    pods: PodsMetric | None = Field(default=None, validate_default=True)
    """For type Pods (or Instances)."""
    object_: ObjectMetric | None = Field(default=None, validate_default=True, alias="object")
    """For type Object."""
    external: ExternalMetric | None = Field(default=None, validate_default=True)
    """For type External."""

    bodies: ClassVar[Mapping[str, str]] = {
        "Resource": "resource",
        "ContainerResource": "container_resource",
        "Pods": "pods",
        "Instances": "pods",
        "Object": "object_",
        "External": "external",
    }

    @field_validator(*sorted(set(bodies.values())))
    @classmethod
    def _of_type(cls, body: Section | None, info: ValidationInfo) -> Section | None:
        kind = info.data.get("type")
        if kind is None:
            return body
        wanted = cls.bodies[kind] == info.field_name
        if body is None and wanted:
            raise ValueError(f"is missing; a metric of type {kind} needs it")
        if body is not None and not wanted:
            raise ValueError(f"does not belong to a metric of type {kind}; remove it, or correct the type")
        return body

    @property
    def key(self) -> str:
        """The key of the body that belongs to the type."""
        return to_camel(self.bodies[self.type].rstrip("_"))

    @property
    def body(self) -> ResourceMetric | PodsMetric | TotalMetric:
        """The body that belongs to the type."""
        body: ResourceMetric | PodsMetric | TotalMetric = getattr(self, self.bodies[self.type])
        return body

    def instance_queries(self) -> Iterator[tuple[Loc, InstanceQuery]]:
        """Yield the queries whose samples belong to instances, each with its place below the metric."""
        yield from find_values(self.body, InstanceQuery, (self.key,))

    def spec(self, shared: Shared) -> model.MetricSpec:
        """Return the frozen metric."""
        body = self.body
        request = body.request if isinstance(body, ResourceMetric) else None
        container = body if isinstance(body, ContainerResourceMetric) else None
        described = body.described_object if isinstance(body, ObjectMetric) else None
        return model.MetricSpec(
            model.MetricType("Pods" if self.type == "Instances" else self.type),
            body.name if isinstance(body, ResourceMetric) else body.metric.name,
            body.target.spec(),
            body.query.spec(shared),
            request.query.spec(shared) if isinstance(request, RequestQuery) else request,
            container=None if container is None else container.container,
            container_label=None if container is None else container.container_label,
            described_object=None if described is None else f"{described.kind}/{described.name}",
        )
