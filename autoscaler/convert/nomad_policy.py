"""Converts scaling policies of Nomad, as the Nomad Autoscaler 0.5 evaluates them, to the configuration.

Source: developer.hashicorp.com/nomad/tools/autoscaling (policy, schedule, internals/checks and the plugins), and the
Nomad Autoscaler's policy/ and plugins/builtin/. Blocks of HCL are lists in Nomad's API.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Annotated, Any, Final, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from autoscaler.config.document import Loc
from autoscaler.config.problems import Problems
from autoscaler.convert.blocks import AutoscalerBlock, MetricBlock, UsualQuery, name_of, usual_query
from autoscaler.convert.imported import Destination, Imported, read_model
from autoscaler.convert.series import plain_number
from autoscaler.errors import QuantityError
from autoscaler.quantity import format_duration, format_quantity, parse_exact, parse_quantity

_INTERVAL: Final = timedelta(seconds=10)
_COOLDOWN: Final = timedelta(minutes=5)
_LONGEST_WINDOW: Final = timedelta(hours=1)
_LONGEST_PERIOD: Final = timedelta(minutes=30)
_THRESHOLD: Final = "0.01"
_LONGEST_NAME: Final = 64
_UNITS: Final = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}
_USAGE: Final = re.compile(r"(?:taskgroup_)?avg_(?:cpu|memory)-allocated(?:/.*)?")
"""Queries of the source nomad-apm for percentages of what the group's tasks have reserved."""


def _block(value: Any) -> Any:
    """Return the content of a block: the API has a list of one mapping, a file may have the mapping."""
    if isinstance(value, list):
        return value[0] if len(value) == 1 else value or {}
    return value


def _blocks(value: Any) -> Any:
    """Return label -> content of repeated blocks."""
    if not isinstance(value, list):
        return value
    found: dict[str, Any] = {}
    for each in value:
        if not isinstance(each, dict):
            return value
        found |= each
    return found


def _as_text(value: Any) -> Any:
    return str(value).lower() if isinstance(value, bool) else str(value) if isinstance(value, int | float) else value


def _duration(value: Any) -> Any:
    """Parse a duration as Go writes it: `1m30s`, `1.5h`."""
    if not isinstance(value, str):
        return value
    parts = re.fullmatch(r"(?:\d+(?:\.\d*)?(?:h|ms|m|s|us|µs|ns))+", value)
    if parts is None or len(value) > _LONGEST_NAME:
        raise ValueError(f"{value[:_LONGEST_NAME]!r} is not a duration; write it as in 1m30s")
    found = re.findall(r"(\d+(?:\.\d*)?)(h|ms|m|s|us|µs|ns)", value)
    try:
        return timedelta(seconds=sum(float(number) * _UNITS[unit] for number, unit in found))
    except OverflowError:
        raise ValueError(f"{value[:_LONGEST_NAME]!r} is too long a duration") from None


_Text: TypeAlias = Annotated[str, BeforeValidator(_as_text)]
_Duration: TypeAlias = Annotated[timedelta, BeforeValidator(_duration)]
_Count: TypeAlias = Annotated[int, Field(strict=True, ge=0, le=2**31 - 1)]
_Options: TypeAlias = Annotated[Mapping[str, _Text], BeforeValidator(_block)]


class _NomadModel(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class Schedule(_NomadModel):
    """When a policy or a check has an effect, in UTC."""

    start: str
    end: str | None = None
    duration: _Duration | None = None


_Schedule: TypeAlias = Annotated[Schedule, BeforeValidator(_block)]


class Check(_NomadModel):
    """One proposal of a policy."""

    source: str = "nomad-apm"
    query: str = ""
    query_window: str = "1m"
    query_window_offset: str = ""
    group: str = ""
    on_error: str = ""
    schedule: _Schedule | None = None
    strategy: Annotated[Mapping[str, _Options], BeforeValidator(_blocks)]


class PolicyBody(_NomadModel):
    """What the Nomad Autoscaler reads."""

    evaluation_interval: _Duration = _INTERVAL
    cooldown: _Duration = _COOLDOWN
    cooldown_on_scale_up: _Duration | None = None
    on_check_error: str = ""
    schedule: _Schedule | None = None
    target: Annotated[Mapping[str, _Options], BeforeValidator(_blocks)] = Field(default_factory=dict)
    check: Annotated[Mapping[str, Annotated[Check, BeforeValidator(_block)]], BeforeValidator(_blocks)]


class Policy(_NomadModel):
    """A scaling policy, or the `scaling` block of a group."""

    Type: str = "horizontal"
    Enabled: bool = True
    Min: _Count = 0
    Max: Annotated[int, Field(strict=True, ge=1, le=2**31 - 1)]
    Target: Mapping[str, str] = Field(default_factory=dict)
    Policy: PolicyBody


@dataclass(slots=True)
class _Found:
    """What the checks become, as they are read."""

    metrics: list[MetricBlock] = field(default_factory=list)
    schedules: list[Mapping[str, Any]] = field(default_factory=list)
    tolerances: list[float] = field(default_factory=list)
    most: dict[str, int] = field(default_factory=dict)
    """Key of a strategy -> the largest step that it allows."""
    todo: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)


def read_job(
    value: Mapping[str, Any], loc: Loc, place: str, problems: Problems, destination: Destination
) -> Sequence[Imported]:
    """Return an autoscaler for each group of a job that has a policy; its problems are added to `problems`."""
    if "Job" in value:
        value, loc = value["Job"], (*loc, "Job")
    groups = value.get("TaskGroups") if isinstance(value, dict) else None
    if not isinstance(groups, list):
        problems.add(loc, "has no TaskGroups; write the job with: nomad job run -output FILE")
        return ()
    found: list[Imported] = []
    for index, group in enumerate(groups):
        scaling = group.get("Scaling") if isinstance(group, dict) else None
        if isinstance(scaling, dict):
            names = {"Namespace": value.get("Namespace"), "Job": value.get("ID"), "Group": group.get("Name")}
            target = {key: name for key, name in names.items() if isinstance(name, str)}
            at = (*loc, "TaskGroups", index, "Scaling")
            found += read_policy(scaling | {"Target": target}, at, place, problems, destination)
    return found


def read_policy(
    value: Mapping[str, Any], loc: Loc, place: str, problems: Problems, destination: Destination
) -> Sequence[Imported]:
    """Return the autoscaler; none: its problems were added to `problems`."""
    policy = read_model(Policy, value, loc, problems)
    if policy is None:
        return ()
    body, job, group = policy.Policy, policy.Target.get("Job", ""), policy.Target.get("Group", "")
    kinds = [name for name in body.target if name not in ("nomad", "nomad-target")]
    if policy.Type not in ("", "horizontal") or kinds or not job or not group:
        what = f"target {kinds[0][:_LONGEST_NAME]}" if kinds else f"a policy of type {policy.Type[:_LONGEST_NAME]}"
        problems.add(loc, f"{what} does not scale a group of a job; write an autoscaler for it by hand")
        return ()
    found, target = _Found(), f"{job}/{group}"
    for name, check in body.check.items():
        try:
            _convert(f"check {name[:_LONGEST_NAME]}", check, target, found)
        except ValueError as error:
            problems.add((*loc, "Policy", "check"), f"{name[:_LONGEST_NAME]}: {error}")
            return ()
    if not found.metrics:
        if not found.schedules:
            why = f": {'; '.join(found.left_out)}" if found.left_out else ""
            problems.add((*loc, "Policy", "check"), f"has no check that can be converted{why}")
            return ()
        hint = "a constant: the schedule alone sets the size"
        found.metrics.append(_external("none", "vector(0)", 1000, "AverageValue", hint))
    namespace = policy.Target.get("Namespace", "default")
    options = next(iter(body.target.values()), {})
    block = AutoscalerBlock(
        name_of(job if job == group else target),
        destination.adapter,
        target,
        policy.Min,
        policy.Max,
        found.metrics,
        _behavior(policy, found),
        namespace=None if namespace == "default" else namespace,
        schedules=found.schedules,
        sync_period=format_duration(max(body.evaluation_interval, timedelta(seconds=1))),
        dry_run=options.get("dry-run") == "true",
    )
    if not policy.Enabled:
        found.left_out.append(f"the policy is not enabled: autoscaler pause {block.name}, or remove it")
    if body.schedule is not None:
        found.left_out.append("the policy's schedule is left out; the autoscaler decides at all times")
    return [Imported(place, namespace, block, found.todo, [*_of_policy(policy, found)], found.left_out)]


def _convert(what: str, check: Check, target: str, found: _Found) -> None:
    """Add what a check becomes. Raises ValueError for one that the Nomad Autoscaler would refuse."""
    if len(check.strategy) != 1:
        raise ValueError("a check has one strategy")
    ((strategy, options),) = check.strategy.items()
    if strategy == "fixed-value":
        _fix(what.removeprefix("check "), _number(options, "value"), check.schedule, found)
    elif left_out := _left_out(strategy, options, check):
        found.left_out.append(f"{what}: it is left out: {left_out}")
    else:
        if check.schedule is not None:
            found.left_out.append(f"{what}: its schedule is left out; the check counts at all times")
        for key in ("max_scale_up", "max_scale_down"):
            if options.get(key):
                found.most[key] = max(found.most.get(key, 0), _number(options, key) // 1000)
        found.tolerances.append(0.0 if strategy == "pass-through" else _ratio(options.get("threshold") or _THRESHOLD))
        if check.source == "nomad-apm":
            found.metrics.append(_usage(check.query, _number(options, "target"), target))
            found.todo.append(f"{what}: check its query")
        else:
            found.metrics.append(_queried(what.removeprefix("check "), strategy, options, check.query))
            found.todo.append(f"{what}: it fails there if the query returns several series; here they are summed")
            if check.query_window_offset not in ("", "0s"):
                offset = check.query_window_offset[:_LONGEST_NAME]
                found.left_out.append(f"{what}: query_window_offset is left out; write `offset {offset}` in the query")


def _fix(name: str, value: int, schedule: Schedule | None, found: _Found) -> None:
    if schedule is None:
        found.metrics.append(_external(name, f"vector({plain_number(value)})", 1000, "AverageValue", "a constant"))
    else:
        end = {"duration": format_duration(schedule.duration)} if schedule.duration else {"until": schedule.end}
        open_ = {"cron": schedule.start, **end, "timezone": "UTC", "minReplicas": value // 1000}
        found.schedules.append(open_)


def _queried(name: str, strategy: str, options: Mapping[str, str], query: str) -> MetricBlock:
    """Return the metric for a query, of which the Nomad Autoscaler uses the latest value of `query_window`."""
    if strategy == "target-value":
        return _external(name, query, _number(options, "target"), "Value", "the latest value")
    return _external(name, f"floor({query})", 1000, "AverageValue", "the size, cut to a whole number")


def _left_out(strategy: str, options: Mapping[str, str], check: Check) -> str:
    """Return why a check cannot be converted; empty: it can."""
    if strategy not in ("target-value", "pass-through"):
        return f"strategy {strategy[:_LONGEST_NAME]} has no counterpart; write a target for its query"
    if check.source == "nomad-apm":
        if strategy == "target-value" and _USAGE.fullmatch(check.query):
            return ""
        return "a query of nomad-apm; write PromQL for the metrics of Nomad's agents"
    if check.source != "prometheus":
        return f"source {check.source[:_LONGEST_NAME]}; export its value to Prometheus"
    if strategy == "target-value" and _number(options, "target") == 0:
        return "its target is 0"
    return ""


def _number(options: Mapping[str, str], key: str) -> int:
    """Return a number in thousandths."""
    try:
        milli = parse_quantity(options.get(key, ""))
    except QuantityError:
        milli = -1
    if milli < 0:
        raise ValueError(f"{key} is {options.get(key, '')[:_LONGEST_NAME]!r}; write a number of at least 0")
    return milli


def _ratio(text: str) -> float:
    try:
        found = float(parse_exact(text))
    except (QuantityError, OverflowError):
        found = -1.0
    if found < 0:
        raise ValueError(f"threshold is {text[:_LONGEST_NAME]!r}; write a number of at least 0")
    return found


def _external(name: str, expr: str, goal: int, kind: str, hint: str) -> MetricBlock:
    target = {"type": kind, kind[:1].lower() + kind[1:]: format_quantity(goal)}
    return MetricBlock("External", {"metric": {"name": name}}, target, UsualQuery(expr), hint)


def _usage(query: str, goal: int, target: str) -> MetricBlock:
    """Return the metric for a percentage of what the tasks have reserved."""
    resource = "memory" if "_memory" in query else "cpu"
    goal_of = {"type": "Utilization", "averageUtilization": goal // 1000}
    usual = usual_query(resource, "nomad", target) or UsualQuery("")
    return MetricBlock("Resource", {"name": resource}, goal_of, usual, "one sample for each allocation")


def _behavior(policy: Policy, found: _Found) -> Mapping[str, Any]:
    """Return rules that let a decision go the whole way, as the Nomad Autoscaler does."""
    body, tolerance = policy.Policy, min(found.tolerances, default=0.0)
    period = int(min(max(body.evaluation_interval, timedelta(seconds=1)), _LONGEST_PERIOD).total_seconds())

    def rules(key: str, window: timedelta) -> Mapping[str, Any]:
        return {
            "stabilizationWindowSeconds": int(min(window, _LONGEST_WINDOW).total_seconds()),
            "tolerance": tolerance,
            "policies": [{"type": "Pods", "value": found.most.get(key) or policy.Max, "periodSeconds": period}],
        }

    return {"scaleUp": rules("max_scale_up", timedelta(0)), "scaleDown": rules("max_scale_down", body.cooldown)}


def _of_policy(policy: Policy, found: _Found) -> Iterator[str]:
    body = policy.Policy
    up = body.cooldown if body.cooldown_on_scale_up is None else body.cooldown_on_scale_up
    if up or body.cooldown:
        yield (
            f"cooldown: the Nomad Autoscaler does nothing for {format_duration(up)} after scaling out and for "
            f"{format_duration(body.cooldown)} after scaling in; here scale-outs do not wait, and scale-ins follow the "
            "highest recommendation of a window that is as long"
        )
    if len(set(found.tolerances)) > 1:
        yield f"threshold: the smallest of the checks' ({min(found.tolerances):g}) counts for all"
    if len(body.check) > 1:
        yield "a check that fails or has no data ends the Nomad Autoscaler's evaluation; here another one may scale out"
    for group, number in Counter(check.group for check in body.check.values() if check.group).items():
        if number > 1:
            yield f"group {group[:_LONGEST_NAME]}: a check of it that asks for no change keeps the size here"
