"""The file's sections, apart from metrics, queries and behavior."""

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import Field, GetCoreSchemaHandler, GetJsonSchemaHandler, ValidationInfo, field_validator
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from autoscaler import model
from autoscaler.config.behavior import Behavior
from autoscaler.config.controller import Controller
from autoscaler.config.grants import Grant
from autoscaler.config.metrics import Metric, Shared
from autoscaler.config.problems import adapter_of
from autoscaler.config.settings import (
    HaSettings,
    LogSettings,
    NotifySettings,
    PrometheusSource,
    StateSettings,
    WebSettings,
)
from autoscaler.fields.queries import DEFAULT_SOURCE, InstanceQuery, SharedQuery
from autoscaler.fields.types import (
    AdapterName,
    Count,
    CountOrZero,
    DnsName,
    Flag,
    LabelKey,
    LabelValue,
    Section,
    SyncPeriod,
    Text,
    Word,
    scope_of,
)
from autoscaler.rules import RULES, with_rule_keys
from autoscaler.rules.rule import Written
from autoscaler.rules.schedules.keys import EntryKeys, SharedSchedules
from autoscaler.target import ConfigPath


class Victims(Section):
    """Which instances leave first."""

    select: Literal["oldest", "newest", "least"]
    """least: those with the lowest sample of `query`."""
    query: InstanceQuery | None = Field(default=None, validate_default=True)
    """One sample for each instance; only with `least`."""

    @field_validator("query")
    @classmethod
    def _for_least(cls, query: InstanceQuery | None, info: ValidationInfo) -> InstanceQuery | None:
        select = info.data.get("select")
        if select == "least" and query is None:
            raise ValueError("is missing; select: least needs it")
        if select in ("oldest", "newest") and query is not None:
            raise ValueError(f"is used with select: least only; remove it, or replace select: {select}")
        return query

    def spec(self, shared: Shared) -> model.VictimRule:
        """Return the frozen rule."""
        return model.VictimRule(model.VictimOrder(self.select), self.query.spec(shared) if self.query else None)


class ScaleTargetRef(Section):
    """What is scaled."""

    adapter: AdapterName
    """Name of the connection in `adapters`."""
    name: Text
    """The back end's own name: a group, a service, `job/group` for Nomad, a pool."""
    namespace: Text | None = None
    region: Text | None = None
    victims: Victims | None = None
    """Which instances leave first. Default: the back end chooses."""

    @field_validator("namespace", "region", "victims")
    @classmethod
    def _taken(cls, value: object, info: ValidationInfo) -> object:
        kind = scope_of(info)["adapters"].get(info.data.get("adapter", ""))
        if value is not None and kind is not None and info.field_name not in kind.target_keys:
            raise ValueError(f"adapter {info.data['adapter']!r} does not take {info.field_name}; remove it")
        return value

    def ref(self) -> model.TargetRef:
        """Return the frozen name."""
        return model.TargetRef(self.adapter, self.name, self.namespace, self.region)


@with_rule_keys(lambda rule: rule.keys)
class Autoscaler(Section):
    """An autoscaling/v2 HPA spec with a query beside each metric."""

    name: DnsName
    """Unique in the file."""
    labels: Mapping[LabelKey, LabelValue] = Field(default_factory=dict)
    """To select autoscalers by, as in `autoscaler get -l team=shop`; in Kubernetes' syntax."""
    scale_target_ref: ScaleTargetRef
    min_replicas: CountOrZero = 1
    """0 only with an Object or External metric."""
    max_replicas: Count
    metrics: Annotated[tuple[Metric, ...], Field(min_length=1)]
    """The metric that proposes the most replicas decides."""
    behavior: Behavior | None = None
    """Default: HPA's algorithm without behavior."""
    sync_period: SyncPeriod | None = None
    """How often it decides; at least 1s. Default: the controller's."""
    dry_run: Flag = False
    """true: decide and log, write nothing."""

    @field_validator("max_replicas")
    @classmethod
    def _not_below_min(cls, maximum: int, info: ValidationInfo) -> int:
        minimum = info.data.get("min_replicas", 0)
        if maximum < minimum:
            raise ValueError(f"{maximum} is below minReplicas {minimum}; raise it, or lower minReplicas")
        return maximum

    def written(self, shared: Shared, schedules: SharedSchedules, controller: Controller | None = None) -> Written[Any]:
        """Return the sections that its rules are made of."""
        bodies, keys = [each.body for each in self.metrics], [each.key for each in self.metrics]
        return Written(self, self.min_replicas, self.max_replicas, bodies, keys, controller, shared, schedules)

    def spec(
        self, controller: Controller, options: model.ControllerOptions, shared: Shared, schedules: SharedSchedules
    ) -> model.Autoscaler:
        """Return the frozen autoscaler, with the controller's options."""
        victims = self.scale_target_ref.victims
        written = self.written(shared, schedules, controller)
        found = [rule for rule in [kind.configured(written) for kind in RULES] if rule is not None]
        return model.Autoscaler(
            name=self.name,
            target=self.scale_target_ref.ref(),
            min_replicas=self.min_replicas,
            max_replicas=self.max_replicas,
            metrics=tuple([metric.spec(shared) for metric in self.metrics]),
            behavior=self.behavior.spec() if self.behavior else None,
            options=options,
            sync_period=self.sync_period or controller.sync_period,
            dry_run=self.dry_run or controller.dry_run,
            victims=victims.spec(shared) if victims else None,
            labels=tuple(sorted(self.labels.items())),
            rules=model.Rules(found) if found else model.NO_RULES,
        )


DEFAULT_SOURCES: Final = {DEFAULT_SOURCE: PrometheusSource("http://localhost:9090")}


class DescribedOnly:
    """Marks a section that `entries.py` reads: the file's schema describes it, and the file takes any value for it.

    pydantic's SkipValidation would build the section's validators a second time.
    """

    def __init__(self, section: type) -> None:
        self._section: Any = section

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.any_schema()

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        described = core_schema.definitions_schema(adapter_of(self._section).core_schema, [])  # is referred to by name
        return handler(described)


class File(Section):
    """The whole file."""

    controller: Controller = Controller()
    """Numbers that all autoscalers share."""
    prometheus: Annotated[
        Mapping[Text, Annotated[PrometheusSource, DescribedOnly(PrometheusSource)]], Field(min_length=1)
    ] = DEFAULT_SOURCES
    """Sources by name. A query without a source asks `default`."""
    adapters: Mapping[Word, Any] = Field(default_factory=dict)
    """Connections to back ends by name; each type has keys of its own."""
    queries: Mapping[Text, Annotated[SharedQuery, DescribedOnly(SharedQuery)]] = Field(default_factory=dict)
    """Shared queries by name. Each runs once in a cycle for all metrics that use it."""
    schedules: Mapping[
        Text, Annotated[tuple[Annotated[EntryKeys, DescribedOnly(EntryKeys)], ...], Field(min_length=1)]
    ] = Field(default_factory=dict)
    """Shared schedules by name."""
    autoscalers: tuple[Annotated[Autoscaler, DescribedOnly(Autoscaler)], ...]
    autoscalers_dir: ConfigPath | None = None
    """A folder with a folder of autoscalers for each team. Default: there is none."""
    grants: Mapping[Word, Grant] = Field(default_factory=dict)
    """What the autoscalers in a team's folder may have, by the folder's name."""
    state: StateSettings = StateSettings()
    """Where state is kept."""
    ha: HaSettings = HaSettings()
    """The lease of the daemon that leads, of those that share a state."""
    web: WebSettings = WebSettings()
    """The daemon's own HTTP server."""
    log: LogSettings = LogSettings()
    """What is logged."""
    notify: NotifySettings = NotifySettings()
    """Where notices of scaling, and of what prevents it, are sent."""
