"""A past under other names: what was called the same still is, and everything is decided as it was.

Every text is replaced but for words of the program's own: classes, types, reasons. What the decisions say is not
replaced but decided again, from what has been.
"""

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from typing import Any, Final, NamedTuple, TypeVar

import msgspec
from msgspec.structs import replace

from autoscaler.decide import conclude, decide, remember
from autoscaler.decide.connection_limits import limit_as_recorded
from autoscaler.errors import AutoscalerError
from autoscaler.model import CONNECTION_LIMITS, Autoscaler, Decision, History, MetricType, Steering
from autoscaler.whatif.past.past import Moment
from autoscaler.whatif.replay.own import same_decision

_T = TypeVar("_T")
_OWN: Final = "own"
"""Words of the program, or of an adapter's code: they stay."""
_RESOURCE: Final = "resource"
_USUAL_RESOURCES: Final = frozenset({"cpu", "memory"})
"""They stay: HPA has rules for cpu alone, and neither tells anything of who uses it."""
_KINDS: Final[Mapping[tuple[str, str], str]] = {
    ("Autoscaler", "name"): "autoscaler",
    ("Decision", "name"): "autoscaler",
    ("TargetRef", "adapter"): "adapter",
    ("TargetRef", "name"): "target",
    ("TargetRef", "namespace"): "namespace",
    ("TargetRef", "region"): "region",
    ("Query", "expr"): "query",
    ("Query", "prometheus"): "prometheus",
    ("Query", "match"): "label",
    ("Query", "instance_label"): "label",
    ("MetricSpec", "name"): "metric",
    ("MetricSpec", "container"): "container",
    ("MetricSpec", "container_label"): "label",
    ("MetricSpec", "described_object"): "object",
    ("MetricOutcome", "name"): "metric",
    ("MetricOutcome", "not_ready"): "instance",
    ("MetricOutcome", "missing"): "instance",
    ("MetricOutcome", "ignored"): "instance",
    ("MetricFailure", "name"): "metric",
    ("Backlog", "name"): "metric",
    ("Instance", "name"): "instance",
    ("Instance", "identities"): "instance",
    ("Instance", "requests"): _RESOURCE,
    ("Instance", "container_requests"): "container",
    ("InstanceReading", "samples"): "instance",
    ("InstanceReading", "requests"): "instance",
    ("Observation", "victims"): "instance",
    ("ScaleChange", "victims"): "instance",
    ("Condition", "reason"): _OWN,
    ("Event", "reason"): _OWN,
    ("Step", "reason"): _OWN,
    ("HoldReason", "reason"): _OWN,
    ("ActiveBrake", "reason"): _OWN,
    ("Pause", "by"): "operator",
    ("Override", "by"): "operator",
}
"""Class and field of the model -> what its texts are called; all others are texts."""
_RESOURCES: Final = frozenset({MetricType.RESOURCE, MetricType.CONTAINER_RESOURCE})


class _Last(NamedTuple):
    """The moment before: as it was, and under other names."""

    moment: Moment
    renamed: Moment


class Anonymizer:
    """Gives every text of a past another one. One for each case."""

    def __init__(self) -> None:
        self._names: dict[str, dict[str, str]] = {}
        self._last: _Last | None = None

    def moments(self, moments: Iterable[Moment]) -> Iterator[Moment]:
        """Each under other names, and decided again under them. Those without a decision are left out."""
        for moment in moments:
            if moment.decision is not None and moment.scaler is not None and moment.history is not None:
                renamed = self._renamed(moment, moment.scaler, moment.decision, moment.history)
                self._last = _Last(moment, renamed)
                yield renamed

    def name(self, name: str) -> str:
        """What an autoscaler of this name is called."""
        return self._name("autoscaler", name)

    def _renamed(self, moment: Moment, scaler: Autoscaler, recorded: Decision, before: History) -> Moment:
        other = self._configuration(scaler)
        history = self._history(before)
        observed = self._scrub(moment.observation)
        again = limit_as_recorded(decide(other, observed, history, moment.at), history, self._with_plain_cut(recorded))
        made = conclude(again, self._scrub(recorded.outcome))
        as_it_was = limit_as_recorded(decide(scaler, moment.observation, before, moment.at), before, recorded)
        as_it_was = conclude(as_it_was, recorded.outcome)
        if not same_decision(as_it_was, recorded):  # what the case is about, perhaps: it stays different
            made = self._differing(made, as_it_was, recorded)
        return Moment(moment.at, observed, made, history, other)

    def _configuration(self, scaler: Autoscaler) -> Autoscaler:
        last = self._last
        if last is not None and last.moment.scaler is scaler and last.renamed.scaler is not None:
            return last.renamed.scaler
        return self._scrub(dataclasses.replace(scaler, labels=()))

    def _history(self, before: History) -> History:
        """What follows from the cycle before, where it did; else what was recorded."""
        last = self._last
        if last is not None:
            known, renamed = last.moment, last.renamed
            if _following(known, before.steering) == before:
                follows = _following(renamed, self._scrub(before.steering))
                if follows is not None:
                    return follows
        return self._scrub(before)

    def _with_plain_cut(self, recorded: Decision) -> Decision:
        """The decision whose step says how the connection's limits cut it, without the connection's name."""
        trace = [
            replace(step, detail=self._name("text", step.detail)) if step.reason in CONNECTION_LIMITS else step
            for step in recorded.trace
        ]
        return replace(recorded, trace=tuple(trace))

    def _differing(self, made: Decision, as_it_was: Decision, recorded: Decision) -> Decision:
        names = [
            name for name in recorded.__struct_fields__ if getattr(as_it_was, name) != getattr(recorded, name)
        ]  # fmt: skip
        return replace(made, **{name: self._scrub(getattr(recorded, name), ("Decision", name)) for name in names})

    def _name(self, kind: str, text: str) -> str:
        if kind == _OWN or (kind == _RESOURCE and text in _USUAL_RESOURCES):
            return text
        known = self._names.setdefault(kind, {})
        return known.setdefault(text, f"{kind}-{len(known) + 1}")

    def _scrub(self, value: _T, field: tuple[str, str] = ("", "")) -> _T:
        """The same value with other texts. `field`: class and name of the field that it is of."""
        scrubbed: Any = self._scrubbed(value, field)
        same: _T = scrubbed
        return same

    def _scrubbed(self, value: Any, field: tuple[str, str]) -> Any:
        if isinstance(value, str):
            return value if isinstance(value, Enum) or not value else self._name(_KINDS.get(field, "text"), value)
        if isinstance(value, AutoscalerError):
            return type(value)(self._name("error", str(value)))
        if isinstance(value, tuple | frozenset):
            return type(value)([self._scrubbed(each, field) for each in value])
        if isinstance(value, Mapping):
            return {self._scrubbed(key, field): self._inside(each, field) for key, each in value.items()}
        if isinstance(value, msgspec.Struct):
            names = value.__struct_fields__
        elif dataclasses.is_dataclass(value) and not isinstance(value, type):
            names = tuple([each.name for each in dataclasses.fields(value)])
        else:
            return value
        kind, values = type(value), {name: getattr(value, name) for name in names}
        at = {name: (kind.__name__, name) for name in names}
        if getattr(value, "type", None) in _RESOURCES:  # it is called as what instances have reserved is
            at["name"] = "Instance", "requests"
        return kind(**{name: self._scrubbed(each, at[name]) for name, each in values.items()})

    def _inside(self, value: Any, field: tuple[str, str]) -> Any:
        """What a mapping's key leads to: capacities of a container are called by resources, too."""
        if isinstance(value, Mapping):
            return {self._name(_RESOURCE, key): each for key, each in value.items()}
        return self._scrubbed(value, field)


def _following(moment: Moment, steering: Steering) -> History | None:
    """What is remembered after a moment, with what operators asked for before the next one; None: not known."""
    if moment.scaler is None or moment.history is None or moment.decision is None:
        return None
    return replace(remember(moment.scaler, moment.history, moment.decision), steering=steering)
