"""A past with other names: every text has one replacement, and the decisions stay the same.

Words of the program stay: classes, types, reasons. The texts of decisions are not replaced; the decisions are made
again from the replaced past.
"""

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from typing import Any, Final, NamedTuple, TypeVar

import msgspec
from msgspec.structs import replace

from autoscaler.decide import conclude, decide, remember
from autoscaler.decide.connection_limits import limit_as_recorded
from autoscaler.errors import TargetError
from autoscaler.model import CONNECTION_LIMITS, Autoscaler, Decision, History, Override, Pause, Steering
from autoscaler.whatif.past.past import Cycle
from autoscaler.whatif.replay.repetition import repeated, same_decision

_T = TypeVar("_T")
_KEPT: Final = frozenset({"", "cpu", "memory"})
"""The HPA has rules for cpu, and the names of usual resources say nothing of their user."""
_OWN_REASONS: Final = "reason"
"""The field with words of the program or of an adapter; in pauses and overrides it is an operator's text."""

_CALENDAR: Final = frozenset({("ScheduleEntry", each) for each in ("timezone", "cron", "until")})
"""Fields without names, by which schedules open."""


class _Last(NamedTuple):
    """The cycle before, as it was and with other names."""

    cycle: Cycle
    renamed: Cycle


class Anonymizer:
    """Replaces the texts of one past."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._numbers: dict[str, int] = {}
        """Kind of a name -> the number of its last one."""
        self._last: _Last | None = None

    def cycles(self, cycles: Iterable[Cycle]) -> Iterator[Cycle]:
        """Each cycle with other names, decided again with them. Those without a decision are left out."""
        for cycle in cycles:
            if cycle.decision is not None and cycle.history is not None:
                renamed = self._renamed(cycle, cycle.decision, cycle.history)
                self._last = _Last(cycle, renamed)
                yield renamed

    def name(self, name: str) -> str:
        """The other name of an autoscaler."""
        return self._name("autoscaler", name)

    def _renamed(self, cycle: Cycle, recorded: Decision, before: History) -> Cycle:
        other = self._configuration(cycle.scaler)
        history = self._history(before)
        observed = self._scrub(cycle.observation)
        again = limit_as_recorded(decide(other, observed, history, cycle.at), history, self._without_names(recorded))
        made = conclude(again, self._scrub(recorded.outcome))
        as_it_was = repeated(cycle.scaler, cycle.observation, before, recorded)
        if not same_decision(as_it_was, recorded):  # the case may be about this difference, so it stays
            different = {
                name: self._scrub(getattr(recorded, name), ("Decision", name))
                for name in recorded.__struct_fields__
                if getattr(as_it_was, name) != getattr(recorded, name)
            }
            made = replace(made, **different)
        return Cycle(cycle.at, observed, other, made, history)

    def _configuration(self, scaler: Autoscaler) -> Autoscaler:
        last = self._last
        if last is not None and last.cycle.scaler is scaler:
            return last.renamed.scaler
        return self._scrub(dataclasses.replace(scaler, labels=()))

    def _history(self, before: History) -> History:
        """What follows from the cycle before, if the recorded memory did; else the recorded memory."""
        last = self._last
        if last is not None and _following(last.cycle, before.steering) == before:
            follows = _following(last.renamed, self._scrub(before.steering))
            if follows is not None:
                return follows
        return self._scrub(before)

    def _without_names(self, recorded: Decision) -> Decision:
        """The decision, without the name of the connection in the step that says how its limits reduced it."""
        trace = [
            replace(step, detail=self._name("detail", step.detail)) if step.reason in CONNECTION_LIMITS else step
            for step in recorded.trace
        ]
        return replace(recorded, trace=tuple(trace))

    def _name(self, kind: str, text: str) -> str:
        if text in _KEPT:
            return text
        if text not in self._names:
            self._numbers[kind] = self._numbers.get(kind, 0) + 1
            self._names[text] = f"{kind}-{self._numbers[kind]}"
        return self._names[text]

    def _scrub(self, value: _T, field: tuple[str, str] = ("", "text")) -> _T:
        """The same value with other texts. `field`: the class and the name of the field that has it."""
        scrubbed: Any = self._scrubbed(value, field)
        same: _T = scrubbed
        return same

    def _scrubbed(self, value: Any, field: tuple[str, str]) -> Any:
        kind, name = field
        if isinstance(value, Enum):
            return value
        if isinstance(value, str):
            if field in _CALENDAR or (name == _OWN_REASONS and kind not in (Pause.__name__, Override.__name__)):
                return value
            return self._name(kind.lower() if name == "name" else name, value)
        if isinstance(value, TargetError):
            return type(value)(self._name("error", str(value)))
        if isinstance(value, tuple | frozenset):
            return type(value)([self._scrubbed(each, field) for each in value])
        if isinstance(value, Mapping):
            return {self._scrubbed(key, field): self._scrubbed(each, field) for key, each in value.items()}
        if isinstance(value, msgspec.Struct):
            names = value.__struct_fields__
        elif dataclasses.is_dataclass(value) and not isinstance(value, type):
            names = tuple([each.name for each in dataclasses.fields(value)])
        else:
            return value
        made = type(value)
        return made(**{each: self._scrubbed(getattr(value, each), (made.__name__, each)) for each in names})


def _following(cycle: Cycle, steering: Steering) -> History | None:
    """The memory after a cycle, with what operators asked for before the next one; None if it is unknown."""
    if cycle.history is None or cycle.decision is None:
        return None
    return replace(remember(cycle.scaler, cycle.history, cycle.decision), steering=steering)
