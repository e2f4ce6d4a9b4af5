"""Judges the writes of a world by the notes of its proxies and its database. Each finding is a text."""

import math
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, NamedTuple

from autoscaler.record.times import to_micros
from rehearse.hosts.audit import Commit, Lead
from rehearse.hosts.linearizable import Operation, not_linearizable
from rehearse.hosts.recorder import Write

LOOKER: Final = 9
"""The client of direct reads of targets. No host has this number."""


class Announced(NamedTuple):
    """A write that was committed before it was sent. Times are microseconds since 1970."""

    name: str
    target: str
    size: int
    start: int
    """The size in the decision's observation."""
    decided: int
    """The `now` of its decision."""
    at: int
    """When it was committed."""
    process: str | None
    host: int | None
    """The number of the host of that process."""


class Look(NamedTuple):
    """A direct read of a target, without a daemon."""

    target: str
    size: int
    asked: int
    answered: int


class Noted(NamedTuple):
    """The notes about the targets of one back end, or about some of them."""

    writes: Sequence[Write]
    announced: Sequence[Announced]
    """In the order of their commits."""
    leads: Sequence[Lead]
    """In order."""
    looks: Sequence[Look]


class Decided(NamedTuple):
    """A write and the commit that announced it."""

    write: Write
    announced: Announced


@dataclass(frozen=True, slots=True)
class Judged:
    """The writes to one kind of back end."""

    accepted: int
    refused: int
    """Refused by the back end, mostly because the size had changed since the decision."""
    late: Sequence[str]
    """Accepted after another decision's commit, or after a takeover, although checked before."""
    broken: Sequence[str]


def judge_writes(noted: Noted, *, compares: bool) -> tuple[Judged, Sequence[Decided], Sequence[Decided]]:
    """Return findings, the accepted writes except the late ones, in the order of their effect, and the late ones.

    `compares`: the back end compares and sets, so that a late request does no harm. Every request, whatever its result,
    was announced by its daemon, which led, and was checked while its decision was the target's newest and no
    leadership had begun since. Accepted writes are linearizable. There is one excuse if the
    back end does not compare: a request that was checked in time and arrived later sets its size whatever the size is;
    and so does a write between whose last look at the target and whose effect the late one took its own.
    """
    found: list[Decided] = []
    late: list[Decided] = []
    broken: list[str] = []
    parts = {target: _of(noted, target) for target in {write.order.target for write in noted.writes}}
    for write in noted.writes:
        part = parts[write.order.target]
        announced = _announcement(write, part.announced)
        if announced is None:
            broken.append(f"{told(write)}: no commit of its daemon announced it")
            continue
        if _leader(announced.at, part.leads) != announced.process:
            broken.append(f"{told(write)}: its daemon did not lead when it announced it")
        each, overtaken = Decided(write, announced), _overtaken(announced, part)
        if write.checked is None or not announced.at <= write.checked <= overtaken:
            broken.append(f"{told(write)}: sent without a check since it was announced and before it was overtaken")
        elif write.accepted and not compares and (write.answered or 0) > overtaken:
            late.append(each)
        if write.accepted:
            found.append(each)
    broken += _written_twice(found)
    history = [_operation(each, excused=each in late or _is_crossed(each, late)) for each in found]
    history += [
        Operation(
            target=look.target, client=LOOKER, kind="look", size=look.size, call=look.asked, answered=look.answered
        )
        for look in noted.looks
    ]
    broken += [f"{target}: {verdict}" for target, verdict in not_linearizable(history).items()]
    refused = sum(each.over and not each.lost and not each.accepted for each in noted.writes)
    in_order = sorted((each for each in found if each not in late), key=lambda one: one.write.answered or 0)
    return Judged(len(found), refused, [told(each.write) for each in late], broken), in_order, late


def told(write: Write) -> str:
    """Return a write in words."""
    return f"{write.order.target} to {write.order.size} by host {write.host} at {write.called}, status {write.status}"


def _of(noted: Noted, target: str) -> Noted:
    return Noted(
        [each for each in noted.writes if each.order.target == target],
        [each for each in noted.announced if each.target == target],
        noted.leads,
        [each for each in noted.looks if each.target == target],
    )


def _announcement(write: Write, announced: Sequence[Announced]) -> Announced | None:
    """Return the last earlier commit of the write's host that announces this size of the target; None: none."""
    decision = write.order.decision
    decided = None if decision is None else to_micros(datetime.fromisoformat(decision.partition("@")[2]))
    for each in reversed(announced):
        if (
            (each.at <= write.called and each.size == write.order.size)
            and decided in (None, each.decided)
            and each.host == write.host
        ):
            return each
    return None


def commits_without_lead(commits: Sequence[Commit], leads: Sequence[Lead]) -> Iterator[str]:
    """Return the commits of memories by a daemon that did not lead."""
    for each in commits:
        leader = _leader(each.at, leads)
        if each.process != leader:
            yield f"{each.name}: process {each.process} committed its memory at {each.at}, and {leader} led"


def _leader(at: int, leads: Sequence[Lead]) -> str | None:
    """Return the process that led at this time; None: none had led by then."""
    number = bisect_right(leads, at, key=lambda one: one.at)
    return leads[number - 1].process if number else None


def _overtaken(of: Announced, noted: Noted) -> float:
    """Return when its target had a newer decision or a leadership began; infinite: never."""
    taken = [one.at for one in noted.leads if one.at > of.at]
    newer = [one.at for one in noted.announced if one.at > of.at]
    return min([*taken, *newer], default=math.inf)


def _written_twice(found: Sequence[Decided]) -> Iterator[str]:
    """Return the decisions with more than one accepted write."""
    seen: dict[tuple[str, int], Write] = {}
    for write, announced in found:
        decision = (announced.name, announced.decided)
        if decision in seen:
            yield f"{told(write)}: the same decision was written before, {told(seen[decision])}"
        seen[decision] = write


def _is_crossed(each: Decided, late: Sequence[Decided]) -> bool:
    """Return whether a late write took effect between its last read of the target and its own effect."""
    return any(
        one.write.order.target == each.write.order.target
        and (one.write.forwarded or 0) <= (each.write.answered or 0)
        and (each.write.looked or each.write.called) <= (one.write.answered or 0)
        for one in late
    )


def _operation(each: Decided, *, excused: bool) -> Operation:
    write, announced = each
    assert write.answered is not None
    return Operation(
        target=write.order.target,
        client=write.host,
        kind="set" if excused else "scale",
        start=announced.start,
        size=announced.size,
        call=write.called,
        answered=write.answered,
    )
