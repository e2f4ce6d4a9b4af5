"""Drains of instances that leave: which have begun, and how they ended.

The memory of a drain is committed with the first cycle that sees its instance wait, before its action begins, and again
with the cycle that sees its end. The action itself runs outside of cycles (`autoscaler.drain`).
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Final, NamedTuple

from msgspec.structs import replace

from autoscaler.model import (
    Autoscaler,
    AwaitingDrain,
    Decision,
    Drain,
    DrainOutcome,
    DrainReport,
    DrainRule,
    Event,
    EventType,
    History,
    Observation,
    Reason,
    TargetState,
)
from autoscaler.quantity import format_age, format_duration

_HOW: Final = {
    DrainOutcome.DONE: "is drained and was let go",
    DrainOutcome.TIMED_OUT: "was let go at the drain's timeout",
    DrainOutcome.GONE: "is gone, or was let go by its back end or another client",
}


class _Draining(NamedTuple):
    """The drains of one autoscaler's target."""

    drains: tuple[Drain, ...] = ()
    events: tuple[Event, ...] = ()


def with_drains(scaler: Autoscaler, observed: Observation, history: History, made: Decision) -> Decision:
    """Return the decision with the drains under way and those just ended. They change no size.

    A dry run drains nothing. An instance whose drain has ended is remembered while its back end lists it, so that it is
    not drained again.
    """
    if scaler.drain is None and not history.drains:
        return made
    drains, events = _follow_all(scaler, observed, history, made.now)
    return replace(made, drains=drains, events=(*made.events, *events))


def _follow_all(scaler: Autoscaler, observed: Observation, history: History, now: datetime) -> _Draining:
    rule = None if scaler.dry_run else scaler.drain
    if rule is None:
        open_ones = [each for each in history.drains if each.ended is None]
        text = "is no longer drained, because the configuration has changed"
        return _Draining((), tuple([_event(each, Reason.DRAIN_ENDED, text) for each in open_ones]))
    state, reports = observed.target, {each.instance: each for each in observed.drains}
    if not isinstance(state, TargetState) or state.awaiting_drain is None:
        return _Draining(history.drains)
    if not state.awaiting_drain and not history.drains:
        return _Draining()
    listed = {each.name for each in state.instances}
    return _follow(rule, state.awaiting_drain, listed, reports, {each.instance: each for each in history.drains}, now)


def _follow(
    rule: DrainRule,
    awaiting: Sequence[AwaitingDrain],
    listed: Collection[str],
    reports: Mapping[str, DrainReport],
    known: Mapping[str, Drain],
    now: datetime,
) -> _Draining:
    waiting = {each.instance for each in awaiting}
    drains, events = list[Drain](), list[Event]()
    for before in known.values():
        drain = _followed(before, reports.get(before.instance), waits=before.instance in waiting, now=now)
        if drain.ended is not None and before.ended is None:
            events.append(_ended(drain, now))
        if drain.ended in (None, now) or drain.instance in listed:
            drains.append(drain)
    for each in awaiting:
        if each.instance not in known:
            drain = Drain(each.instance, now, rule.action)
            drains.append(drain)
            timeout = format_duration(rule.timeout)
            events.append(_event(drain, Reason.DRAIN_BEGAN, f"is drained by {rule.action}, for at most {timeout}"))
    return _Draining(tuple(drains), tuple(events))


def _followed(drain: Drain, report: DrainReport | None, *, waits: bool, now: datetime) -> Drain:
    if drain.ended is not None:
        return drain
    outcome = None if report is None else report.outcome
    if report is not None and report.detail != drain.detail:
        drain = replace(drain, detail=report.detail)
    if not waits:
        return replace(drain, ended=now, outcome=outcome or DrainOutcome.GONE)
    if report is not None and outcome is not None and report.released:
        return replace(drain, ended=now, outcome=outcome)
    return drain


def _ended(drain: Drain, now: datetime) -> Event:
    how = _HOW[drain.outcome or DrainOutcome.GONE]
    took = format_age(now - drain.began)
    text = f"{how} after {took}{f': {drain.detail}' if drain.detail else ''}"
    return _event(drain, Reason.DRAIN_ENDED, text)


def _event(drain: Drain, reason: Reason, text: str) -> Event:
    late = drain.outcome is DrainOutcome.TIMED_OUT
    return Event(EventType.WARNING if late else EventType.NORMAL, reason, f"instance {drain.instance} {text}")
