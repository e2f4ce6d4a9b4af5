"""One kind of fault, run after run in one world, and what is found of it at the end."""

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Final

import msgspec

from autoscaler.model import later
from autoscaler.record import Record
from autoscaler.record.times import from_micros, to_micros
from tests.faults import judge
from tests.faults.hosts.reconfigured import RECONFIGURED
from tests.faults.hosts.scenarios import CLOCKS, POOLED, PROMOTED, SCENARIOS, Takeover
from tests.faults.hosts.verdict import Decided, Judged, judge_writes
from tests.faults.hosts.world import LEASE_SECONDS, World, running_world

_MINUTE: Final = 60_000_000
_AGED: Final = timedelta(seconds=0.25)
"""How much older than it is what is remembered may be: looks at two clocks are not taken in one moment."""
_ALL: Final = {**SCENARIOS, **RECONFIGURED}
_LEASE_SECONDS: Final = {PROMOTED: 5 * LEASE_SECONDS}
"""Where it is not as usual: a promotion has to fit into one."""


class Outcome(msgspec.Struct, kw_only=True):
    """Of all runs of one kind."""

    kind: str
    runs: int
    """That were begun."""
    takeovers: Sequence[Takeover]
    stuck: Sequence[str]
    """A run that did not come to its end: none follows it."""
    compared: Judged
    """Writes to the back end that compares and sets,"""
    uncompared: Judged
    """and to the one that does not."""
    decisions: int = 0
    decided_otherwise: list[str] = msgspec.field(default_factory=list)
    changes: int = 0
    """Of sizes, late ones left out."""
    exceeded: list[str] = msgspec.field(default_factory=list)
    """Those beyond a window or a policy."""
    unrecorded: int = 0
    """Those whose outcome was not recorded,"""
    unsettled: list[str] = msgspec.field(default_factory=list)
    """those of them that no daemon knew of later, and changes that were remembered and had never been made."""


def live(kind: str, runs: int, folder: Path, seed: int) -> Outcome:
    """So many runs. `folder`: an empty one for its files; `seed`: for loads and victims."""
    with running_world(folder, seed, _LEASE_SECONDS.get(kind, LEASE_SECONDS), pooled=kind == POOLED) as world:
        return endure(world, kind, [(kind, number) for number in range(runs)])


def endure(world: World, what: str, runs: Sequence[tuple[str, int]]) -> Outcome:
    """These runs, each of a kind and a number, in a world in which no daemon runs yet; then they end again."""
    takeovers, stuck = list[Takeover](), list[str]()
    begun = 0
    try:
        world.start()
        for kind, number in runs:
            begun += 1
            took = _ALL[kind](world, number)
            world.look()
            if took is not None:
                takeovers.append(took)
    except AssertionError as error:
        said = "\n".join(host.last_words() for host in world.hosts)
        stuck.append(f"run {begun} of {what}: {error}\n{said}")
    world.quiet()
    return judged(world, what, begun, takeovers, stuck)


def judged(
    world: World, kind: str, runs: int = 1, takeovers: Sequence[Takeover] = (), stuck: Sequence[str] = ()
) -> Outcome:
    """What is found of a world that rests."""
    compared, to_nomad = judge_writes(world.noted("nomad"), compares=True)
    uncompared, to_aws = judge_writes(world.noted("aws"), compares=False)
    found = Outcome(kind=kind, runs=runs, takeovers=takeovers, stuck=stuck, compared=compared, uncompared=uncompared)
    if kind in RECONFIGURED:
        return found
    written: dict[str, list[Decided]] = {name: [] for name in world.names}
    for each in (*to_nomad, *to_aws):
        written[each.announced.name].append(each)
    with closing(world.archive()) as archive:
        for name in world.names:
            if records := list(archive.records(name)):
                cycles = world.audit.cycles(name) if kind in CLOCKS else None
                _judge_decisions(found, records, written[name], cycles)
    return found


def _judge_decisions(
    found: Outcome, records: Sequence[Record], written: Sequence[Decided], cycles: Sequence[int] | None
) -> None:
    """Of one autoscaler. `cycles`: when each was recorded; None: all clocks were right.

    Where one is not, what is remembered may be younger than it is: windows last longer, and policies count what was
    before their periods, in both directions. The judge then looks whether anything became older. Changes that are
    remembered have other times than their writes.
    """
    found.decisions += len(records)
    if found.kind != PROMOTED:  # what a daemon remembers is more than the standby has
        found.decided_otherwise += judge.decided_otherwise(records)
    asked = [_asked(each) for each in written]
    changes = [judge.Change(_righted(one.decided, one.at), one.start, one.size) for _, one in written]
    found.changes += len(changes)
    if cycles is not None:
        righted = _righted_all(records, cycles)
        found.exceeded += judge.forgotten_windows(righted, changes)
        found.exceeded += _made_older(records, righted)
        return
    found.exceeded += judge.exceeded_policies(records, changes)
    found.exceeded += judge.forgotten_windows(records, changes)
    recorded = {record.decision.now for record in records}
    unrecorded = [each for each in asked if each.at not in recorded and each.at < records[-1].decision.now]
    found.unrecorded += len(unrecorded)
    found.unsettled += judge.unknown_writes(records, unrecorded)
    found.unsettled += judge.invented_changes(records, asked)


def _righted(decided: int, committed: int) -> datetime:
    """When it was decided, whatever its host's clock showed: that is wrong by minutes, and a commit takes seconds."""
    return from_micros(decided - round((decided - committed) / _MINUTE) * _MINUTE)


def _righted_all(records: Sequence[Record], cycles: Sequence[int]) -> Sequence[Record]:
    """With all times of the decisions as right clocks would have shown them."""
    return [
        replace(record, decision=later(made, _righted(to_micros(made.now), at) - made.now))
        for record, at in zip(records, cycles, strict=True)
        if (made := record.decision)
    ]


def _made_older(records: Sequence[Record], righted: Sequence[Record]) -> Iterator[str]:
    """Cycles that took what is remembered for older than it was. `righted`: the same records by right clocks."""
    for (before, _), (now, record) in pairwise(zip(righted, records, strict=True)):
        assert record.history is not None
        if record.history.at is not None:
            aged = record.decision.now - record.history.at
            if aged - (now.decision.now - before.decision.now) > _AGED:
                yield f"{record.decision.name}@{record.decision.now.isoformat()}: what is remembered is {aged} old"


def _asked(each: Decided) -> judge.Asked:
    at = from_micros(each.announced.decided)
    return judge.Asked(f"{each.announced.name}@{at.isoformat()}", at, each.announced.size, accepted=True)
