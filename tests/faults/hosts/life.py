"""One kind of fault, run after run in one world, and what is found of it at the end."""

from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from datetime import datetime
from pathlib import Path
from typing import Final

import msgspec

from autoscaler.record import Record
from tests.faults import judge
from tests.faults.hosts import unchecked
from tests.faults.hosts.host import Host, wait_until
from tests.faults.hosts.moments import Moment, strike
from tests.faults.hosts.recorder import now_micros
from tests.faults.hosts.scenarios import SCENARIOS, Takeover
from tests.faults.hosts.verdict import Judged, judge_writes
from tests.faults.hosts.world import GROUPS, JOBS, LEAST, World, running_world, targets

_ATTEMPTS: Final = 8
_OVERWRITES_SECONDS: Final = 3.0


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
    """Of sizes, that the comparing back end accepted."""
    exceeded: list[str] = msgspec.field(default_factory=list)
    """Those beyond a window or a policy."""
    unrecorded: int = 0
    """Those whose outcome was not recorded,"""
    unsettled: list[str] = msgspec.field(default_factory=list)
    """and of them those that nobody knew of later."""


def live(kind: str, runs: int, folder: Path, seed: int) -> Outcome:
    """So many runs. `folder`: an empty one for its files; `seed`: for loads and victims."""
    with running_world(folder, seed) as world:
        return endure(world, kind, [(kind, number) for number in range(runs)])


def endure(world: World, what: str, runs: Sequence[tuple[str, int]]) -> Outcome:
    """These runs, each of a kind and a number, in a world in which no daemon runs yet; then they end again."""
    takeovers, stuck = list[Takeover](), list[str]()
    begun = 0
    try:
        world.start()
        for kind, number in runs:
            begun += 1
            took = SCENARIOS[kind](world, number)
            world.look()
            if took is not None:
                takeovers.append(took)
    except AssertionError as error:
        said = "\n".join(host.last_words() for host in world.hosts)
        stuck.append(f"run {begun} of {what}: {error}\n{said}")
    world.quiet()
    return _judged(world, what, begun, takeovers, stuck)


def planted(world: World) -> Sequence[str]:
    """What the judge finds of a daemon that writes without a look at its lease, in a world that rests.

    That must be something. The daemon is stopped when it is about to write, until others have written there; then it
    goes on, and writes, too.
    """
    wrong = world.hosts[0]
    wrong.program = unchecked.PROGRAM
    world.start()
    for _ in range(_ATTEMPTS):
        if _overwrites(world, wrong):
            break
    world.quiet()
    return judge_writes(world, "nomad", compares=True).broken


def _overwrites(world: World, wrong: Host) -> bool:
    """Whether the daemon was stopped before a write, others wrote to that target, and then it did."""
    strike(wrong, Moment.INTENT, wrong.pause)
    about = next(each for each in reversed(world.audit.intended()) if world.host_of(each.holder) == wrong.number)
    target, paused = targets()[about.name], now_micros()

    def written(by_it: bool, since: int) -> bool:
        return any(
            write.accepted and write.order.target == target and write.called > since
            for write in world.writes()
            if (write.host == wrong.number) is by_it
        )

    if about.connection == "nomad":
        wait_until(lambda: written(by_it=False, since=paused), f"a write of another daemon to {target}")
    resumed = wrong.go_on()
    with suppress(AssertionError):
        wait_until(lambda: written(by_it=True, since=resumed), f"its own write to {target}", within=_OVERWRITES_SECONDS)
        return about.connection == "nomad"
    world.wait_until_even()
    return False


def _judged(world: World, kind: str, runs: int, takeovers: Sequence[Takeover], stuck: Sequence[str]) -> Outcome:
    found = Outcome(
        kind=kind,
        runs=runs,
        takeovers=takeovers,
        stuck=stuck,
        compared=judge_writes(world, "nomad", compares=True),
        uncompared=judge_writes(world, "aws", compares=False),
    )
    asked = _asked(world)
    with closing(world.archive()) as archive:
        for name in (*JOBS, *GROUPS):
            if records := list(archive.records(name)):
                _judge_decisions(found, records, asked.get(name, []))
    return found


def _judge_decisions(found: Outcome, records: Sequence[Record], asked: Sequence[judge.Asked]) -> None:
    """Of one autoscaler. `asked`: of Nomad; of AWS none, since it is not told whose decision a write is."""
    found.decisions += len(records)
    found.decided_otherwise += judge.decided_otherwise(records)
    accepted = [each for each in asked if each.accepted]
    sizes = [LEAST, *[each.size for each in accepted]]
    changes = [judge.Change(each.at, sizes[n], sizes[n + 1]) for n, each in enumerate(accepted)]
    found.changes += len(changes)
    found.exceeded += judge.exceeded_policies(records, changes)
    found.exceeded += judge.forgotten_windows(records, changes)
    recorded = {record.decision.now for record in records}
    unrecorded = [each for each in accepted if each.at not in recorded and each.at < records[-1].decision.now]
    found.unrecorded += len(unrecorded)
    found.unsettled += judge.unknown_writes(records, unrecorded)


def _asked(world: World) -> Mapping[str, list[judge.Asked]]:
    """By job: what was to be written, in the order in which it took effect."""
    found: dict[str, list[judge.Asked]] = {name: [] for name in JOBS}
    for write in sorted(world.writes(), key=lambda one: one.answered or one.called):
        backend, _, name = write.order.target.partition("/")
        if backend == "nomad":
            assert write.order.decision is not None
            at = datetime.fromisoformat(write.order.decision.partition("@")[2])
            found[name].append(judge.Asked(write.order.decision, at, write.order.size, write.accepted))
    return found
