"""The metrics of an autoscaler: autoscaling/v2's five types, each with its query."""

from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any, ClassVar, Final, Literal, TypeAlias

from pydantic import Discriminator, Field, PlainValidator, Tag, ValidationInfo, field_validator
from pydantic.json_schema import SkipJsonSchema

from autoscaler import model
from autoscaler.config.fields import Count, LabelName, PositiveQuantity, Section, Text
from autoscaler.config.queries import InstanceQuery, SharedQuery, TotalQuery

Shared: TypeAlias = Mapping[str, SharedQuery]

_VALUE_KEYS: Final = {"value": "Value", "average_value": "AverageValue", "average_utilization": "Utilization"}


class Target(Section):
    """The value to hold: exactly the key that `type` names."""

    type: Literal["Utilization", "Value", "AverageValue"]
    """Utilization: percents of the request; AverageValue: for each instance; Value: as it is."""
    value: PositiveQuantity | None = Field(default=None, validate_default=True)
    """For type Value."""
    average_value: PositiveQuantity | None = Field(default=None, validate_default=True)
    """For type AverageValue."""
    average_utilization: Count | None = Field(default=None, validate_default=True)
    """For type Utilization, in whole percents."""

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
        """The frozen target."""
        value = self.average_utilization or self.average_value or self.value or 0
        return model.MetricTarget(model.TargetType(self.type), value)


class ResourceTarget(Target):
    """For each instance."""

    type: Literal["Utilization", "AverageValue"]
    """Utilization: percents of the request; AverageValue: for each instance, raw."""


class PodsTarget(Target):
    """For each instance, raw."""

    type: Literal["AverageValue"]
    """AverageValue: for each instance."""


class TotalTarget(Target):
    """For all instances together."""

    type: Literal["Value", "AverageValue"]
    """Value: as it is; AverageValue: divided by the number of instances."""


def _refuse_selector(_: Any) -> None:
    raise ValueError("a selector has no meaning here; write it into the query")


class MetricIdentifier(Section):
    """What the metric is called: shown, never looked up."""

    name: Text
    """Shown in decisions and events."""
    selector: SkipJsonSchema[Annotated[None, PlainValidator(_refuse_selector)]] = None


class RequestQuery(Section):
    """A capacity that is asked for."""

    query: InstanceQuery
    """Joined to instances like the metric."""


def _form_of_request(value: Any) -> str:
    """The tag is a part of pydantic's locations: it must not look like a key."""
    return "a query" if isinstance(value, dict | RequestQuery) else "a quantity"


Request: TypeAlias = Annotated[
    Annotated[PositiveQuantity, Tag("a quantity")] | Annotated[RequestQuery, Tag("a query")],
    Discriminator(_form_of_request),
]


class ResourceMetric(Section):
    """Per instance, against its capacity."""

    name: Text
    """`cpu` follows HPA's readiness rule for cpu; any other name does not."""
    query: InstanceQuery
    """One sample for each instance."""
    target: ResourceTarget
    """The value to hold."""
    request: Request | None = None
    """Capacity of an instance, for Utilization. Default: its own reservation, where the adapter knows it."""

    @field_validator("request")
    @classmethod
    def _for_utilization(cls, request: Any, info: ValidationInfo) -> Any:
        target = info.data.get("target")
        if request is not None and target is not None and target.type != "Utilization":
            raise ValueError(f"has no meaning with a target of type {target.type}; remove it, or write Utilization")
        return request

    def spec(self, kind: model.MetricType, shared: Shared) -> model.MetricSpec:
        """The frozen metric."""
        request = self.request.query.spec(shared) if isinstance(self.request, RequestQuery) else self.request
        return model.MetricSpec(kind, self.name, self.target.spec(), self.query.spec(shared), request)


class ContainerResourceMetric(ResourceMetric):
    """Per instance, one container or task of it."""

    container: Text
    """The container's or task's name."""
    container_label: LabelName | None = None
    """Label that names the container. Default: the first present of task, container."""

    def spec(self, kind: model.MetricType, shared: Shared) -> model.MetricSpec:
        """The frozen metric."""
        base = super().spec(kind, shared)
        return model.MetricSpec(
            kind, base.name, base.target, base.query, base.request, self.container, self.container_label
        )


class PodsMetric(Section):
    """Per instance, raw."""

    metric: MetricIdentifier
    query: InstanceQuery
    """One sample for each instance."""
    target: PodsTarget

    def spec(self, kind: model.MetricType, shared: Shared) -> model.MetricSpec:
        """The frozen metric."""
        return model.MetricSpec(kind, self.metric.name, self.target.spec(), self.query.spec(shared))


class ExternalMetric(Section):
    """A vector that is summed."""

    metric: MetricIdentifier
    query: TotalQuery
    """Its samples are summed."""
    target: TotalTarget

    def spec(self, kind: model.MetricType, shared: Shared) -> model.MetricSpec:
        """The frozen metric."""
        return model.MetricSpec(kind, self.metric.name, self.target.spec(), self.query.spec(shared))


class DescribedObject(Section):
    """What the metric is about. Only shown."""

    api_version: Text | None = None
    kind: Text
    name: Text


class ObjectMetric(Section):
    """Exactly one sample."""

    described_object: DescribedObject | None = None
    """What the metric is about. Only shown."""
    metric: MetricIdentifier
    query: TotalQuery
    """Exactly one sample, or a scalar."""
    target: TotalTarget

    def spec(self, kind: model.MetricType, shared: Shared) -> model.MetricSpec:
        """The frozen metric."""
        described = self.described_object
        return model.MetricSpec(
            kind,
            self.metric.name,
            self.target.spec(),
            self.query.spec(shared),
            described_object=f"{described.kind}/{described.name}" if described else None,
        )


class Metric(Section):
    """One metric: its type, and the body that belongs to the type."""

    type: Literal["Resource", "ContainerResource", "Pods", "Instances", "Object", "External"]
    """`Instances` is another word for `Pods`."""
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

    def instance_queries(self) -> Iterator[tuple[tuple[str, ...], InstanceQuery]]:
        """The queries whose samples belong to instances, each with where it stands below the metric."""
        bodies = {"resource": self.resource, "containerResource": self.container_resource, "pods": self.pods}
        for key, body in bodies.items():
            if body is None:
                continue
            yield (key, "query"), body.query
            if isinstance(body, ResourceMetric) and isinstance(body.request, RequestQuery):
                yield (key, "request", "query"), body.request.query

    def spec(self, shared: Shared) -> model.MetricSpec:
        """The frozen metric."""
        build: Callable[[model.MetricType, Shared], model.MetricSpec] = getattr(self, self.bodies[self.type]).spec
        return build(model.MetricType("Pods" if self.type == "Instances" else self.type), shared)
