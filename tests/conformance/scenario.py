"""Reads scenario files into the model's values.

A file, plain or gzipped, has one scenario a line, as JSON. Quantities are integers in thousandths; times are seconds
on one virtual clock. Recommendations, scale events and conditions carry over from step to step.

- `config`: tolerance, downscaleStabilizationSeconds, cpuInitializationPeriodSeconds, initialReadinessDelaySeconds,
  scaleToZero
- `spec`: minReplicas, maxReplicas, `behavior` as in autoscaling/v2 or null, metrics: type, name, target
- `steps[].t`: now
- `steps[].scale`: replicas and statusReplicas set from outside before the step
- `steps[].minReplicas`, `maxReplicas`: the spec's values from this step on
- `steps[].getScaleError`, `updateScaleError`: reading or writing the target fails with this text
- `steps[].instances`: name, phase, ready (null: unknown), readyTransition, started, deleting, requests
- `steps[].metrics`: by the metric's index: `samples` per instance, `value` (Object), `values` (External) or `error`
- `steps[].expect`: scaleTo, currentReplicas, desiredReplicas, conditions, events, currentMetrics, error
"""

import gzip
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, NotRequired, TypedDict

import msgspec

from autoscaler.errors import TargetUnavailable
from autoscaler.model import (
    DEFAULT_SCALE_DOWN,
    DEFAULT_SCALE_UP,
    Autoscaler,
    Behavior,
    ControllerOptions,
    Failure,
    Instance,
    InstanceReading,
    MetricSpec,
    MetricTarget,
    MetricType,
    Observation,
    Phase,
    PolicyType,
    Query,
    Reading,
    Sample,
    ScalingPolicy,
    ScalingRules,
    SelectPolicy,
    TargetRef,
    TargetState,
    TargetType,
    ValueReading,
)
from autoscaler.quantity import parse_quantity
from tests.replaced import replace

EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
"""Second 0 of every scenario's clock."""

_PHASES = {str(phase): phase for phase in Phase}
_TARGET_KEYS = {
    "averageUtilization": TargetType.UTILIZATION,
    "value": TargetType.VALUE,
    "averageValue": TargetType.AVERAGE_VALUE,
}


class _StepDocument(TypedDict):
    """A step as in the file. Each instance is still text, because most are in many steps and are read once."""

    t: float
    scale: NotRequired[Mapping[str, int]]
    minReplicas: NotRequired[int]
    maxReplicas: NotRequired[int]
    getScaleError: NotRequired[str]
    updateScaleError: NotRequired[str]
    instances: Sequence[msgspec.Raw]
    metrics: Mapping[str, Any]
    expect: Mapping[str, Any]


class _Document(TypedDict):
    """A line of the file."""

    id: str
    config: Mapping[str, Any]
    spec: Mapping[str, Any]
    steps: Sequence[_StepDocument]


_DECODER: Final = msgspec.json.Decoder(_Document)


@dataclass(frozen=True, slots=True)
class Step:
    """One reconcile: what changes before it, what it sees and what the real controller answered."""

    now: datetime
    scale: tuple[int, int] | None
    """replicas, statusReplicas set from outside; None: as the last step left them."""
    scaler: Autoscaler
    instances: tuple[Instance, ...]
    readings: tuple[Reading | Failure, ...]
    get_scale_error: str | None
    update_scale_error: str | None
    expect: Mapping[str, Any]

    def observation(self, replicas: int, status_replicas: int) -> Observation:
        """What `decide` is given at this step."""
        if self.get_scale_error is not None:
            return Observation(TargetUnavailable(self.get_scale_error), self.readings)
        return Observation(TargetState(replicas, status_replicas, self.instances), self.readings)


@dataclass(frozen=True, slots=True)
class Scenario:
    """One autoscaler's life."""

    id: str
    steps: tuple[Step, ...]


def read(path: Path) -> Iterator[Scenario]:
    """The scenarios of one file."""
    return (_scenario(document) for document in _documents(path))


def read_of_containers(path: Path) -> Iterator[Scenario]:
    """The scenarios with a Resource metric, which is a container's instead.

    The controller computes both in the same way; only the reason of a failure differs (horizontal.go,
    computeStatusForContainerResourceMetric).
    """
    for document in _documents(path):
        if any(metric["type"] == MetricType.RESOURCE for metric in document["spec"]["metrics"]):
            text = msgspec.json.encode(document).replace(b'"type":"Resource"', b'"type":"ContainerResource"')
            text = text.replace(b"FailedGetResourceMetric", b"FailedGetContainerResourceMetric")
            yield _scenario(_DECODER.decode(text))


def _documents(path: Path) -> Iterator[_Document]:
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as lines:
        yield from map(_DECODER.decode, lines)


@lru_cache(10_000)  # the instances of a step have few different times, and those of the next step mostly the same
def _at(seconds: float) -> datetime:
    return EPOCH + timedelta(seconds=seconds)


def _scenario(document: _Document) -> Scenario:
    scaler = _scaler(document)
    steps = []
    for step in document["steps"]:
        scaler = replace(
            scaler,
            min_replicas=step.get("minReplicas", scaler.min_replicas),
            max_replicas=step.get("maxReplicas", scaler.max_replicas),
        )
        steps.append(_step(step, scaler))
    return Scenario(document["id"], tuple(steps))


def _scaler(document: _Document) -> Autoscaler:
    spec, config = document["spec"], document["config"]
    return Autoscaler(
        name=document["id"],
        target=TargetRef("conformance", document["id"]),
        min_replicas=1 if spec.get("minReplicas") is None else spec["minReplicas"],
        max_replicas=spec["maxReplicas"],
        metrics=tuple(_metric(metric) for metric in spec["metrics"]),
        behavior=None if spec.get("behavior") is None else _behavior(spec["behavior"]),
        options=ControllerOptions(
            config["tolerance"],
            timedelta(seconds=config["downscaleStabilizationSeconds"]),
            timedelta(seconds=config["cpuInitializationPeriodSeconds"]),
            timedelta(seconds=config["initialReadinessDelaySeconds"]),
            config["scaleToZero"],
        ),
    )


def _metric(metric: Mapping[str, Any]) -> MetricSpec:
    key = next(key for key in _TARGET_KEYS if key in metric["target"])
    target = MetricTarget(_TARGET_KEYS[key], metric["target"][key])
    return MetricSpec(MetricType(metric["type"]), metric["name"], target, Query("vector(0)"))


def _behavior(behavior: Mapping[str, Any]) -> Behavior:
    return Behavior(
        _rules(behavior.get("scaleUp"), DEFAULT_SCALE_UP), _rules(behavior.get("scaleDown"), DEFAULT_SCALE_DOWN)
    )


def _rules(rules: Mapping[str, Any] | None, default: ScalingRules) -> ScalingRules:
    rules = rules or {}
    window, policies, tolerance = (rules.get(key) for key in ("stabilizationWindowSeconds", "policies", "tolerance"))
    return ScalingRules(
        default.stabilization_window if window is None else timedelta(seconds=window),
        SelectPolicy(rules.get("selectPolicy") or default.select_policy),
        default.policies
        if policies is None
        else tuple(
            ScalingPolicy(PolicyType(policy["type"]), policy["value"], timedelta(seconds=policy["periodSeconds"]))
            for policy in policies
        ),
        None if tolerance is None else parse_quantity(tolerance) / 1000,
    )


def _step(step: _StepDocument, scaler: Autoscaler) -> Step:
    scale = step.get("scale")
    instances = tuple(_instance(bytes(instance)) for instance in step["instances"])
    readings = tuple(
        _reading(step["metrics"].get(str(index)), metric, instances) for index, metric in enumerate(scaler.metrics)
    )
    return Step(
        now=_at(step["t"]),
        scale=None if scale is None else (scale["replicas"], scale.get("statusReplicas", scale["replicas"])),
        scaler=scaler,
        instances=instances,
        readings=readings,
        get_scale_error=step.get("getScaleError"),
        update_scale_error=step.get("updateScaleError"),
        expect=step["expect"],
    )


@lru_cache(10_000)
def _instance(text: bytes) -> Instance:
    instance = msgspec.json.decode(text)
    transition, started = instance["readyTransition"], instance["started"]
    return Instance(
        instance["name"],
        _PHASES[instance["phase"]],
        instance["ready"],
        None if transition is None else _at(transition),
        None if started is None else _at(started),
        deleting=instance["deleting"],
        requests=instance["requests"],
    )


def _reading(
    reading: Mapping[str, Any] | None, metric: MetricSpec, instances: tuple[Instance, ...]
) -> Reading | Failure:
    if reading is None:
        return Failure("no reading")
    if "error" in reading:
        return Failure(reading["error"])
    if "samples" in reading:
        samples = {
            name: Sample(sample["value"], _at(sample["timestamp"]), timedelta(seconds=sample["window"]))
            for name, sample in reading["samples"].items()
        }
        requests = {
            instance.name: instance.requests[metric.name] for instance in instances if metric.name in instance.requests
        }
        return InstanceReading(samples, requests)
    return ValueReading(tuple(reading["values"]) if "values" in reading else (reading["value"],))
