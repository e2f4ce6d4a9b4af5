"""The daemon's decisions, repeated from what it recorded, and compared with what it recorded."""

import dataclasses
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from msgspec.structs import replace

from autoscaler.decide import conclude, decide, remember
from autoscaler.decide.connection_limits import limit_as_recorded
from autoscaler.errors import TargetError
from autoscaler.model import CONNECTION_LIMITS, Autoscaler, Decision, History, Intent, Observation, Outcome, later
from autoscaler.whatif.past.past import Cycle, Finding, FindingKind, span


class _Before(NamedTuple):
    """The cycle before."""

    at: datetime
    scaler: Autoscaler
    follows: History
    """What follows from the recorded decision, so that one different decision does not change all later ones."""


class Repetition:
    """Decides recorded cycles again, one after another, and collects where the record does not follow from itself."""

    def __init__(self) -> None:
        self.findings: Final = list[Finding]()
        self.same = 0
        """How many decisions were the same, bit for bit."""
        self.compared = 0
        """Of how many."""
        self._before: _Before | None = None
        self._last_of: dict[FindingKind, int] = {}
        """The place of the newest finding of a kind."""

    def step(self, cycle: Cycle) -> Decision | None:
        """Decide a cycle again, with its recorded outcome; None if the state lacks what it was decided from."""
        scaler, recorded, history, before = cycle.scaler, cycle.decision, cycle.history, self._before
        if recorded is None:
            return None
        if before is not None:
            self._add_change(before, scaler, cycle.at)
            if before.scaler.target != scaler.target:  # each target has its own memory
                before = None
        if history is None:
            if before is None:
                return None
            history = replace(before.follows, steering=recorded.steering)
        elif before is not None:
            history = self._continued(before, history, cycle.at)
        made = repeated(scaler, cycle.observation, history, recorded)
        self._compare(recorded, made)
        self._before = _Before(cycle.at, scaler, remember(scaler, history, recorded))
        return made

    def _continued(self, before: _Before, recorded: History, at: datetime) -> History:
        """What follows from the cycle before; where the record says something else, the record, with a finding."""
        follows = before.follows
        if follows.steering != recorded.steering:
            self._add(at, FindingKind.STEERING, "a pause or an override began or ended")
            follows = replace(follows, steering=recorded.steering)
        if follows == recorded:
            return follows
        for found in _explained(follows, recorded):
            follows = found.history
            self._add(at, found.kind, found.message)
            if follows == recorded:
                return follows
        self._add(
            at,
            FindingKind.MEMORY,
            f"the recorded memory does not follow from the cycle at {_time(before.at)}: "
            f"{', '.join(_differing(follows, recorded))}; the recorded memory is used",
        )
        return recorded

    def _add_change(self, before: _Before, scaler: Autoscaler, at: datetime) -> None:
        if scaler is not before.scaler and scaler != before.scaler:
            fields = [field.name for field in dataclasses.fields(scaler)]
            names = [name for name in fields if getattr(before.scaler, name) != getattr(scaler, name)]
            self._add(at, FindingKind.RELOAD, f"the configuration of the autoscaler changed: {', '.join(names)}")

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
    return conclude(made, recorded.outcome)


def same_decision(one: Decision, other: Decision) -> bool:
    """Whether both are equal bit for bit; two errors are equal if they have the same class and message."""
    if not _same_outcome(one.outcome, other.outcome):
        return False
    return one == other or replace(one, outcome=None) == replace(other, outcome=None)


def _same_outcome(one: Outcome | None, other: Outcome | None) -> bool:
    if isinstance(one, TargetError):
        return type(one) is type(other) and str(one) == str(other)
    return one == other


class _Explanation(NamedTuple):
    """A known reason why the recorded memory differs, and the memory that follows with it."""

    kind: FindingKind
    message: str
    history: History


def _explained(follows: History, recorded: History) -> Iterator[_Explanation]:
    """The known reasons that apply, each one in addition to those before it."""
    if follows.at is not None and recorded.at is not None and follows.at != recorded.at:
        by = recorded.at - follows.at
        follows = later(follows, by)
        direction = "forward" if by > timedelta(0) else "back"
        yield _Explanation(FindingKind.CLOCK, f"the wall clock was set {direction} by {span(abs(by))}", follows)
    if follows.unfinished != recorded.unfinished:
        follows = replace(follows, unfinished=recorded.unfinished)
        yield _Explanation(FindingKind.RESTART, _about(recorded.unfinished), follows)


def _about(intent: Intent | None) -> str:
    if intent is None:
        return "a write with an unknown outcome was settled outside of a recorded cycle"
    return (
        f"the size {intent.size} was announced at {_time(intent.at)}, and its outcome was not recorded: the daemon "
        "ended, or its state failed"
    )


def _differing(one: History | Decision, other: History | Decision) -> list[str]:
    return [name for name in one.__struct_fields__ if getattr(one, name) != getattr(other, name)]


def _time(at: datetime) -> str:
    return at.isoformat(timespec="seconds")
