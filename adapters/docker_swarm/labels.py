"""The autoscalers that stand in the labels of services, as `Adapter.discover` reads them.

A service has one label `autoscaler` with the body of an autoscaler in YAML, or a label for each key. Only labels of the
service itself count (`deploy.labels` in a stack): those of its containers change with each deployment of tasks.
"""

import json
import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from adapters.docker_swarm.raw import Raw, unavailable_if_malformed
from autoscaler.target import AutoscalerBody, Discovery, TargetError, TargetNotFound, TargetRef, TargetUnavailable

if TYPE_CHECKING:
    from adapters.docker_swarm.engine import EngineSession

_Policy: TypeAlias = AutoscalerBody | TargetError
_LABEL: Final = "autoscaler"
_PREFIX: Final = f"{_LABEL}."
_METRIC: Final = re.compile(r"metrics\.(0|[1-9][0-9]{0,3})\.([A-Za-z]+)")
_WHOLE: Final = re.compile(r"[-+]?(?:0|[1-9][0-9]{0,17})")
"""As the configuration reads it: one with leading zeros is a text, which is refused where a number is due."""
_WORDS: Final = {"true": True, "false": False}
_SHOWN: Final = 64
"""Characters of a label or a value in a message."""
_LISTED: Final = 5
"""Unknown labels in a message."""
_MAX_PROBLEMS: Final = 20
OF_SERVICE: Final[Mapping[str, tuple[str, ...]]] = {
    "min": ("minReplicas",),
    "max": ("maxReplicas",),
    "dryRun": ("dryRun",),
    "scaleUp.window": ("behavior", "scaleUp", "stabilizationWindowSeconds"),
    "scaleDown.window": ("behavior", "scaleDown", "stabilizationWindowSeconds"),
}
"""Label after `autoscaler.` -> key of the autoscaler."""
OF_METRIC: Final[Mapping[str, tuple[str, ...]]] = {
    "expr": ("query", "expr"),
    "prometheus": ("query", "prometheus"),
    "instanceLabel": ("query", "instanceLabel"),
    "target": ("target", "averageValue"),
    "utilization": ("target", "averageUtilization"),
    "request": ("request",),
}
"""Label after `autoscaler.metrics.N.` -> key of the metric's body, of which `name` and `type` are the frame."""
_FRAME: Final = ("name", "type")
_TYPES: Final = {"External": "external", "Pods": "pods", "Resource": "resource"}
"""Type of a metric -> key of its body."""


def discover(engine: "EngineSession", connection: str, known: Collection[TargetRef]) -> Discovery:
    """Return the autoscalers of all services, as `Adapter.discover` says. `connection`: its name in `adapters`."""
    found: dict[TargetRef, _Policy] = {}
    for service in engine.services():
        name = _name(service)
        policy = None if name is None else _policy(service, name)
        if name is not None and policy is not None:
            found[TargetRef(connection, name)] = policy
    return Discovery(found | {target: _alone(engine, target) for target in known if target not in found}, {})


def _name(service: Raw) -> str | None:
    """Return the name of a service in the list; None: it has none, and its target is looked at by itself."""
    spec = service.get("Spec")
    name = spec.get("Name") if isinstance(spec, dict) else None
    return name if isinstance(name, str) else None


def _alone(engine: "EngineSession", target: TargetRef) -> _Policy:
    """Return the autoscaler of a service that the list does not have; TargetNotFound: it is gone for certain."""
    try:
        found = _policy(engine.service(target.name), target.name)
    except TargetNotFound as error:
        # A proxy may answer 404 for other reasons; the engine's own text has the name.
        is_gone = any(f"service {target.name} {text}" in str(error) for text in ("not found", "does not exist"))
        return error if is_gone else TargetUnavailable(str(error))
    except TargetError as error:
        return error
    return TargetNotFound(f"service {target.name} has no label `{_LABEL}`") if found is None else found


def _policy(service: Raw, name: str) -> _Policy | None:
    """Return what the labels of a service say; None: nothing of an autoscaler."""
    try:
        with unavailable_if_malformed(f"service {name}"):
            given = {str(key): _text(value) for key, value in (service["Spec"].get("Labels") or {}).items()}
    except TargetError as error:
        return error
    return body_of(given)


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"expected a text as a label's value, found {type(value).__name__}")
    return value


def body_of(labels: Mapping[str, str]) -> AutoscalerBody | None:
    """Return the autoscaler in the labels of a service; None: it has no label of this kind."""
    flat = {key.removeprefix(_PREFIX): value for key, value in labels.items() if key.startswith(_PREFIX)}
    if _LABEL not in labels:
        return _of_flat(flat) if flat else None
    if flat:
        one = f"{_PREFIX}{min(flat)}"[:_SHOWN]
        return AutoscalerBody("", (f"the label `{_LABEL}` is given beside `{one}`; keep one of the two forms",))
    return AutoscalerBody(labels[_LABEL])


def _of_flat(labels: Mapping[str, str]) -> AutoscalerBody:
    body: dict[str, Any] = {}
    metrics: defaultdict[int, dict[str, str]] = defaultdict(dict)
    unknown: list[str] = []
    for label, text in sorted(labels.items()):
        match = _METRIC.fullmatch(label)
        if match and match[2] in (*_FRAME, *OF_METRIC):
            metrics[int(match[1])][match[2]] = text
        elif label in OF_SERVICE:
            _put(body, OF_SERVICE[label], text)
        else:
            unknown.append(_shown(label))
    problems = [_unknown(unknown)] if unknown else []
    if "max" not in labels:
        problems.append(f"{_PREFIX}max: is missing; write the largest number of replicas")
    if not metrics:
        problems.append(f"{_PREFIX}metrics.0.expr: is missing; write the query of at least one metric")
    for number, given in sorted(metrics.items()):
        if number and number - 1 not in metrics:
            label = f"{_PREFIX}metrics.{number}"
            problems.append(f"{label}: there is no metric {number - 1}; number the metrics from 0 without a gap")
        problems += _problems_of(number, given)
    if problems:
        return AutoscalerBody("", tuple(problems[:_MAX_PROBLEMS]))
    body["metrics"] = [_metric(number, given) for number, given in sorted(metrics.items())]
    return AutoscalerBody(json.dumps(body))


def _problems_of(number: int, given: Mapping[str, str]) -> Iterator[str]:
    """Yield what is wrong with the labels of one metric."""
    prefix = f"metrics.{number}."
    if "expr" not in given:
        yield f"{_shown(prefix + 'expr')}: is missing; write the query"
    if ("target" in given) == ("utilization" in given):
        yield f"{_shown(prefix + 'target')}: write it, or {_PREFIX}{prefix}utilization for a share of a reservation"
    if given.get("type", "Pods") not in _TYPES:
        kinds = ", ".join(_TYPES)
        yield f"{_shown(prefix + 'type')}: {given['type'][:_SHOWN]!r} is not one of {kinds}; others need `{_LABEL}`"


def _metric(number: int, given: Mapping[str, str]) -> dict[str, Any]:
    is_share = "utilization" in given
    kind, name = given.get("type", "Resource" if is_share else "External"), given.get("name", f"metric-{number}")
    body: dict[str, Any] = {"name": name} if kind == "Resource" else {"metric": {"name": name}}
    body["target"] = {"type": "Utilization" if is_share else "AverageValue"}
    for label, key in OF_METRIC.items():
        if label in given:
            _put(body, key, given[label])
    return {"type": kind, _TYPES[kind]: body}


def _put(values: dict[str, Any], key: tuple[str, ...], text: str) -> None:
    """Put a value at its key: a whole number, true or false, as YAML reads them without quotes, or a text."""
    for step in key[:-1]:
        values = values.setdefault(step, {})
    value = int(text) if _WHOLE.fullmatch(text) else _WORDS.get(text, text)
    values[key[-1]] = text if key[0] == "query" else value


def _shown(label: str) -> str:
    return f"{_PREFIX}{label}"[:_SHOWN]


def _unknown(labels: Sequence[str]) -> str:
    """Return that these labels are unknown, and which are known."""
    more = len(labels) - _LISTED
    shown = ", ".join(labels[:_LISTED]) + (f" and {more} more" if more > 0 else "")
    of_service, of_metric = ", ".join(f"{_PREFIX}{each}" for each in OF_SERVICE), ", ".join((*_FRAME, *OF_METRIC))
    return f"{shown}: unknown; known are {of_service}, and after {_PREFIX}metrics.N. {of_metric}"
