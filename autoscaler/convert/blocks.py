"""Autoscalers of the configuration as values, and as commented YAML for `create` and `import`."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import yaml

from autoscaler.config.document import FLOAT, INT
from autoscaler.convert.series import quoted
from autoscaler.text import plain

_COMMENT_COLUMN: Final = 36


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

    def lacks_request(self, metric: MetricBlock) -> bool:
        """Return whether a metric of the autoscaler needs a capacity that only its operator knows."""
        is_share = metric.target.get("type") == "Utilization"
        return is_share and metric.query.request is None and not self.reserves

    def unwritten_requests(self) -> Iterator[str]:
        """Yield, for each metric that lacks one, what its operator writes."""
        for index, metric in enumerate(self.metrics):
            if self.lacks_request(metric):
                name = metric.body["name"]
                yield f"metrics[{index}], {metric.type} {name}: write request, the capacity of one instance"

    def head(self) -> dict[str, Any]:
        """Return the values before `metrics`."""
        places = {"namespace": self.namespace, "region": self.region}
        given = {key: place for key, place in places.items() if place is not None}
        return {
            "name": self.name,
            **({"labels": dict(self.labels)} if self.labels else {}),
            "scaleTargetRef": {"adapter": self.adapter, "name": self.target, **given},
            "minReplicas": self.minimum,
            **({} if self.idle_replicas is None else {"idleReplicas": self.idle_replicas}),
            "maxReplicas": self.maximum,
            **({} if self.cooldown is None else {"cooldown": self.cooldown}),
            **({} if self.sync_period is None else {"syncPeriod": self.sync_period}),
            **({"dryRun": True} if self.dry_run else {}),
            **({"schedules": [dict(each) for each in self.schedules]} if self.schedules else {}),
        }


BODIES: Final = {
    "Resource": "resource",
    "ContainerResource": "containerResource",
    "Pods": "pods",
    "Object": "object",
    "External": "external",
}
"""Type of a metric -> the key of its body."""


def section_value(blocks: Sequence[AutoscalerBlock]) -> dict[str, Any]:
    """Return the plain values that a configuration with the section's lines has."""
    return {"autoscalers": [_value(block) for block in blocks]}


def _value(block: AutoscalerBlock) -> dict[str, Any]:
    metrics = [{"type": metric.type, BODIES[metric.type]: _metric_value(metric)} for metric in block.metrics]
    behavior = {} if block.behavior is None else {"behavior": block.behavior}
    return {**block.head(), "metrics": metrics, **behavior}


def _metric_value(metric: MetricBlock) -> dict[str, Any]:
    label = {} if metric.query.label is None else {"instanceLabel": metric.query.label}
    source = {} if metric.query.source is None else {"prometheus": metric.query.source}
    request = {} if not _has_request(metric) else {"request": metric.query.request}
    activation = {} if metric.activation is None else {"activation": metric.activation}
    fallback = {} if metric.fallback is None else {"fallback": metric.fallback}
    return {
        **metric.body,
        "query": {"expr": metric.query.expr, **label, **source},
        **request,
        "target": metric.target,
        **activation,
        **fallback,
    }


def _has_request(metric: MetricBlock) -> bool:
    return metric.target.get("type") == "Utilization" and metric.query.request is not None


def section_lines(blocks: Sequence[AutoscalerBlock]) -> list[str]:
    """Return the section `autoscalers`, in lines."""
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
    yield f"        {BODIES[metric.type]}:"
    for key, value in metric.body.items():
        yield f"          {key}: {flow(value)}"
    yield _beside("          query:", metric.hint)
    yield f"            expr: {flow(metric.query.expr)}"
    if metric.query.label is not None:
        yield _beside(f"            instanceLabel: {flow(metric.query.label)}", "names the instance")
    if metric.query.source is not None:
        yield f"            prometheus: {flow(metric.query.source)}"
    if _has_request(metric):
        yield _beside(f"          request: {flow(metric.query.request)}", "an instance's capacity")
    elif lacks_request:
        yield _beside("          # request:", "capacity of one instance: write it")
    elif metric.target.get("type") == "Utilization":
        yield _beside("          # request: 1", "left out: the instance's own reservation")
    yield f"          target: {flow(dict(metric.target))}"
    if metric.activation is not None:
        yield f"          activation: {flow(metric.activation)}"
    if metric.fallback is not None:
        line = f"          fallback: {flow(dict(metric.fallback))}"
        static = "allowScaleIn" in metric.fallback
        yield line if static else _beside(line, "to scale in to it as well, as Kubernetes does: allowScaleIn: true")


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


def block_lines(value: Any) -> list[str]:
    """Return a value in lines of YAML. A list or mapping of plain values takes one line."""
    text: str = yaml.dump(value, Dumper=_Dumper, default_flow_style=None, sort_keys=False, width=110)
    return text.splitlines()


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
    chosen = f"{{job={quoted(target.rpartition('/')[2])}}}"
    return {
        "cpu": UsualQuery(f"sum by (instance) (rate(process_cpu_seconds_total{chosen}[2m]))"),
        "memory": UsualQuery(f"sum by (instance) (process_resident_memory_bytes{chosen})"),
    }


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
