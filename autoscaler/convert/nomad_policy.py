"""Converts scaling policies of Nomad, as the Nomad Autoscaler 0.5 evaluates them, to the configuration.

Source: developer.hashicorp.com/nomad/tools/autoscaling (policy, schedule, internals/checks and the plugins), and the
Nomad Autoscaler's policy/ and plugins/builtin/. Blocks of HCL are lists in Nomad's API.
"""

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final

from autoscaler.config.problems import Problems
from autoscaler.convert.blocks import NO_METRIC, AutoscalerBlock, MetricBlock, UsualQuery, name_of, nomad_queries
from autoscaler.convert.imported import MAX_NAME, Destination, Found, Imported, number_of, plain_cron, read_model
from autoscaler.convert.nomad_fields import Check, Policy, PolicyBody, Schedule
from autoscaler.convert.series import plain_number
from autoscaler.fields.find_values import Loc
from autoscaler.quantity import format_duration, format_quantity

_MAX_WINDOW: Final = timedelta(hours=1)
_MAX_PERIOD: Final = timedelta(minutes=30)
_THRESHOLD: Final = "0.01"
_TRUE: Final = frozenset({"1", "t", "T", "TRUE", "true", "True"})
"""What Go reads as true."""
_USAGE: Final = re.compile(r"(?:taskgroup_)?avg_(?:cpu|memory)-allocated(?:/.*)?")
"""Queries of the source nomad-apm for percentages of what the group's tasks have reserved."""
_TARGET_OPTIONS: Final = frozenset({"dry-run", "Namespace", "Job", "Group"})
_STRATEGY_OPTIONS: Final[Mapping[str, frozenset[str]]] = {
    "target-value": frozenset({"target", "threshold", "max_scale_up", "max_scale_down"}),
    "pass-through": frozenset({"max_scale_up", "max_scale_down"}),
    "fixed-value": frozenset({"value"}),
}
"""Strategy -> the options of it that are imported."""
_STEPS: Final = ("max_scale_up", "max_scale_down")


@dataclass(slots=True)
class _Found(Found):
    """What the checks become, as they are read."""

    tolerances: list[float] = field(default_factory=list)
    steps: list[Mapping[str, int]] = field(default_factory=list)
    """For each metric: key of its strategy -> the largest step that it allows."""
    left_out: list[str] = field(default_factory=list)


def is_job(value: Mapping[str, Any]) -> bool:
    """Return whether an object without a kind is a job, and not a policy."""
    return "Job" in value or "TaskGroups" in value


def policies_of(job: Mapping[str, Any], loc: Loc) -> Iterator[tuple[Any, Loc]]:
    """Yield the policies in a job, each as Nomad's API has it, and its place. A job without groups is yielded as is."""
    given = job
    if "Job" in job:
        given, loc = job["Job"], (*loc, "Job")
    groups = given.get("TaskGroups") if isinstance(given, dict) else None
    if not isinstance(groups, list):
        yield job, loc
        return
    for index, group in enumerate(groups):
        if not isinstance(group, dict):
            continue
        at = (*loc, "TaskGroups", index)
        names = {"Namespace": given.get("Namespace"), "Job": given.get("ID"), "Group": group.get("Name")}
        region = {"Region": given["Region"]} if isinstance(given.get("Region"), str) else {}
        scaling = group.get("Scaling")
        if isinstance(scaling, dict) and scaling.get("Policy"):
            count = group.get("Count")
            least = scaling.get("Min")
            if least is None:  # Source: Nomad's api/scaling.go, ScalingPolicy.Canonicalize
                least = count if type(count) is int else 1
            yield {**scaling, "Min": least, "Target": names | region}, (*at, "Scaling")
        tasks = group.get("Tasks")
        for number, task in enumerate(tasks if isinstance(tasks, list) else ()):
            sizing = task.get("ScalingPolicies") if isinstance(task, dict) else None
            for place, policy in enumerate(sizing if isinstance(sizing, list) else ()):
                if isinstance(policy, dict):
                    target = names | {"Task": task.get("Name")}
                    yield {"Policy": {}, **policy, "Target": target}, (*at, "Tasks", number, "ScalingPolicies", place)


def read_policy(
    value: Mapping[str, Any], loc: Loc, place: str, problems: Problems, destination: Destination
) -> Sequence[Imported]:
    """Return the autoscaler; none: its problems were added to `problems`, such as that of a job without groups."""
    if is_job(value):
        problems.add(loc, "has no TaskGroups; write the job with: nomad job run -output FILE")
        return ()
    given = value.get("Target")
    is_of_task = isinstance(given, dict) and given.get("Task") is not None
    kind = value.get("Type") or "horizontal"
    if kind != "horizontal" or is_of_task:
        problems.add(loc, _scales_no_group(f"a policy of type {str(kind)[:MAX_NAME]}"))
        return ()
    policy = read_model(Policy, value, loc, problems)
    if policy is None:
        return ()
    body = policy.Policy
    options = next(iter(body.target.values()), {})
    if kinds := [name for name in body.target if name not in ("nomad", "nomad-target")]:
        problems.add(loc, _scales_no_group(f"target {kinds[0][:MAX_NAME]}"))
        return ()
    job, group = (options.get(key) or policy.Target.get(key, "") for key in ("Job", "Group"))
    if not job or not group:
        problems.add((*loc, "Target"), "names no group of a job; add Job and Group")
        return ()
    target = f"{job}/{group}"
    if target.split() != [target]:
        problems.add((*loc, "Target"), f"{target[:MAX_NAME]!r} has white space, which no target's name may have")
        return ()
    parts = (job, group)
    found = _converted(policy, parts, loc, problems)
    if found is None:
        return ()
    namespace = options.get("Namespace") or policy.Target.get("Namespace") or "default"
    block = AutoscalerBlock(
        name_of(job if job == group else target),
        destination.adapter,
        target,
        _minimum(value, policy, found),
        policy.Max,
        found.metrics,
        _behavior(policy, found),
        namespace=namespace,
        region=None if policy.Target.get("Region", "global") == "global" else policy.Target["Region"],
        schedules=found.schedules,
        sync_period=format_duration(max(body.evaluation_interval, timedelta(seconds=1))),
        dry_run=options.get("dry-run") in _TRUE,
    )
    if not policy.Enabled:
        found.left_out.append(f"the policy is not enabled: autoscaler pause {block.name}, or remove it")
    found.left_out += _unread_of_policy(body, options)
    found.differences += _of_policy(policy, found)
    return [Imported(place, namespace, block, found.todo, found.differences, found.left_out, parts)]


def _scales_no_group(what: str) -> str:
    return f"{what} does not scale a group of a job; write an autoscaler for it by hand"


def _converted(policy: Policy, parts: tuple[str, str], loc: Loc, problems: Problems) -> _Found | None:
    """Return what the checks become; None: their problems were added to `problems`."""
    found, at = _Found(), (*loc, "Policy", "check")
    for name, check in policy.Policy.check.items():
        try:
            _convert(f"check {name[:MAX_NAME]}", check, parts, policy.Max, found)
        except ValueError as error:
            problems.add(at, f"{name[:MAX_NAME]}: {error}")
            return None
    if not found.metrics and not found.schedules:
        why = f": {'; '.join(found.left_out)}" if found.left_out else ""
        problems.add(at, f"has no check that can be converted{why}")
        return None
    if not found.metrics:
        found.metrics.append(NO_METRIC)
    return found


def _minimum(value: Mapping[str, Any], policy: Policy, found: _Found) -> int:
    if value.get("Min") is None:
        found.todo.append(f"min is left out; minReplicas is {policy.Min}, write the group's count")
    if policy.Min or any(metric.type == "External" for metric in found.metrics):
        return policy.Min
    found.differences.append("minReplicas is 1 instead of 0: no check can ask for instances at 0")
    return 1


def _unread_of_policy(body: PolicyBody, options: Mapping[str, str]) -> Iterator[str]:
    """Yield what of a policy, apart from its checks, has no counterpart."""
    for key in sorted(body.model_extra or ()):
        yield f"{key[:MAX_NAME]} is left out"
    for key in sorted(set(options) - _TARGET_OPTIONS):
        yield f"{key[:MAX_NAME]} of its target is left out"
    if body.schedule is not None:
        yield "the policy's schedule is left out; the autoscaler decides at all times"


def _convert(what: str, check: Check, parts: tuple[str, str], maximum: int, found: _Found) -> None:
    """Add what a check becomes. Raises ValueError for one that the Nomad Autoscaler would refuse."""
    if len(check.strategy) != 1:
        raise ValueError("a check has one strategy")
    ((strategy, options),) = check.strategy.items()
    found.left_out += [f"{what}: {text}" for text in _unread(strategy, options, check)]
    if strategy == "fixed-value":
        _fix(what.removeprefix("check "), min(_number(options, "value"), 1000 * maximum), check.schedule, found)
    elif left_out := _left_out(strategy, options, check):
        found.left_out.append(f"{what}: it is left out: {left_out}")
    else:
        if check.schedule is not None:
            found.left_out.append(f"{what}: its schedule is left out; the check counts at all times")
        found.steps.append(
            {key: step for key in _STEPS if options.get(key) and (step := _number(options, key) // 1000)}
        )
        found.tolerances.append(_tolerance(strategy, options))
        if check.source == "nomad-apm":
            found.metrics.append(_usage(check.query, _number(options, "target"), parts))
            found.todo.append(f"{what}: check its query")
        else:
            found.metrics.append(_queried(what.removeprefix("check "), strategy, options, check.query.strip()))
            found.todo.append(f"{what}: it fails there if the query returns several series; here they are summed")
            if check.query_window_offset not in ("", "0s"):
                offset = check.query_window_offset[:MAX_NAME]
                found.left_out.append(f"{what}: query_window_offset is left out; write `offset {offset}` in the query")


def _fix(name: str, value: int, schedule: Schedule | None, found: _Found) -> None:
    if schedule is not None and value < 1000:
        found.left_out.append(f"check {name}: it is left out: a minimum of 0 has no effect")
    elif schedule is None:
        found.metrics.append(_external(name, f"vector({plain_number(value)})", 1000, "AverageValue", "a constant"))
        found.steps.append({})
    else:
        end: dict[str, Any] = {"until": plain_cron(schedule.end or "")}
        if schedule.duration:
            end = {"duration": format_duration(schedule.duration)}
        open_ = {"cron": plain_cron(schedule.start), **end, "timezone": "UTC", "minReplicas": value // 1000}
        found.schedules.append(open_)


def _queried(name: str, strategy: str, options: Mapping[str, str], query: str) -> MetricBlock:
    """Return the metric for a query, of which the Nomad Autoscaler uses the latest value of `query_window`."""
    if strategy == "target-value":
        return _external(name, query, _number(options, "target"), "Value", "the latest value")
    ended = f"{query}\n" if "#" in query else query  # a comment would hide the parenthesis
    return _external(name, f"floor({ended})", 1000, "AverageValue", "the size, cut to a whole number")


def _unread(strategy: str, options: Mapping[str, str], check: Check) -> Iterator[str]:
    """Yield what of a check has no counterpart."""
    known = _STRATEGY_OPTIONS.get(strategy)
    for key in sorted(set(options) - known) if known is not None else ():
        yield f"{key[:MAX_NAME]} of its strategy is left out"
    for key in sorted(check.model_extra or ()):
        yield f"{key[:MAX_NAME]} is left out"


def _left_out(strategy: str, options: Mapping[str, str], check: Check) -> str:
    """Return why a check cannot be converted; empty: it can. Raises ValueError as `_convert`."""
    if strategy not in ("target-value", "pass-through"):
        return f"strategy {strategy[:MAX_NAME]} has no counterpart; write a target for its query"
    if check.source == "nomad-apm":
        if strategy == "target-value" and _USAGE.fullmatch(check.query):
            return ""
        return "a query of nomad-apm; write PromQL for the metrics of Nomad's agents"
    if check.source != "prometheus":
        return f"source {check.source[:MAX_NAME]}; export its value to Prometheus"
    if not check.query.strip():
        raise ValueError("its query is empty; write one")
    if strategy == "target-value" and _number(options, "target") == 0:
        return "its target is 0"
    return ""


def _number(options: Mapping[str, str], key: str) -> int:
    """Return a number in thousandths."""
    return math.ceil(number_of(key, options.get(key, "")) * 1000)


def _tolerance(strategy: str, options: Mapping[str, str]) -> float:
    if strategy == "pass-through":
        return 0.0
    return float(number_of("threshold", options.get("threshold") or _THRESHOLD))


def _external(name: str, expr: str, goal: int, kind: str, hint: str) -> MetricBlock:
    target = {"type": kind, kind[:1].lower() + kind[1:]: format_quantity(goal)}
    return MetricBlock("External", {"metric": {"name": name}}, target, UsualQuery(expr), hint)


def _usage(query: str, goal: int, parts: tuple[str, str]) -> MetricBlock:
    """Return the metric for a percentage of what the tasks have reserved."""
    resource = "memory" if "_memory" in query else "cpu"
    goal_of = {"type": "Utilization", "averageUtilization": goal // 1000}
    return MetricBlock(
        "Resource", {"name": resource}, goal_of, nomad_queries(*parts)[resource], "one sample for each allocation"
    )


def _behavior(policy: Policy, found: _Found) -> Mapping[str, Any]:
    """Return rules that let a decision go the whole way, as the Nomad Autoscaler does."""
    body, tolerance = policy.Policy, min(found.tolerances, default=0.0)
    period = int(min(max(body.evaluation_interval, timedelta(seconds=1)), _MAX_PERIOD).total_seconds())

    def rules(key: str, window: timedelta) -> Mapping[str, Any]:
        return {
            "stabilizationWindowSeconds": int(min(window, _MAX_WINDOW).total_seconds()),
            "tolerance": tolerance,
            "policies": [{"type": "Pods", "value": _step(key, found) or policy.Max, "periodSeconds": period}],
        }

    return {"scaleUp": rules("max_scale_up", timedelta(0)), "scaleDown": rules("max_scale_down", body.cooldown)}


def _step(key: str, found: _Found) -> int:
    """Return the step that all metrics together may take; 0: there is no limit, as one of them has none."""
    steps = [each.get(key, 0) for each in found.steps]
    return max(steps) if steps and all(steps) else 0


def _of_policy(policy: Policy, found: _Found) -> Iterator[str]:
    body = policy.Policy
    up = body.cooldown if body.cooldown_on_scale_up is None else body.cooldown_on_scale_up
    if up or body.cooldown:
        yield (
            f"cooldown: the Nomad Autoscaler does nothing for {format_duration(up)} after scaling out and for "
            f"{format_duration(body.cooldown)} after scaling in; here scale-outs do not wait, and scale-ins follow the "
            f"highest recommendation of {format_duration(min(body.cooldown, _MAX_WINDOW))}"
        )
    for key in _STEPS:
        steps = {each.get(key, 0) for each in found.steps}
        if len(steps) > 1:
            is_of_all = f"the largest of the checks' ({max(steps)}) counts for all"
            yield f"{key}: {is_of_all if 0 not in steps else 'it is left out, because not every check has it'}"
    if len(set(found.tolerances)) > 1:
        yield f"threshold: the smallest of the checks' ({min(found.tolerances):g}) counts for all"
    if body.on_check_error or any(check.on_error for check in body.check.values()):
        yield "on_check_error, on_error: while a metric fails, another one may scale out here, and nothing scales in"
    if len(body.check) > 1:
        yield "a check that fails or has no data ends the Nomad Autoscaler's evaluation; here another one may scale out"
    for group, number in Counter(check.group for check in body.check.values() if check.group).items():
        if number > 1:
            yield f"group {group[:MAX_NAME]}: a check of it that asks for no change keeps the size here"
