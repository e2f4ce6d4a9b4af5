"""The file's sections, apart from metrics, queries and behavior."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeAlias

from pydantic import AfterValidator, Field, SkipValidation, Strict, ValidationInfo, WithJsonSchema, field_validator

from autoscaler import model
from autoscaler.config.behavior import Behavior
from autoscaler.config.brakes import Brakes
from autoscaler.config.controller import Controller
from autoscaler.config.drain import Drain
from autoscaler.config.fields import (
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
    absolute,
    scope_of,
)
from autoscaler.config.grants import Grant
from autoscaler.config.metrics import Metric, Shared, TotalMetric
from autoscaler.config.queries import DEFAULT_SOURCE, InstanceQuery, SharedQuery
from autoscaler.config.schedules import NamedOrEntry, ScheduleEntry, Schedules, entries_of
from autoscaler.config.settings import (
    HaSettings,
    LogSettings,
    NotifySettings,
    PrometheusSource,
    StateSettings,
    WebSettings,
)
from autoscaler.target import Duration

_COOLDOWN: Final = timedelta(minutes=5)
_MAX_ENTRIES: Final = 100
"""Of the schedules of an autoscaler: each costs time in every cycle, and `check` compares each with each."""


def _check_idle(replicas: int) -> int:
    if replicas != 0:
        raise ValueError(f"{replicas} is not possible; write 0, or leave it out and raise minReplicas")
    return replicas


_IdleReplicas: TypeAlias = Annotated[
    int, Strict(), AfterValidator(_check_idle), WithJsonSchema({"const": 0, "type": "integer"})
]
"""Not Literal[0], which false is, too."""


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
    brakes: Brakes = Brakes()
    """Stop scaling while something is wrong with the target. Default: the controller's brakes."""
    schedules: tuple[NamedOrEntry, ...] = ()
    """Other bounds at times of the calendar: names of shared schedules, and entries; at most 100 entries together."""
    recover_size: Flag = True
    """false: a size that a deployment reset (Nomad, Docker Swarm) stays until the metrics change it."""
    warm_up: Duration | None = None
    """How long after an instance was first ready its samples do not count. Default: the Auto Scaling group's own."""
    drain: Drain | None = None
    """What happens to an instance that leaves before its back end ends it. Default: nothing."""
    idle_replicas: _IdleReplicas | None = None
    """0: while no metric is active, the size is 0 and not minReplicas. Default: as minReplicas: 0 with an activation
    or a cooldown."""
    cooldown: Duration | None = None
    """How long after the last activity the size goes to 0. Default: 5m."""

    @property
    def activations(self) -> Mapping[int, int]:
        """Return the activations that are written, by the metric's place."""
        bodies = {place: each.body for place, each in enumerate(self.metrics)}
        found = {place: body.activation for place, body in bodies.items() if isinstance(body, TotalMetric)}
        return {place: activation for place, activation in found.items() if activation is not None}

    @property
    def can_idle(self) -> bool:
        """Return whether the size depends on activity."""
        follows_activity = self.cooldown is not None or bool(self.activations)
        return self.idle_replicas == 0 or (self.min_replicas == 0 and follows_activity)

    @field_validator("max_replicas")
    @classmethod
    def _not_below_min(cls, maximum: int, info: ValidationInfo) -> int:
        minimum = info.data.get("min_replicas", 0)
        if maximum < minimum:
            raise ValueError(f"{maximum} is below minReplicas {minimum}; raise it, or lower minReplicas")
        return maximum

    @field_validator("schedules")
    @classmethod
    def _not_too_many(cls, schedules: Sequence[str | ScheduleEntry], info: ValidationInfo) -> object:
        shared = scope_of(info)["schedules"]
        named = [shared[each] for each in schedules if isinstance(each, str)]
        entries = len(schedules) - len(named) + sum(len(each) for each in named if isinstance(each, Sequence))
        if entries > _MAX_ENTRIES:
            raise ValueError(f"they have {entries:,} entries; write at most {_MAX_ENTRIES}")
        return schedules

    @field_validator("drain")
    @classmethod
    def _drainable(cls, drain: Drain | None, info: ValidationInfo) -> Drain | None:
        ref = info.data.get("scale_target_ref")
        kind = None if ref is None else scope_of(info)["adapters"].get(ref.adapter)
        problem = None if drain is None or ref is None or kind is None else drain.problem(ref.adapter, kind)
        if problem is not None:
            raise ValueError(problem)
        return drain

    def spec(
        self, controller: Controller, options: model.ControllerOptions, shared: Shared, schedules: Schedules
    ) -> model.Autoscaler:
        """Return the frozen autoscaler, with the controller's options."""
        victims = self.scale_target_ref.victims
        metrics = tuple([self._metric(metric.spec(shared)) for metric in self.metrics])
        return model.Autoscaler(
            name=self.name,
            target=self.scale_target_ref.ref(),
            min_replicas=self.min_replicas,
            max_replicas=self.max_replicas,
            metrics=metrics,
            behavior=self.behavior.spec() if self.behavior else None,
            options=options,
            sync_period=self.sync_period or controller.sync_period,
            dry_run=self.dry_run or controller.dry_run,
            victims=victims.spec(shared) if victims else None,
            labels=tuple(sorted(self.labels.items())),
            brakes=self.brakes.spec(controller.brakes),
            warm_up=self.warm_up,
            schedules=tuple([entry for _, entry in entries_of(self.schedules, schedules)]),
            recover_size=self.recover_size,
            drain=None if self.drain is None else self.drain.spec(),
            cooldown=None if not self.can_idle else _COOLDOWN if self.cooldown is None else self.cooldown,
        )

    def _metric(self, metric: model.MetricSpec) -> model.MetricSpec:
        """Return the metric with its activation, or without one if the size does not depend on activity."""
        waking = self.can_idle and metric.type in (model.MetricType.OBJECT, model.MetricType.EXTERNAL)
        return replace(metric, activation=(metric.activation or 0) if waking else None)


DEFAULT_SOURCES: Final = {DEFAULT_SOURCE: PrometheusSource("http://localhost:9090")}


class File(Section):
    """The whole file."""

    # `entries.py` reads each source, query, schedule and autoscaler by itself

    controller: Controller = Controller()
    """Numbers that all autoscalers share."""
    prometheus: Annotated[Mapping[Text, SkipValidation[PrometheusSource]], Field(min_length=1)] = DEFAULT_SOURCES
    """Sources by name. A query without a source asks `default`."""
    adapters: Mapping[Word, Any] = Field(default_factory=dict)
    """Connections to back ends by name; each type has keys of its own."""
    queries: Mapping[Text, SkipValidation[SharedQuery]] = Field(default_factory=dict)
    """Shared queries by name. Each runs once in a cycle for all metrics that use it."""
    schedules: Mapping[Text, Annotated[tuple[SkipValidation[ScheduleEntry], ...], Field(min_length=1)]] = Field(
        default_factory=dict
    )
    """Shared schedules by name."""
    autoscalers: tuple[SkipValidation[Autoscaler], ...]
    autoscalers_dir: Annotated[Path, AfterValidator(absolute)] | None = None
    """A folder with a folder of autoscalers for each team. Default: there is none."""
    grants: Mapping[Word, Grant] = Field(default_factory=dict)
    """What the autoscalers in a team's folder may have, by the folder's name."""
    state: StateSettings = StateSettings()
    """Where state is kept."""
    ha: HaSettings = HaSettings()
    """The leases of daemons that share a state."""
    web: WebSettings = WebSettings()
    """The daemon's own HTTP server."""
    log: LogSettings = LogSettings()
    """What is logged."""
    notify: NotifySettings = NotifySettings()
    """Who is told of scaling and of what prevents it."""
