"""Converts the annotations in which Kubernetes keeps what autoscaling/v1 has no fields for to autoscaling/v2.

Source: pkg/apis/autoscaling/v1/conversion.go. Kubernetes ignores an annotation that it cannot read. Here that is an
error, because metrics would be lost. The annotations of the status (`conditions`, `current-metrics`) are ignored.
"""

import json
from collections.abc import Mapping
from typing import Any, Final, NoReturn

_PREFIX: Final = "autoscaling.alpha.kubernetes.io/"
METRICS: Final = f"{_PREFIX}metrics"
BEHAVIOR: Final = f"{_PREFIX}behavior"
_DEFAULT_CPU_PERCENT: Final = 80
"""Kubernetes' default."""
_INSTEAD: Final = "correct it, or write the manifest with `kubectl get hpa.v2.autoscaling`"


def cpu_metric(percent: int | None) -> dict[str, Any]:
    """Return the metric for a `targetCPUUtilizationPercentage`; None: Kubernetes' default."""
    target = {"type": "Utilization", "averageUtilization": percent or _DEFAULT_CPU_PERCENT}
    return {"type": "Resource", "resource": {"name": "cpu", "target": target}}


def metrics_of(annotation: str) -> list[dict[str, Any]]:
    """Return the other metrics, in the fields of v2. Raises ValueError with the problem and the remedy."""
    given = _parsed(annotation)
    if given is None:
        return []
    if not isinstance(given, list) or not all(isinstance(each, dict) for each in given):
        raise ValueError(f"is not a list of metrics; {_INSTEAD}")
    return [_metric(each) for each in given]


def behavior_of(annotation: str) -> dict[str, Any] | None:
    """Return the behavior, in the fields of v2. Raises ValueError with the problem and the remedy.

    Kubernetes writes its internal field names there, which begin with a capital letter.
    """
    given = _parsed(annotation)
    if given is not None and not isinstance(given, dict):
        raise ValueError(f"is not a behavior; {_INSTEAD}")
    try:
        return _uncapitalized(given) or None
    except RecursionError:
        raise ValueError(f"is nested deeper than any behavior; {_INSTEAD}") from None


def _parsed(annotation: str) -> Any:
    try:
        return json.loads(annotation, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):  # a number of thousands of digits is a ValueError, too
        raise ValueError(f"is not JSON as Kubernetes writes it; {_INSTEAD}") from None


def _refuse_constant(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


def _uncapitalized(value: Any) -> Any:
    if isinstance(value, dict):
        return {key[:1].lower() + key[1:]: _uncapitalized(each) for key, each in value.items() if each is not None}
    return [_uncapitalized(each) for each in value] if isinstance(value, list) else value


def _metric(given: Mapping[str, Any]) -> dict[str, Any]:
    """Convert one metric. Unknown fields stay, and are refused later."""
    return {key: _source(key, each) if isinstance(each, dict) else each for key, each in given.items()}


def _source(name: str, given: Mapping[str, Any]) -> dict[str, Any]:
    source = {key: each for key, each in given.items() if each is not None}
    found: dict[str, Any] = {}
    values = {
        "averageUtilization": source.pop("targetAverageUtilization", None),
        "averageValue": source.pop("targetAverageValue", None),
        "value": source.pop("targetValue", None),
    }
    if name == "object":
        found["describedObject"] = source.pop("target", None)
        values["averageValue"] = source.pop("averageValue", None)
        if values["averageValue"] is not None:
            del values["value"]  # Kubernetes always writes one: 0
    if "metricName" in source:
        selector = source.pop("metricSelector", None) or source.pop("selector", None)
        found["metric"] = {"name": source.pop("metricName")} | ({} if selector is None else {"selector": selector})
    given_values = {key: each for key, each in values.items() if each is not None}
    kinds = {"averageUtilization": "Utilization", "averageValue": "AverageValue", "value": "Value"}
    found["target"] = {"type": next((kinds[key] for key in given_values), "AverageValue"), **given_values}
    return source | found
