"""Brakes: what keeps a size where it is while something is wrong around the target.

Each only ever prevents a change that the metrics ask for; a size outside the bounds goes back inside them all the same.
Each is proportional: a share, and never fewer than FEWEST instances. Source of that rule: Cluster Autoscaler's
--max-total-unready-percentage and --ok-total-unready-count. Source of `unfulfilled`'s deadline: a Deployment's
progressDeadlineSeconds.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from msgspec.structs import replace

from autoscaler.model import (
    LONGEST_PERIOD,
    NO_BRAKES,
    ActiveBrake,
    Autoscaler,
    Brake,
    BrakeMemory,
    Event,
    EventType,
    History,
    HoldReason,
    InstanceLoss,
    Intent,
    LossBrake,
    OutsideChange,
    OutsideChangeBrake,
    OwnSize,
    Phase,
    Reason,
    Shortfall,
    TargetState,
    UnfulfilledBrake,
)

FEWEST: Final = 3
"""Instances that must be missing, or gone: fewer are no outage, whatever their share."""
_NOTHING: Final = BrakeMemory()


class Braking(NamedTuple):
    """What the brakes come to in one cycle."""

    active: tuple[ActiveBrake, ...] = ()
    """Those that are on, in the order in which they give the reason for a hold."""
    memory: BrakeMemory | None = None
    """To remember; None: there are no brakes."""
    events: tuple[Event, ...] = ()


class _Ran(NamedTuple):
    """What `loss` remembers, as in BrakeMemory."""

    running: int | None = None
    heaviest: int = 1
    loss: InstanceLoss | None = None


class _Sizes(NamedTuple):
    """What `outsideChange` remembers, as in BrakeMemory."""

    size: int | None = None
    own: tuple[OwnSize, ...] = ()
    outside: OutsideChange | None = None


def brake(scaler: Autoscaler, state: TargetState | None, history: History, now: datetime) -> Braking:
    """Which brakes are on. `state`: None where the target could not be read; then only time goes by."""
    rules = scaler.brakes
    off = rules is NO_BRAKES or rules == NO_BRAKES
    if off and history.brakes is None:
        return Braking()
    before = history.brakes or _NOTHING
    shortfall, ran, sizes = None, _Ran(), _Sizes()
    if rules.unfulfilled is not None:
        shortfall = _shortfall(rules.unfulfilled, before, state, now)
    if rules.loss is not None:
        ran = _ran(rules.loss, before, state, now)
    if rules.outside_change is not None:
        sizes = _sizes(rules.outside_change, before, state, history.unfinished, now)
    memory = BrakeMemory(shortfall, *ran, *sizes)
    active = tuple(_active(scaler, memory))
    events = tuple(_events(active, before, memory))
    return Braking(active, None if off else memory, events)


def holds(active: Sequence[ActiveBrake], *, out: bool) -> Iterator[HoldReason]:
    """Why the size may not change in a direction (`out`, or in), in order of precedence."""
    free = Brake.LOSS if out else Brake.UNFULFILLED
    for each in active:
        if each.brake is not free:
            yield HoldReason(each.reason, each.message)


def with_own(memory: BrakeMemory | None, own: OwnSize) -> BrakeMemory | None:
    """The memory after a write: when the target shows this size, nobody else has set it."""
    if memory is None or memory.size is None:  # nobody asks who set a size
        return memory
    others = [each for each in memory.own if (each.size, each.answered) != (own.size, own.answered)]
    return replace(memory, own=(*others, own))


def _shortfall(
    rule: UnfulfilledBrake, before: BrakeMemory, state: TargetState | None, now: datetime
) -> Shortfall | None:
    known = before.shortfall
    if state is None:
        return known
    asked, there = state.replicas, state.status_replicas
    missing = asked - there
    if missing < FEWEST * _heaviest(state) or 100 * missing <= rule.percent * asked:
        return None
    if known is None or there > known.most:
        return Shortfall(now, there, missing, asked, stalled=False)
    return Shortfall(known.since, known.most, missing, asked, stalled=now - known.since > rule.progress_deadline)


def _ran(rule: LossBrake, before: BrakeMemory, state: TargetState | None, now: datetime) -> _Ran:
    loss = before.loss if before.loss is not None and now - before.loss.at < rule.hold else None
    if state is None:
        return _Ran(before.running, before.heaviest, loss)
    running, heaviest = min(_running(state), state.replicas), _heaviest(state)
    # what runs beyond the size is expected to leave, whoever lowered it and however long it takes; so is what the
    # target itself replaces
    of = 0 if before.running is None or state.hold.scale_in is not None else min(before.running, state.replicas)
    lost = of - running
    if lost >= FEWEST * max(before.heaviest, heaviest) and 100 * lost >= rule.percent * of:
        loss = InstanceLoss(now, lost, of)
    return _Ran(running, heaviest, loss)


def _heaviest(state: TargetState) -> int:
    return max([each.weight for each in state.instances], default=1)


def _running(state: TargetState) -> int:
    """Units that run, ready or not; all that exist where the back end lists no instances."""
    if not state.instances:
        return state.status_replicas
    return sum([each.weight for each in state.instances if each.phase is Phase.RUNNING and not each.deleting])


def _sizes(
    rule: OutsideChangeBrake,
    before: BrakeMemory,
    state: TargetState | None,
    unfinished: Intent | None,
    now: datetime,
) -> _Sizes:
    outside = before.outside if before.outside is not None and now - before.outside.at < rule.hold else None
    own = _own_sizes(before.own, unfinished, now)
    if state is None:
        return _Sizes(before.size, own, outside)
    size, known = state.replicas, before.size
    if known is not None and size != known:
        place = next((place for place, each in enumerate(own) if each.size == size), None)
        if place is None:
            outside = OutsideChange(now, known, size)
        else:  # what was accepted before it has been passed; what had no answer may still arrive
            own = (*[each for each in own[:place] if not each.answered], *own[place + 1 :])
    return _Sizes(size, own, outside)


def _own_sizes(known: Sequence[OwnSize], unfinished: Intent | None, now: datetime) -> tuple[OwnSize, ...]:
    """What the autoscaler asked for and has not seen yet; an unfinished write of an earlier process or shard, too."""
    found = [each for each in known if now - each.at < LONGEST_PERIOD]
    for one in () if unfinished is None else reversed(unfinished.and_earlier):
        if all((each.size, each.at) != (one.size, one.at) for each in found):
            found.append(OwnSize(one.size, one.at, answered=False))
    return tuple(found)


def _active(scaler: Autoscaler, memory: BrakeMemory) -> Iterator[ActiveBrake]:
    rules = scaler.brakes
    short, loss, outside = memory.shortfall, memory.loss, memory.outside
    if short is not None and short.stalled:
        message = (
            f"{short.missing} of {short.asked} that were asked for have not arrived, and since {_time(short.since)} "
            f"there were never more than {short.most}; the size does not grow until more arrive"
        )
        yield ActiveBrake(Brake.UNFULFILLED, Reason.UNFULFILLED, message)
    if rules.loss is not None and loss is not None:
        message = (
            f"{loss.lost} of {loss.of} that ran were gone at {_time(loss.at)}, and no scale-in took them; their load "
            f"shows on nobody, so the size does not fall until {_until(loss.at, rules.loss.hold)}"
        )
        yield ActiveBrake(Brake.LOSS, Reason.INSTANCES_LOST, message)
    if rules.outside_change is not None and outside is not None:
        message = (
            f"somebody else set the size from {outside.before} to {outside.after}, seen at {_time(outside.at)}; within "
            f"the bounds it stays as it is until {_until(outside.at, rules.outside_change.hold)}"
        )
        yield ActiveBrake(Brake.OUTSIDE_CHANGE, Reason.OUTSIDE_CHANGE, message)


def _until(since: datetime, hold: timedelta) -> str:
    return _time(since + hold)


def _time(at: datetime) -> str:
    return at.isoformat(timespec="seconds")


_ENDED: Final = {
    Brake.UNFULFILLED: "the brake unfulfilled has ended: the size may grow again",
    Brake.LOSS: "the brake loss has ended: the size may fall again",
    Brake.OUTSIDE_CHANGE: "the brake outsideChange has ended: the size may change again",
}


def _events(active: Sequence[ActiveBrake], before: BrakeMemory, after: BrakeMemory) -> Iterator[Event]:
    """That brakes began, began anew (another loss, another size), or ended."""
    had, has = _causes(before), _causes(after)
    for each in active:
        if had.get(each.brake) != has[each.brake]:
            yield Event(EventType.WARNING, each.reason, each.message)
    for ended in had:
        if ended not in has:
            yield Event(EventType.NORMAL, Reason.BRAKE_ENDED, _ENDED[ended])


def _causes(memory: BrakeMemory) -> dict[Brake, object]:
    """The brakes that are on, each with what made it so."""
    found = dict[Brake, object]()
    if memory.shortfall is not None and memory.shortfall.stalled:
        found[Brake.UNFULFILLED] = True
    if memory.loss is not None:
        found[Brake.LOSS] = memory.loss
    if memory.outside is not None:
        found[Brake.OUTSIDE_CHANGE] = memory.outside
    return found
