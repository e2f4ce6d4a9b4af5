"""The fields of a ScaledObject, as KEDA 2.20 reads them.

Source: keda.sh/docs, "ScaledObject specification", and KEDA's apis/keda/v1alpha1.
"""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from pydantic.alias_generators import to_camel

from autoscaler.config.behavior import Behavior
from autoscaler.convert.hpa import Count
from autoscaler.convert.imported import MAX_NAME, AnyText

_MetricType: TypeAlias = Literal["AverageValue", "Value", "Utilization"]


class _KedaModel(BaseModel):
    """Other fields are kept as extra ones: KEDA adds some with each version."""

    model_config = ConfigDict(extra="allow", frozen=True, alias_generator=to_camel)


class Reference(_KedaModel):
    """The object that is scaled."""

    name: str
    api_version: Any = None
    kind: Any = None
    env_source_container_name: Any = None


class Trigger(_KedaModel):
    """A source of a metric."""

    type: str
    name: str | None = None
    metadata: Mapping[str, AnyText] = Field(default_factory=dict)
    metric_type: Annotated[_MetricType | None, BeforeValidator(lambda value: None if value == "" else value)] = None
    """Go does not tell an empty text from an omitted one."""
    authentication_ref: Any = None
    use_cached_metrics: Any = None


class Fallback(_KedaModel):
    """The size while a trigger fails."""

    failure_threshold: Count
    replicas: Count
    behavior: str = "static"


class HpaConfig(_KedaModel):
    """The HPA that KEDA makes."""

    name: Any = None
    behavior: Behavior | None = None


class Advanced(_KedaModel):
    """Rare settings."""

    horizontal_pod_autoscaler_config: HpaConfig = HpaConfig()
    restore_to_original_replica_count: Any = None


class Spec(_KedaModel):
    """What a ScaledObject asks for."""

    scale_target_ref: Reference
    polling_interval: Count = 30
    cooldown_period: Count = 300
    initial_cooldown_period: Any = None
    min_replica_count: Count = 0
    idle_replica_count: Count | None = None
    max_replica_count: Count = 100
    fallback: Fallback | None = None
    advanced: Advanced = Advanced()
    triggers: tuple[Trigger, ...]

    @property
    def can_idle(self) -> bool:
        """Return whether it goes to 0 while no trigger is active."""
        return 0 in (self.min_replica_count, self.idle_replica_count)


def unknown_fields(model: BaseModel, path: str) -> Iterator[str]:
    """Yield the path of each field in the manifest that `import` does not know, also in nested objects.

    `model`: the manifest, or a part of it. `path`: its own path, such as `spec`.
    """
    for key in sorted(model.model_extra or ()):
        yield f"{path}.{key[:MAX_NAME]}"
    for name in type(model).model_fields:
        value = getattr(model, name)
        key = to_camel(name)
        for index, each in enumerate(value if isinstance(value, tuple) else (value,)):
            if isinstance(each, BaseModel):
                at = f"{key}[{index}]" if isinstance(value, tuple) else key
                yield from unknown_fields(each, at if path == "spec" else f"{path}.{at}")
