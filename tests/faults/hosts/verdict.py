"""What must hold of the writes of a world, by what its proxies and its database have noted."""

import math
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Final, Literal, NamedTuple

import msgspec

from adapters.aws_asg.writes import BELIEVED_FOR
from autoscaler.record.times import to_micros
from tests.faults.hosts.audit import Hold, Intended
from tests.faults.hosts.linearizable import Operation, not_linearizable
from tests.faults.hosts.recorder import Write
from tests.faults.hosts.world import World, targets

_PATIENCE_MICROS: Final = 1_000_000
_BELIEVED_MICROS: Final = BELIEVED_FOR // timedelta(microseconds=1)


class Decided(NamedTuple):
    """A write and the commit that announced it."""

    write: Write
    intended: Intended


class Judged(msgspec.Struct, frozen=True):
    """The writes to one kind of back end."""

    accepted: int
    refused: int
    """By the back end, most of them because the size was not as it was when it was decided."""
    late: Sequence[str]
    """Accepted after another decision had been made: their requests were on their way."""
    broken: Sequence[str]


def judge_writes(world: World, backend: str, *, compares: bool) -> Judged:
    """The writes to `nomad` or `aws`. `compares`: it compares and sets, so that a late write cannot do harm.

    Where it does not, a late write within the window that docs/hosts.md names is told apart: it sets a size, whatever
    the size is, and so does a write whose decision it crosses. And AWS's reads lag its writes, so that the adapter
    believes for a while what was to be written, also where its daemon died before it was sent. Everything else must be
    linearizable around these.
    """
    writes = [write for write in world.writes() if write.order.target.startswith(f"{backend}/")]
    announced = _Announced(world)
    broken: list[str] = []
    found: list[Decided] = []
    for write in writes:
        intended = announced.before(write)
        if intended is None:
            broken.append(f"{_told(write)}: no commit announced it")
        elif write.accepted:
            found.append(Decided(write, intended))
    broken += _written_twice(found)
    late = [] if compares else [each for each in found if _is_late(each, announced)]
    broken += [
        f"{_told(each.write)}: sent after a newer decision, or after a takeover"
        for each in late
        if each.write.called > announced.overtaken(each.intended) and not _was_stopped(world, each)
    ]
    lost = [] if compares else announced.without([each.intended for each in found])
    history = [_operation(each, "set" if _meets(each, late) or _believes(each, lost) else "scale") for each in found]
    looks = [
        Operation(target=target, client=len(world.hosts), kind="look", size=size, call=asked, answered=answered)
        for target, size, asked, answered in world.sizes
        if target.startswith(f"{backend}/")
    ]
    broken += [f"{target}: {verdict}" for target, verdict in not_linearizable([*history, *looks]).items()]
    refused = sum(not write.accepted for write in writes)
    return Judged(len(found), refused, [_told(each.write) for each in late], broken)


class _Announced:
    """Every commit that announced a write."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._names = {target: name for name, target in targets().items()}
        self._by_name: dict[str, list[Intended]] = {}
        for intended in world.audit.intended():
            self._by_name.setdefault(intended.name, []).append(intended)
        self._holds: dict[tuple[str, int], list[Hold]] = {}
        for hold in world.audit.holds():
            if hold.holder is not None:
                self._holds.setdefault((hold.connection, hold.slot), []).append(hold)

    def before(self, write: Write) -> Intended | None:
        """The last one of the write's host before it, of this size of the target; None: there is none."""
        decision = write.order.decision
        decided = None if decision is None else to_micros(datetime.fromisoformat(decision.partition("@")[2]))
        for each in reversed(self._by_name.get(self._names[write.order.target], [])):
            if (
                (each.at <= write.called and each.size == write.order.size)
                and decided in (None, each.decided)
                and self._world.host_of(each.holder) == write.host
            ):
                return each
        return None

    def without(self, written: Sequence[Intended]) -> Sequence[Intended]:
        """Those that no write followed."""
        known = set(written)
        return [each for of_one in self._by_name.values() for each in of_one if each not in known]

    def overtaken(self, of: Intended) -> float:
        """When it was no longer its target's newest decision, or another daemon had taken over; infinite: never.

        Microseconds since 1970.
        """
        taken = [
            hold.at
            for hold in self._holds.get((of.connection, of.slot), [])
            if hold.at > of.at and hold.holder != of.holder
        ]
        decided = [each.decided for each in self._by_name[of.name] if each.decided > of.decided]
        return min([*taken, *decided], default=math.inf)


def _written_twice(found: Sequence[Decided]) -> Iterator[str]:
    """Decisions of which more than one write was accepted."""
    seen: dict[tuple[str, int], Write] = {}
    for write, intended in found:
        decision = (intended.name, intended.decided)
        if decision in seen:
            yield f"{_told(write)}: the same decision was written before, {_told(seen[decision])}"
        seen[decision] = write


def _is_late(each: Decided, announced: _Announced) -> bool:
    """Whether it took effect when it was no longer its target's newest decision."""
    assert each.write.answered is not None
    return each.write.answered > announced.overtaken(each.intended)


def _meets(each: Decided, late: Sequence[Decided]) -> bool:
    """Whether it is a late write, or one was on its way to the same target between its decision and its effect."""
    return any(
        one.write.order.target == each.write.order.target
        and one.write.called <= (each.write.answered or 0)
        and each.intended.decided <= (one.write.answered or 0)
        for one in late
    )


def _believes(each: Decided, lost: Sequence[Intended]) -> bool:
    """Whether it was decided from a size that was announced lately and never written."""
    made = each.intended
    return any(
        (one.name, one.size) == (made.name, made.start) and 0 < made.decided - one.decided < _BELIEVED_MICROS
        for one in lost
    )


def _was_stopped(world: World, each: Decided) -> bool:
    """Whether its daemon was stopped after it had announced the write, and before it sent it."""
    sent = each.write.called
    return any(
        each.intended.at <= end and began <= sent <= end + _PATIENCE_MICROS
        for began, end in world.hosts[each.write.host].pauses
    )


def _operation(each: Decided, kind: Literal["scale", "set"]) -> Operation:
    write, intended = each
    assert write.answered is not None
    return Operation(
        target=write.order.target,
        client=write.host,
        kind=kind,
        start=intended.start,
        size=intended.size,
        epoch=intended.epoch,
        call=write.called if kind == "set" else intended.decided,
        answered=write.answered,
    )


def _told(write: Write) -> str:
    return f"{write.order.target} to {write.order.size} by host {write.host} at {write.called}, status {write.status}"
