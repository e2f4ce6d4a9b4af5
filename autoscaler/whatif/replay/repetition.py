"""The daemon's decisions, repeated from what it recorded, and compared with what it recorded."""

import dataclasses
from collections.abc import Iterator
from datetime import datetime
from typing import Final

from msgspec.structs import replace

from autoscaler.decide import apply_outcome, decide
from autoscaler.errors import TargetError
from autoscaler.limits.connection_limits import limit_as_recorded
from autoscaler.model import CONNECTION_LIMITS, Autoscaler, Decision, History, Observation, Outcome
from autoscaler.version import VERSION
from autoscaler.whatif.past.past import Cycle, Finding, FindingKind


class Repetition:
    """Decides recorded cycles again from what the daemon remembered, and collects what is different or has changed."""

    def __init__(self) -> None:
        self.findings: Final = list[Finding]()
        self.same = 0
        """How many decisions were the same, bit for bit."""
        self.compared = 0
        """Of how many."""
        self._before: Cycle | None = None
        """The cycle before that was decided again."""
        self._last_of: dict[FindingKind, int] = {}
        """The place of the newest finding of a kind."""

    def step(self, cycle: Cycle) -> None:
        """Decide a cycle again, with its recorded outcome, unless the state lacks what it was decided from."""
        scaler, recorded, history = cycle.scaler, cycle.decision, cycle.history
        if recorded is None or history is None:
            return
        self._add_changes(cycle, scaler, recorded)
        self._compare(recorded, repeated(scaler, cycle.observation, history, recorded))
        self._before = cycle

    def _add_changes(self, cycle: Cycle, scaler: Autoscaler, recorded: Decision) -> None:
        before = self._before
        if before is None:
            if cycle.version not in (None, VERSION):
                message = f"version {cycle.version} decided from here on, and version {VERSION} decides it again"
                self._add(recorded.now, FindingKind.VERSION, message)
            return
        if scaler is not before.scaler and scaler != before.scaler:
            names = ", ".join(_differences(before.scaler, scaler))
            message = f"the configuration of the autoscaler changed: {names}"
            self._add(recorded.now, FindingKind.RELOAD, message)
        if cycle.version != before.version:
            message = (
                f"version {cycle.version or 'unknown'} decided from here on, and {before.version or 'unknown'} before"
            )
            self._add(recorded.now, FindingKind.VERSION, message)
        if before.decision is not None and before.decision.manual != recorded.manual:
            self._add(recorded.now, FindingKind.STEERING, "a pause or an override began or ended")

    def _compare(self, recorded: Decision, made: Decision) -> None:
        self.compared += 1
        if same_decision(recorded, made):
            self.same += 1
        else:
            if _same_outcome(recorded.outcome, made.outcome):
                made = replace(made, outcome=recorded.outcome)
            names = ", ".join(_differing(recorded, made))
            message = f"the decision differs from the record: {names}; desired {made.desired} for {recorded.desired}"
            self._add_or_extend(recorded.now, FindingKind.DIFFERENCE, message)
        limit = next((step for step in recorded.trace if step.reason in CONNECTION_LIMITS), None)
        if limit is not None:
            message = f"{limit.reason} reduced the decision; the replay uses the recorded reduction"
            self._add_or_extend(recorded.now, FindingKind.LIMITS, message)

    def _add(self, at: datetime, kind: FindingKind, message: str) -> None:
        self.findings.append(Finding(at, at, kind, message))

    def _add_or_extend(self, at: datetime, kind: FindingKind, message: str) -> None:
        """Consecutive cycles with the same message are one finding, so that they do not hide the others."""
        place = self._last_of.get(kind)
        if place is not None and self._before is not None:
            known = self.findings[place]
            if known.message == message and known.end == self._before.at:
                self.findings[place] = dataclasses.replace(known, end=at)
                return
        self._last_of[kind] = len(self.findings)
        self._add(at, kind, message)


def repeated(scaler: Autoscaler, observed: Observation, history: History, recorded: Decision) -> Decision:
    """Make a recorded decision again, with its limits and its outcome as recorded."""
    made = limit_as_recorded(decide(scaler, observed, history, recorded.now), history, recorded)
    return apply_outcome(made, recorded.outcome)


def same_decision(one: Decision, other: Decision) -> bool:
    """Whether both are equal bit for bit; two errors are equal if they have the same class and message.

    The words of steps, metrics, conditions and events do not count: another version may say the same in other words.
    """
    if not _same_outcome(one.outcome, other.outcome):
        return False
    return one == other or _without_words(one) == _without_words(other)


def _without_words(made: Decision) -> Decision:
    known = made.remembered
    status = replace(known.status, metrics=tuple([replace(each, detail="") for each in known.status.metrics]))
    return replace(
        made,
        outcome=None,
        remembered=replace(known, status=status),
        trace=tuple([replace(each, detail="") for each in made.trace]),
        metrics=tuple([replace(each, detail="") for each in made.metrics]),
        conditions=tuple([replace(each, message="") for each in made.conditions]),
        events=tuple([replace(each, message="") for each in made.events]),
    )


def _same_outcome(one: Outcome | None, other: Outcome | None) -> bool:
    if isinstance(one, TargetError):
        return type(one) is type(other) and str(one) == str(other)
    return one == other


def _differing(one: Decision, other: Decision) -> list[str]:
    first, second = _without_words(one), _without_words(other)
    found = [name for name in one.__struct_fields__ if getattr(first, name) != getattr(second, name)]
    return found if _same_outcome(one.outcome, other.outcome) else [*found, "outcome"]


def _differences(before: Autoscaler, after: Autoscaler) -> Iterator[str]:
    """Yield the fields that differ; of the rules, their names."""
    for field in dataclasses.fields(after):
        if field.name != "rules" and getattr(before, field.name) != getattr(after, field.name):
            yield field.name
    had, has = ({rule.name: rule for rule in each.rules} for each in (before, after))
    yield from sorted([name for name in had.keys() | has.keys() if had.get(name) != has.get(name)])
