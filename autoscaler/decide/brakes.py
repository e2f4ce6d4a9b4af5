"""Brakes keep a target's size where it is while something is wrong with the target.

A brake only prevents changes that metrics ask for; a size outside the bounds still returns inside them. Each brake acts
on a share of the instances, and on at least MIN_MISSING. The rule comes from Cluster Autoscaler's
--max-total-unready-percentage and --ok-total-unready-count, the deadline of `unfulfilled` from a Deployment's
progressDeadlineSeconds.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from msgspec.structs import replace

from autoscaler.model import (
    MAX_PERIOD,
    NO_BRAKES,
    ActiveBrake,
    Autoscaler,
    Brake,
    BrakeMemory,
    Direction,
    Event,
    EventType,
    History,
    HoldReason,
    InstanceLoss,
    LossBrake,
    OutsideChange,
    OutsideChangeBrake,
    OwnSize,
    PendingWrite,
    Phase,
    Reason,
    Shortfall,
    TargetState,
    UnfulfilledBrake,
)

MIN_MISSING: Final = 3
"""Fewest missing or lost instances that a brake acts on. Fewer are no outage, whatever their share."""
_NOTHING: Final = BrakeMemory()


class Braking(NamedTuple):
    """The result of the brakes in one cycle."""

    active: tuple[ActiveBrake, ...] = ()
    """Brakes that are on. The first one gives the reason for a hold."""
    memory: BrakeMemory | None = None
    """What the next cycle needs; None without brakes."""
    events: tuple[Event, ...] = ()

    @property
    def stop_growth(self) -> bool:
        """Whether one of them keeps the size from growing."""
        return any(holds(self.active, out=True))


class _LossMemory(NamedTuple):
    """What the brake `loss` remembers, as in BrakeMemory."""

    running: int | None = None
    heaviest: int = 1
    loss: InstanceLoss | None = None


class _SizeMemory(NamedTuple):
    """What the brake `outsideChange` remembers, as in BrakeMemory."""

    size: int | None = None
    own: tuple[OwnSize, ...] = ()
    outside: OutsideChange | None = None


def brake(scaler: Autoscaler, state: TargetState | None, history: History, now: datetime, *, reset: bool) -> Braking:
    """Return the brakes that are on. `state` is None if the target could not be read; then only time passes.

    `reset`: a deployment has reset the size, so that it may grow.
    """
    rules = scaler.brakes
    off = rules == NO_BRAKES
    if off and history.brakes is None:
        return Braking()
    before = history.brakes or _NOTHING
    shortfall, loss_memory, size_memory = None, _LossMemory(), _SizeMemory()
    if rules.unfulfilled is not None:
        shortfall = _shortfall(rules.unfulfilled, before, state, now)
    if rules.loss is not None:
        loss_memory = _loss_memory(rules.loss, before, state, now)
    if rules.outside_change is not None and not scaler.dry_run:  # a dry run sets no size, so every size is another's
        size_memory = _size_memory(rules.outside_change, before, state, history.unfinished, now)
        if reset and size_memory.outside is not None:
            size_memory = size_memory._replace(outside=replace(size_memory.outside, reset=True))
    memory = BrakeMemory(shortfall, *loss_memory, *size_memory)
    active = tuple(_active(scaler, memory))
    events = tuple(_events(active, before, memory))
    return Braking(active, None if off else memory, events)


def holds(active: Sequence[ActiveBrake], *, out: bool) -> Iterator[HoldReason]:
    """Yield the reasons why the size cannot grow (`out`) or shrink, in order of precedence."""
    free = Direction.IN if out else Direction.OUT
    for each in active:
        if each.direction is not free:
            yield HoldReason(each.reason, each.message)


def with_own_write(memory: BrakeMemory | None, own: OwnSize) -> BrakeMemory | None:
    """Return the memory after a write, so that the next cycle recognizes the size as the autoscaler's own."""
    if memory is None or memory.size is None:  # the brake outsideChange is off
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
    if missing < MIN_MISSING * _heaviest(state) or 100 * missing <= rule.percent * asked:
        return None
    if known is None or there > known.most:
        return Shortfall(now, there, missing, asked, stalled=False)
    return Shortfall(known.since, known.most, missing, asked, stalled=now - known.since > rule.progress_deadline)


def _loss_memory(rule: LossBrake, before: BrakeMemory, state: TargetState | None, now: datetime) -> _LossMemory:
    loss = before.loss if before.loss is not None and now - before.loss.at < rule.hold else None
    if state is None:
        return _LossMemory(before.running, before.heaviest, loss)
    running, heaviest = min(_running(state), state.replicas), _heaviest(state)
    if before.running is None or state.hold.scale_in is not None:  # the target itself replaces instances
        return _LossMemory(running, heaviest, loss)
    of = min(before.running, state.replicas)  # the rest is expected to leave, however long that takes
    lost = of - running
    if lost >= MIN_MISSING * max(before.heaviest, heaviest) and 100 * lost >= rule.percent * of:
        loss = InstanceLoss(now, lost, of)
    return _LossMemory(running, heaviest, loss)


def _heaviest(state: TargetState) -> int:
    return max([each.weight for each in state.instances], default=1)


def _running(state: TargetState) -> int:
    """Units that run, ready or not. Without a list of instances, all units that exist."""
    if not state.instances:
        return state.status_replicas
    return sum([each.weight for each in state.instances if each.phase is Phase.RUNNING and not each.deleting])


def _size_memory(
    rule: OutsideChangeBrake,
    before: BrakeMemory,
    state: TargetState | None,
    unfinished: PendingWrite | None,
    now: datetime,
) -> _SizeMemory:
    outside = before.outside if before.outside is not None and now - before.outside.at < rule.hold else None
    own = _own_sizes(before.own, unfinished, now)
    if state is None:
        return _SizeMemory(before.size, own, outside)
    size, known = state.replicas, before.size
    if known is not None and size != known:
        place = next((place for place, each in enumerate(own) if each.size == size), None)
        if place is None:
            outside = OutsideChange(now, known, size)
        else:  # a write accepted before this one is superseded; a write without an answer can still arrive
            own = (*[each for each in own[:place] if not each.answered], *own[place + 1 :])
    return _SizeMemory(size, own, outside)


def _own_sizes(known: Sequence[OwnSize], unfinished: PendingWrite | None, now: datetime) -> tuple[OwnSize, ...]:
    """Return the requested sizes not yet seen, including those of unfinished writes of earlier owners."""
    found = [each for each in known if now - each.at < MAX_PERIOD]
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
        yield ActiveBrake(Brake.UNFULFILLED, Reason.UNFULFILLED, message, Direction.OUT)
    if rules.loss is not None and loss is not None:
        message = (
            f"{loss.lost} of {loss.of} running units were gone at {_time(loss.at)} without a scale-in; their load is "
            f"invisible until clients reconnect, so the size does not fall until {_until(loss.at, rules.loss.hold)}"
        )
        yield ActiveBrake(Brake.LOSS, Reason.INSTANCES_LOST, message, Direction.IN)
    if rules.outside_change is not None and outside is not None:
        stays = "it does not fall" if outside.reset else "within the bounds it stays as it is"
        message = (
            f"something else set the size from {outside.before} to {outside.after}, seen at {_time(outside.at)}; "
            f"{stays} until {_until(outside.at, rules.outside_change.hold)}"
        )
        direction = Direction.IN if outside.reset else Direction.BOTH
        yield ActiveBrake(Brake.OUTSIDE_CHANGE, Reason.OUTSIDE_CHANGE, message, direction)


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
    """Yield an event for each brake that started, restarted with a new cause, or ended."""
    had, has = _causes(before), _causes(after)
    for each in active:
        if had.get(each.brake) != has[each.brake]:
            yield Event(EventType.WARNING, each.reason, each.message)
    for ended in had:
        if ended not in has:
            yield Event(EventType.NORMAL, Reason.BRAKE_ENDED, _ENDED[ended])


def _causes(memory: BrakeMemory) -> dict[Brake, object]:
    """Return the brakes that are on, each with its cause."""
    found = dict[Brake, object]()
    if memory.shortfall is not None and memory.shortfall.stalled:
        found[Brake.UNFULFILLED] = True
    if memory.loss is not None:
        found[Brake.LOSS] = memory.loss
    if memory.outside is not None:
        found[Brake.OUTSIDE_CHANGE] = memory.outside
    return found
