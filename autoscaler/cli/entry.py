"""An autoscaler's entry of a configuration with other values, as YAML that can take its place."""

import json
from pathlib import Path
from typing import Any, Final

from autoscaler.cli.blocks import block_lines
from autoscaler.config.document import YamlDocument
from autoscaler.config.source import read
from autoscaler.errors import AutoscalerError
from autoscaler.model import Autoscaler, Behavior, MetricTarget, ScalingRules, TargetType
from autoscaler.quantity import format_quantity

_SIDES: Final = {"scale_up": "scaleUp", "scale_down": "scaleDown"}
_VALUES: Final = {
    TargetType.UTILIZATION: "averageUtilization",
    TargetType.AVERAGE_VALUE: "averageValue",
    TargetType.VALUE: "value",
}


def entry_lines(path: Path, before: Autoscaler, after: Autoscaler) -> list[str]:
    """The section `autoscalers` with the entry of `before`, as the file has it, and in it the values of `after`.

    Those of its targets and its behavior; nothing else may differ. Comments are not kept, and aliases are written out.
    Raises ConfigError, and AutoscalerError where what is written would not be read as it is meant.
    """
    value = YamlDocument(read(path), str(path)).value
    meant = next(_copied(each) for each in value["autoscalers"] if each["name"] == before.name)
    for place, (old, new) in enumerate(zip(before.metrics, after.metrics, strict=True)):
        if old.target != new.target:
            metric = meant["metrics"][place]
            body = next(each for key, each in metric.items() if key != "type")
            body["target"][_VALUES[new.target.type]] = _target(new.target)
    _put_behavior(meant, before.behavior or Behavior(), after.behavior or Behavior())
    lines = block_lines({"autoscalers": [meant]})
    if json.dumps(YamlDocument("\n".join(lines) + "\n", "the output").value) != json.dumps({"autoscalers": [meant]}):
        raise AutoscalerError("what would be written does not say what is meant, so nothing is written; report it")
    return lines


def _copied(value: Any) -> Any:
    copied: Any = json.loads(json.dumps(value))  # a configuration has nothing that JSON has not
    return copied


def _target(target: MetricTarget) -> int | str:
    if target.type is TargetType.UTILIZATION:
        return target.value
    text = format_quantity(target.value)
    return int(text) if text.isdecimal() else text


def _put_behavior(meant: dict[str, Any], before: Behavior, after: Behavior) -> None:
    """Only the keys that differ; what the entry leaves out stays left out."""
    for field, key in _SIDES.items():
        old: ScalingRules = getattr(before, field)
        new: ScalingRules = getattr(after, field)
        if old == new:
            continue
        if not meant.get("behavior"):
            meant["behavior"] = {}
        if not meant["behavior"].get(key):
            meant["behavior"][key] = {}
        _put_rules(meant["behavior"][key], old, new)


def _put_rules(rules: dict[str, Any], old: ScalingRules, new: ScalingRules) -> None:
    if old.stabilization_window != new.stabilization_window and new.stabilization_window is not None:
        rules["stabilizationWindowSeconds"] = int(new.stabilization_window.total_seconds())
    if old.tolerance != new.tolerance and new.tolerance is not None:
        rules["tolerance"] = new.tolerance
    if old.select_policy != new.select_policy:
        rules["selectPolicy"] = str(new.select_policy)
    if old.policies != new.policies:
        rules["policies"] = [
            {"type": str(each.type), "value": each.value, "periodSeconds": int(each.period.total_seconds())}
            for each in new.policies
        ]
