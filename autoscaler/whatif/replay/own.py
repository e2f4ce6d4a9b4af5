"""The daemon's own decisions, made again from what it recorded, and held against what it recorded."""

import dataclasses
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from msgspec.structs import replace

from autoscaler.decide import conclude, decide, remember
from autoscaler.decide.connection_limits import limit_as_recorded
from autoscaler.errors import TargetError
from autoscaler.model import CONNECTION_LIMITS, Autoscaler, Decision, History, Intent, Outcome, later
from autoscaler.whatif.past.past import Finding, FindingKind, Moment, span


class Again(NamedTuple):
    """One decision made again."""

    decision: Decision
    """Concluded with the recorded outcome."""
    history: History


class _Before(NamedTuple):
    """The moment before, and what follows from it."""

    at: datetime
    scaler: Autoscaler
    follows: History
    """What is remembered after it: one cycle that is decided otherwise now does not make all after it other ones."""


class Repeated:
    """Follows what is remembered from cycle to cycle by itself, and says where the record goes another way."""

    def __init__(self) -> None:
        self.findings: Final = list[Finding]()
        self.same = 0
        """Decisions that were the same, bit for bit."""
        self.compared = 0
        self._before: _Before | None = None
        self._last_of: dict[FindingKind, int] = {}
        """Where the newest finding of a kind is."""

    def step(self, moment: Moment) -> Again | None:
        """The decision of this moment made again; None: the state does not hold what it was made from."""
        scaler, recorded, before = moment.scaler, moment.decision, self._before
        if scaler is None or recorded is None:
            return None
        history = moment.history
        if before is not None:
            self._tell_change(before, scaler, moment.at)
            if before.scaler.target != scaler.target:  # each target has a memory of its own
                before = None
        if history is None:
            if before is None:
                return None
            history = replace(before.follows, steering=recorded.steering)
        elif before is not None:
            history = self._continued(before, history, moment.at)
        made = limit_as_recorded(decide(scaler, moment.observation, history, moment.at), history, recorded)
        made = conclude(made, recorded.outcome)
        self._compare(recorded, made)
        self._before = _Before(moment.at, scaler, remember(scaler, history, recorded))
        return Again(made, history)

    def _continued(self, before: _Before, recorded: History, at: datetime) -> History:
        """What is remembered: as it follows from the cycle before, which the record has to agree with."""
        follows = before.follows
        if follows.steering != recorded.steering:
            self._tell(at, FindingKind.STEERING, "operators asked for something else: a pause, an override, or its end")
            follows = replace(follows, steering=recorded.steering)
        if follows == recorded:
            return follows
        for found in _explained(follows, recorded):
            follows = found.history
            self._tell(at, found.kind, found.message)
            if follows == recorded:
                return follows
        self._tell(
            at,
            FindingKind.MEMORY,
            f"what was remembered is not what follows from the cycle of {_time(before.at)}: "
            f"{', '.join(_differing(follows, recorded))}; it is taken as it was recorded",
        )
        return recorded

    def _tell_change(self, before: _Before, scaler: Autoscaler, at: datetime) -> None:
        if scaler is not before.scaler and scaler != before.scaler:
            names = ", ".join(_differing_fields(before.scaler, scaler))
            self._tell(at, FindingKind.RELOAD, f"the autoscaler was configured anew: {names}")

    def _compare(self, recorded: Decision, made: Decision) -> None:
        self.compared += 1
        if same_decision(recorded, made):
            self.same += 1
        else:
            same_outcome = (
                replace(made, outcome=recorded.outcome) if _same_outcome(recorded.outcome, made.outcome) else made
            )
            names = ", ".join(_differing(recorded, same_outcome))
            message = f"decided otherwise than it was recorded: {names}; desired {made.desired} for {recorded.desired}"
            self._tell_on(recorded.now, FindingKind.DIFFERENCE, message)
        limit = next((step for step in recorded.trace if step.reason in CONNECTION_LIMITS), None)
        if limit is not None:
            message = f"{limit.reason} cut what was decided; that it did is taken as it was recorded"
            self._tell_on(recorded.now, FindingKind.LIMITS, message)

    def _tell(self, at: datetime, kind: FindingKind, message: str) -> None:
        self.findings.append(Finding(at, at, kind, message))

    def _tell_on(self, at: datetime, kind: FindingKind, message: str) -> None:
        """The same cycle after cycle is one finding: a day of it would bury the rest."""
        place = self._last_of.get(kind)
        if place is not None and self._before is not None:
            known = self.findings[place]
            if known.message == message and known.end == self._before.at:
                self.findings[place] = dataclasses.replace(known, end=at)
                return
        self._last_of[kind] = len(self.findings)
        self._tell(at, kind, message)


def same_decision(one: Decision, other: Decision) -> bool:
    """Whether both are equal bit for bit; errors are when they are of one class and say the same."""
    if not _same_outcome(one.outcome, other.outcome):
        return False
    return one == other or replace(one, outcome=None) == replace(other, outcome=None)


def _same_outcome(one: Outcome | None, other: Outcome | None) -> bool:
    if isinstance(one, TargetError):
        return type(one) is type(other) and str(one) == str(other)
    return one == other


class _Explanation(NamedTuple):
    """Why what is remembered is another than what follows, and what follows then."""

    kind: FindingKind
    message: str
    history: History


def _explained(follows: History, recorded: History) -> Iterator[_Explanation]:
    """What is known to come between two cycles, one after another, each on top of those before it."""
    if follows.at is not None and recorded.at is not None and follows.at != recorded.at:
        by = recorded.at - follows.at
        follows = later(follows, by)
        direction = "forward" if by > timedelta(0) else "back"
        message = f"the wall clock was set {direction} by {span(abs(by))}"
        yield _Explanation(FindingKind.CLOCK, message, follows)
    if follows.unfinished != recorded.unfinished:
        follows = replace(follows, unfinished=recorded.unfinished)
        yield _Explanation(FindingKind.RESTART, _of_intent(recorded.unfinished), follows)


def _of_intent(intent: Intent | None) -> str:
    if intent is None:
        return "a write whose outcome was unknown was settled outside a recorded cycle"
    return (
        f"a size of {intent.size} was announced at {_time(intent.at)}, and what came of it was not recorded: "
        "the daemon ended, or its state failed"
    )


def _differing(one: History | Decision, other: History | Decision) -> list[str]:
    return [name for name in one.__struct_fields__ if getattr(one, name) != getattr(other, name)]


def _differing_fields(one: Autoscaler, other: Autoscaler) -> list[str]:
    return [name for name in one.__dataclass_fields__ if getattr(one, name) != getattr(other, name)]


def _time(at: datetime) -> str:
    return at.isoformat(timespec="seconds")
