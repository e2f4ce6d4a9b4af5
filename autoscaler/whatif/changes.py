"""The differences between two configurations, by the keys of the configuration file."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from datetime import timedelta
from enum import StrEnum
from typing import Any, Final

from pydantic import BaseModel
from pydantic.alias_generators import to_camel

from autoscaler.cli.entry import TARGET_KEYS, target_value
from autoscaler.config import Settings
from autoscaler.convert.blocks import BODIES
from autoscaler.decide.proposals import tolerances_of
from autoscaler.decide.stabilization import down_window, up_window
from autoscaler.model import (
    Autoscaler,
    Behavior,
    ConnectionLimits,
    MetricSpec,
    MetricTarget,
    MetricType,
    ScalingPolicy,
    ScheduleEntry,
)
from autoscaler.quantity import format_duration, format_quantity


class Kind(StrEnum):
    """What happens to an autoscaler."""

    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"


@dataclass(frozen=True, slots=True)
class Change:
    """A key with a different value."""

    path: str
    """The path of the key in the autoscaler: `metrics[cpu].resource.target.averageUtilization`.

    Settings that the autoscaler takes from the section `controller` are below `controller`.
    """
    before: str | None
    """As in the configuration, with defaults filled in; None if there was no value."""
    after: str | None
    """None if there is no value any more."""


@dataclass(frozen=True, slots=True)
class AutoscalerChanges:
    """What happens to one autoscaler."""

    name: str
    kind: Kind
    changes: tuple[Change, ...] = ()
    """In the order of the keys of the configuration."""
    before: Autoscaler | None = None
    after: Autoscaler | None = None

    @property
    def decides_otherwise(self) -> bool:
        """Whether the same past could lead to different sizes: labels and dry runs do not change a size."""
        if self.before is None or self.after is None:
            return False
        return _deciding(self.before) != _deciding(self.after)


def changes_of(before: Iterable[Autoscaler], after: Iterable[Autoscaler]) -> Sequence[AutoscalerChanges]:
    """What happens to each autoscaler that differs, by name."""
    old, new = ({scaler.name: scaler for scaler in each} for each in (before, after))
    found = []
    for name in sorted(old.keys() | new.keys()):
        was, is_ = old.get(name), new.get(name)
        if was is None:
            found.append(AutoscalerChanges(name, Kind.ADDED, after=is_))
        elif is_ is None:
            found.append(AutoscalerChanges(name, Kind.REMOVED, before=was))
        elif was != is_ and (changes := autoscaler_changes(was, is_)):
            found.append(AutoscalerChanges(name, Kind.CHANGED, changes, was, is_))
    return found


def autoscaler_changes(before: Autoscaler, after: Autoscaler) -> tuple[Change, ...]:
    """Each key with a different value. Writing a default out is no difference."""
    return tuple(_differences(settings_of(before), settings_of(after)))


def settings_of(scaler: Autoscaler) -> Mapping[str, str]:
    """Every key of the autoscaler -> its value, as in `Change`, with defaults filled in."""
    plain = replace(scaler, behavior=_effective(scaler))
    found = dict(_leaves(plain, ""))
    if scaler.behavior is not None:  # its rules have these values
        for key in ("controller.tolerance", "controller.downscaleStabilization"):
            found.pop(key, None)
    found.pop("name")
    return found


def section_changes(before: Settings, after: Settings) -> Sequence[str]:
    """The keys outside of `autoscalers` with a different value: `prometheus.default.url`. Values may be secret."""
    connections = before.limits.keys() | after.limits.keys()
    limits = [
        {name: each.limits.get(name, ConnectionLimits()) for name in sorted(connections)} for each in (before, after)
    ]
    sections = {
        "prometheus": (before.prometheus, after.prometheus),
        "adapters": (before.adapters, after.adapters),
        "limits": (limits[0], limits[1]),
        "state": (before.state, after.state),
        "ha": (before.ha, after.ha),
        "web": (before.web, after.web),
        "log": (before.log, after.log),
    }
    found = [path for key, (was, is_) in sections.items() for path in _changed_paths(was, is_, _SECTIONS.get(key, key))]
    return list(dict.fromkeys(found))


_SECTIONS: Final = {"limits": "adapters"}
_KEYS: Final = {
    "target": "scaleTargetRef",
    "options": "controller",
    "stabilization_window": "stabilizationWindowSeconds",
    "failure_duration": "failureDurationSeconds",
    "start_up": "startUpSeconds",
    "victims": "scaleTargetRef.victims",
}
"""Field of the model -> key of the configuration, if it has a different name."""
_QUANTITIES: Final = frozenset({"request", "service_rate"})
"""Fields in thousandths."""
_NOT_CONFIGURED: Final = frozenset({"scale_to_zero"})


def _effective(scaler: Autoscaler) -> Behavior | None:
    """Its behavior, with the controller's defaults filled in."""
    behavior, tolerances = scaler.behavior, tolerances_of(scaler)
    if behavior is None:
        return None
    up, down = behavior.scale_up, behavior.scale_down
    return Behavior(
        replace(up, stabilization_window=up_window(scaler), tolerance=tolerances.up),
        replace(down, stabilization_window=down_window(scaler), tolerance=tolerances.down),
    )


def _deciding(scaler: Autoscaler) -> Autoscaler:
    """The autoscaler without what cannot change a size."""
    metrics = tuple([replace(metric, described_object=None) for metric in scaler.metrics])
    return replace(scaler, labels=(), dry_run=False, metrics=metrics, behavior=_effective(scaler))


def _leaves(value: Any, path: str) -> Iterator[tuple[str, str]]:
    """Every key below a value of the model -> its value as text; None is left out."""
    for field in fields(value):
        name, held = field.name, getattr(value, field.name)
        if held is None or name in _NOT_CONFIGURED:
            continue
        key = f"{path}{_KEYS.get(name, to_camel(name))}"
        match held:
            case MetricTarget():
                yield f"{path}target.{TARGET_KEYS[held.type]}", str(target_value(held))
            case tuple() if name == "metrics":
                yield from _metric_leaves(held, key)
            case tuple() if name == "policies":
                yield key, ", ".join(map(_policy, held))
            case tuple() if name == "schedules":
                yield from ((f"{key}[{at}]", _entry(entry)) for at, entry in enumerate(held))
            case tuple():  # labels, or a query's match
                yield from ((f"{key}.{label}", text) for label, text in held)
            case _ if is_dataclass(held):
                below = f"{key}.query." if name == "request" else f"{key}."
                yield from _leaves(held, below)
            case _:
                yield key, _text(name, key, held)


def _text(name: str, key: str, value: Any) -> str:
    """A value as in the configuration."""
    match value:
        case timedelta():
            return f"{value.total_seconds():g}" if key.endswith("Seconds") else format_duration(value)
        case bool():
            return str(value).lower()
        case float():
            return f"{value:g}"
        case int() if name in _QUANTITIES:
            return format_quantity(value)
        case _:
            return str(value)


def _metric_leaves(metrics: Sequence[MetricSpec], path: str) -> Iterator[tuple[str, str]]:
    """Metrics are identified by name, so that another place in the list is no difference."""
    seen: dict[tuple[MetricType, str], int] = {}
    for metric in metrics:
        number = seen[metric.type, metric.name] = seen.get((metric.type, metric.name), 0) + 1
        which = metric.name if number == 1 else f"{metric.name} {number}"
        body = f"{path}[{which}].{BODIES[metric.type]}."
        yield from ((key, text) for key, text in _leaves(metric, body) if key not in (f"{body}type", f"{body}name"))


def _entry(entry: ScheduleEntry) -> str:
    """Every key of a schedule's entry that is not its default."""
    known = [(each, getattr(entry, each.name)) for each in fields(entry)]
    return ", ".join(f"{to_camel(each.name)}: {value}" for each, value in known if value not in (each.default, ()))


def _policy(policy: ScalingPolicy) -> str:
    return f"{policy.value} {policy.type} per {policy.period.total_seconds():g} s"


def _differences(before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[Change]:
    for path in dict.fromkeys([*before, *after]):
        if before.get(path) != after.get(path):
            yield Change(path, before.get(path), after.get(path))


def _changed_paths(before: Any, after: Any, path: str) -> Iterator[str]:
    """The paths at which two values differ, as deep as both have the same type."""
    if before == after:
        return
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in dict.fromkeys([*before, *after]):
            yield from _changed_paths(before.get(key), after.get(key), f"{path}.{key}")
    elif type(before) is type(after) and isinstance(before, BaseModel):
        keys = type(before).model_fields
        for name, field in keys.items():
            key = field.alias or to_camel(name)
            yield from _changed_paths(getattr(before, name), getattr(after, name), f"{path}.{key}")
    elif type(before) is type(after) and is_dataclass(before):
        for each in fields(before):
            key = path if each.name == "settings" else f"{path}.{to_camel(each.name)}"
            yield from _changed_paths(getattr(before, each.name), getattr(after, each.name), key)
    else:
        yield path
