"""Autoscalers of the configuration as values, and as commented YAML for `create` and `import`."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import yaml

from autoscaler.config.document import FLOAT, INT
from autoscaler.fields.kept_labels import quoted
from autoscaler.model import TargetRef
from autoscaler.text import plain

_COMMENT_COLUMN: Final = 36


@dataclass(frozen=True, slots=True)
class Source:
    """A server, and how it is asked: what one tenant sees is not what another one sees."""

    address: str
    options: tuple[tuple[str, str], ...] = ()
    """Headers, parameters, credentials and whatever else an answer depends on: key and value."""


@dataclass(frozen=True, slots=True)
class UsualQuery:
    """PromQL for a resource of each instance, by the usual exporter of an adapter."""

    expr: str
    request: Mapping[str, Any] | int | str | None = None
    """The capacity of an instance; None: its own reservation, which the adapter knows."""
    label: str | None = None
    """The label that names the instance, if it is not a usual one."""
    source: str | None = None
    """The name of its Prometheus in `prometheus`; None: the default one."""


@dataclass(frozen=True, slots=True)
class MetricBlock:
    """One metric to write. The keys of `body` precede the query, `target` follows it."""

    type: str
    body: Mapping[str, Any]
    target: Mapping[str, Any]
    query: UsualQuery
    hint: str
    """The comment beside the query."""
    fallback: Mapping[str, Any] | None = None
    activation: str | None = None
    server: Source | None = None
    """What the original asks; None: the default source."""

    @property
    def key(self) -> str:
        """The key of its body."""
        return self.type[:1].lower() + self.type[1:]

    @property
    def is_share(self) -> bool:
        """Whether the target is a share of an instance's capacity."""
        return self.target.get("type") == "Utilization"

    @property
    def value(self) -> dict[str, Any]:
        """The plain values of its body."""
        query = {"expr": self.query.expr, "instanceLabel": self.query.label, "prometheus": self.query.source}
        more = {
            "query": _given(query),
            "request": self.query.request if self.is_share else None,
            "target": self.target,
            "activation": self.activation,
            "fallback": self.fallback,
        }
        return {**self.body, **_given(more)}


NO_METRIC: Final = MetricBlock(
    "External",
    {"metric": {"name": "none"}},
    {"type": "AverageValue", "averageValue": 1},
    UsualQuery("vector(0)"),
    "a constant: the schedule alone sets the size",
)
"""What an autoscaler that has schedules alone is given: each needs a metric."""


@dataclass(frozen=True, slots=True)
class AutoscalerBlock:
    """One autoscaler to write."""

    name: str
    adapter: str
    target: str
    minimum: int
    maximum: int
    metrics: Sequence[MetricBlock]
    behavior: Mapping[str, Any] | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    namespace: str | None = None
    """The target's; None: the connection's."""
    region: str | None = None
    """As `namespace`."""
    schedules: Sequence[Mapping[str, Any]] = ()
    sync_period: str | None = None
    dry_run: bool = False
    idle_replicas: int | None = None
    cooldown: str | None = None
    reserves: bool = True
    """Whether the target's instances are known to have reservations of their own."""

    @property
    def ref(self) -> TargetRef:
        """The target."""
        return TargetRef(self.adapter, self.target, self.namespace, self.region)

    def lacks_request(self, metric: MetricBlock) -> bool:
        """Return whether the user must write the metric's `request`.

        That is so for a Utilization target, if neither a query nor the instances' reservations give the capacity.
        """
        return metric.is_share and metric.query.request is None and not self.reserves

    def unwritten_requests(self) -> Iterator[str]:
        """Yield a line for each metric whose `request` the user must still write.

        Such as `metrics[0], Resource cpu: write request, the capacity of one instance`.
        """
        for index, metric in enumerate(self.metrics):
            if self.lacks_request(metric):
                name = metric.body["name"]
                yield f"metrics[{index}], {metric.type} {name}: write request, the capacity of one instance"

    def head(self) -> dict[str, Any]:
        """Return the values before `metrics`."""
        target = {"adapter": self.adapter, "name": self.target, "namespace": self.namespace, "region": self.region}
        head = {
            "name": self.name,
            "labels": dict(self.labels) or None,
            "scaleTargetRef": _given(target),
            "minReplicas": self.minimum,
            "idleReplicas": self.idle_replicas,
            "maxReplicas": self.maximum,
            "cooldown": self.cooldown,
            "syncPeriod": self.sync_period,
            "dryRun": self.dry_run or None,
            "schedules": [dict(each) for each in self.schedules] or None,
        }
        return _given(head)


def _given(values: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None}


def section_value(blocks: Sequence[AutoscalerBlock]) -> dict[str, Any]:
    """Return `section_lines` as plain values, as a YAML parser would read them."""
    return {"autoscalers": [_value(block) for block in blocks]}


def _value(block: AutoscalerBlock) -> dict[str, Any]:
    metrics = [{"type": metric.type, metric.key: metric.value} for metric in block.metrics]
    return {**block.head(), "metrics": metrics, **_given({"behavior": block.behavior})}


def section_lines(blocks: Sequence[AutoscalerBlock]) -> list[str]:
    """Return the section `autoscalers` as lines of YAML, with comments."""
    return ["autoscalers:", *[line for block in blocks for line in _block(block)]]


def _block(block: AutoscalerBlock) -> Iterator[str]:
    for number, (key, value) in enumerate(block.head().items()):
        yield f"{'    ' if number else '  - '}{key}: {flow(value)}"
    yield _beside("    metrics:", "the metric that asks for most decides")
    for metric in block.metrics:
        yield from _metric(metric, lacks_request=block.lacks_request(metric))
    if block.behavior is None:
        yield _beside("    # behavior:", "left out: HPA's defaults. To scale in more slowly:")
        yield "    #   scaleDown: {policies: [{type: Percent, value: 10, periodSeconds: 60}]}"
    else:
        yield "    behavior:"
        text = yaml.dump(dict(block.behavior), Dumper=_Dumper, sort_keys=False, width=100)
        yield from (f"      {line}" for line in text.splitlines())


def _metric(metric: MetricBlock, *, lacks_request: bool) -> Iterator[str]:
    yield f"      - type: {metric.type}"
    yield f"        {metric.key}:"
    comments = {"instanceLabel": "names the instance", "request": "an instance's capacity"}
    if metric.fallback is not None and "allowScaleIn" not in metric.fallback:
        comments["fallback"] = "to scale in to it as well, as Kubernetes does: allowScaleIn: true"

    def lines(values: Mapping[str, Any], indent: str) -> Iterator[str]:
        for key, value in values.items():
            if key == "query":
                yield _beside(f"{indent}query:", metric.hint)
                yield from lines(value, f"{indent}  ")
                continue
            if key == "target" and lacks_request:
                yield _beside(f"{indent}# request:", "capacity of one instance: write it")
            elif key == "target" and metric.is_share and metric.query.request is None:
                yield _beside(f"{indent}# request: 1", "left out: the instance's own reservation")
            line = f"{indent}{key}: {flow(value)}"
            yield _beside(line, comments[key]) if key in comments else line

    yield from lines(metric.value, " " * 10)


def _beside(line: str, comment: str) -> str:
    return f"{line.ljust(_COMMENT_COLUMN - 2)}  # {plain(comment)}"


class _Dumper(yaml.SafeDumper):
    """Writes ASCII without aliases. It quotes texts that YAML would read as another type."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - the signature is the base class's
        """Return True: a repeated value is written again."""
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    """Represent a text; one with unprintable characters is in double quotes."""
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=None if text.isprintable() else '"')


_Dumper.add_representer(str, _text)
for _number in (INT, FLOAT):  # PyYAML's own are YAML 1.1's: it would write the name 1e3 without quotes
    _Dumper.add_implicit_resolver(
        "tag:yaml.org,2002:float", re.compile(rf"(?:{_number.pattern})\Z"), list("-+.0123456789")
    )


def flow(value: Any) -> str:
    """Return a value in one line of YAML."""
    text: str = yaml.dump(value, Dumper=_Dumper, default_flow_style=True, sort_keys=False, width=float("inf"))
    return text.removesuffix("...\n").rstrip("\n")


def name_of(target: str) -> str:
    """Return a DNS name for a target's name: `shop/web_1` becomes `shop-web-1`, `Shop.-web_` becomes `shop.web`."""
    labels = [re.sub(r"[^a-z0-9]+", "-", part).strip("-") for part in target.lower().split(".")]
    return ".".join(filter(None, labels))[:253].strip("-.") or "autoscaler"


def usual_query(resource: str, adapter_type: str | None, target: str) -> UsualQuery | None:
    """Return the usual query for `cpu` or `memory` on this adapter type (None: unknown); None for other resources."""
    makers = {"aws-asg": _aws_asg, "aws-ecs": _aws_ecs, "docker-swarm": _docker_swarm, "nomad": _nomad}
    return makers.get(adapter_type or "", _process)(target).get(resource)


def _aws_asg(group: str) -> Mapping[str, UsualQuery]:
    """Return queries for node_exporter, with the group's name in the label `asg`."""
    name = quoted(group)
    total = f"node_memory_MemTotal_bytes{{asg={name}}}"
    cores = f'count by (instance_id) (node_cpu_seconds_total{{asg={name},mode="idle"}})'
    return {
        "cpu": UsualQuery(
            f'sum by (instance_id) (rate(node_cpu_seconds_total{{asg={name},mode!="idle"}}[2m]))', _asked(cores)
        ),
        "memory": UsualQuery(
            f"sum by (instance_id) ({total} - node_memory_MemAvailable_bytes{{asg={name}}})",
            _asked(f"sum by (instance_id) ({total})"),
        ),
    }


def _aws_ecs(target: str) -> Mapping[str, UsualQuery]:
    """Return queries for the process metrics of every Prometheus client library, with the service's name as `job`."""
    return _process(target.rpartition("/")[2])


def _docker_swarm(service: str) -> Mapping[str, UsualQuery]:
    """Return queries for cAdvisor."""
    label = "container_label_com_docker_swarm_task_id"
    chosen = f"{{container_label_com_docker_swarm_service_name={quoted(service)}}}"
    return {
        "cpu": UsualQuery(f"sum by ({label}) (rate(container_cpu_usage_seconds_total{chosen}[2m]))", label=label),
        "memory": UsualQuery(f"sum by ({label}) (container_memory_working_set_bytes{chosen})", label=label),
    }


def _nomad(target: str) -> Mapping[str, UsualQuery]:
    """Return queries for a target. One without a slash is a job's name."""
    job, slash, group = target.rpartition("/")
    return nomad_queries(job, group) if slash else nomad_queries(target, None)


def nomad_queries(job: str, group: str | None) -> Mapping[str, UsualQuery]:
    """Return queries for Nomad itself, scraped with `honor_labels: true`. None: for all groups of the job."""
    chosen = f"{{job={quoted(job)}}}" if group is None else f"{{job={quoted(job)},task_group={quoted(group)}}}"
    return {
        "cpu": UsualQuery(f"sum by (alloc_id) (nomad_client_allocs_cpu_total_ticks{chosen})"),
        "memory": UsualQuery(f"sum by (alloc_id) (nomad_client_allocs_memory_rss{chosen})"),
    }


def _process(target: str) -> Mapping[str, UsualQuery]:
    """Return queries for the process metrics of every Prometheus client library."""
    chosen = f"{{job={quoted(target)}}}"
    return {
        "cpu": UsualQuery(f"sum by (instance) (rate(process_cpu_seconds_total{chosen}[2m]))"),
        "memory": UsualQuery(f"sum by (instance) (process_resident_memory_bytes{chosen})"),
    }


def _asked(expr: str) -> Mapping[str, Any]:
    return {"query": {"expr": expr}}
