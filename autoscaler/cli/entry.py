"""Rewrites an autoscaler's entry of a configuration with other values."""

import json
from pathlib import Path
from typing import Any, Final

from autoscaler.config.document import YamlDocument
from autoscaler.config.source import read
from autoscaler.convert.blocks import block_lines
from autoscaler.errors import AutoscalerError
from autoscaler.model import Autoscaler, Behavior, MetricTarget, ScalingRules, TargetType
from autoscaler.quantity import format_quantity

_SIDES: Final = {"scale_up": "scaleUp", "scale_down": "scaleDown"}
TARGET_KEYS: Final = {
    TargetType.UTILIZATION: "averageUtilization",
    TargetType.AVERAGE_VALUE: "averageValue",
    TargetType.VALUE: "value",
}
"""Type of a target -> the key of its value."""


def entry_lines(path: Path, before: Autoscaler, after: Autoscaler) -> list[str]:
    """Return the section `autoscalers` with the file's entry of `before`, and with targets and behavior of `after`.

    Nothing else may differ. Comments are lost, and aliases are written out. Raises ConfigError; AutoscalerError if the
    output would not be read as intended.
    """
    value = YamlDocument(read(path), str(path)).value
    meant = next(_copied(each) for each in value["autoscalers"] if each["name"] == before.name)
    for place, (old, new) in enumerate(zip(before.metrics, after.metrics, strict=True)):
        if old.target != new.target:
            metric = meant["metrics"][place]
            body = next(each for key, each in metric.items() if key != "type")
            body["target"][TARGET_KEYS[new.target.type]] = target_value(new.target)
    _put_behavior(meant, before.behavior or Behavior(), after.behavior or Behavior())
    lines = block_lines({"autoscalers": [meant]})
    if json.dumps(YamlDocument("\n".join(lines) + "\n", "the output").value) != json.dumps({"autoscalers": [meant]}):
        raise AutoscalerError("the output would not be read as intended, so nothing is written; report it")
    return lines


def _copied(value: Any) -> Any:
    copied: Any = json.loads(json.dumps(value))  # a configuration has only values of JSON
    return copied


def target_value(target: MetricTarget) -> int | str:
    """Return the value of a target as in a configuration."""
    if target.type is TargetType.UTILIZATION:
        return target.value
    text = format_quantity(target.value)
    return int(text) if text.isdecimal() else text


def _put_behavior(meant: dict[str, Any], before: Behavior, after: Behavior) -> None:
    """Set the keys that differ, and no others."""
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
