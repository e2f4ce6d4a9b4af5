"""Runs of one kind of fault in one world, and the findings at the end."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final, NamedTuple

from autoscaler.model import Autoscaler, History, ScalingRules, later
from autoscaler.record.times import from_micros
from autoscaler.record.values import Record
from rehearse import judge
from rehearse.hosts.audit import RENAMED_TO
from rehearse.hosts.reconfigured import RECONFIGURED
from rehearse.hosts.scenarios import PROMOTED, SCENARIOS, STEPPED, Takeover
from rehearse.hosts.verdict import Decided, Judged, commits_without_lead, judge_writes
from rehearse.hosts.world import LEASE_SECONDS, World, running_world

_ALL: Final = {**SCENARIOS, **RECONFIGURED}
_LEASE_SECONDS: Final = {PROMOTED: 5 * LEASE_SECONDS}
"""Kind -> lease, if it is not the usual one: a promotion must fit into a lease."""
_APART: Final = timedelta(seconds=1)
"""More than lies between a decision and its commit."""
_STEPS: Final = 20
"""How many periods are tried for each `_APART`."""


@dataclass(slots=True, kw_only=True)
class Outcome:
    """The outcome of all runs of one kind."""

    kind: str
    runs: int
    """The number of runs that began."""
    takeovers: Sequence[Takeover]
    stuck: Sequence[str]
    """The error of a run that did not finish. No run follows it."""
    compared: Judged
    """Writes to the back end that compares and sets,"""
    uncompared: Judged
    """and to the one that does not."""
    decisions: int = 0
    decided_otherwise: list[str] = field(default_factory=list)
    changes: int = 0
    """Changes of sizes, without late ones."""
    exceeded: list[str] = field(default_factory=list)
    """The changes that violate a window or a policy."""
    unrecorded: int = 0
    """Those whose outcome was not recorded,"""
    unsettled: list[str] = field(default_factory=list)
    """those of them that no daemon knew of later, and changes that were remembered and had never been made."""
    commits: int = 0
    without_lead: list[str] = field(default_factory=list)
    """The commits of a daemon that did not lead."""


def live(kind: str, runs: int, folder: Path, seed: int) -> Outcome:
    """Run a kind of fault so many times. `folder`: an empty one for its files; `seed`: for loads and victims."""
    with running_world(folder, seed, _LEASE_SECONDS.get(kind, LEASE_SECONDS)) as world:
        return endure(world, kind, [(kind, number) for number in range(runs)])


def endure(world: World, what: str, runs: Sequence[tuple[str, int]]) -> Outcome:
    """Run these kinds, each with its number, in a world without daemons. The daemons end again."""
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
    """Return the findings about a world at rest."""
    compared, to_nomad, _ = judge_writes(world.noted("nomad"), compares=True)
    uncompared, to_aws, late = judge_writes(world.noted("aws"), compares=False)
    found = Outcome(kind=kind, runs=runs, takeovers=takeovers, stuck=stuck, compared=compared, uncompared=uncompared)
    commits, leads = world.audit.commits(), world.audit.leads()
    found.commits, found.without_lead = len(commits), list(commits_without_lead(commits, leads))
    written: dict[str, list[Decided]] = {name: [] for name in world.names}
    for each in (*to_nomad, *to_aws):
        written[each.announced.name].append(each)
    cycles = world.audit.cycles()
    with closing(world.archive()) as archive:
        for name in world.names:
            records = list(archive.records(name))
            if renamed := list(archive.records(name + RENAMED_TO)):  # no clock is set then: times have the order
                records = sorted([*records, *renamed], key=lambda one: one.decision.now)
            if records:
                arrived = _arrived(records, [each for each in late if each.announced.name == name])
                of_name = sorted([*written[name], *arrived], key=lambda one: one.announced.at)
                findings = (found.decided_otherwise, found.exceeded, found.unsettled)
                earlier = [len(each) for each in findings]
                if kind == STEPPED:
                    pauses = _pauses(cycles[name], [each.at for each in leads])
                    _judge_by_machine(found, records, of_name, cycles[name], pauses)
                else:
                    _judge_decisions(found, records, of_name)
                for texts, number in zip(findings, earlier, strict=True):
                    if len(texts) > number:
                        texts[number] += "".join(f"\n{line}" for line in _evidence(records, [*of_name, *late]))
    return found


def _evidence(records: Sequence[Record], written: Sequence[Decided]) -> Iterator[str]:
    """Return an autoscaler's writes, then what its cycles remembered: a world's files are deleted."""
    for write, announced in written:
        if announced.name == records[0].decision.name:
            decided, committed = from_micros(announced.decided), from_micros(announced.at)
            sizes = f"{announced.start} to {announced.size}"
            yield f"{decided.isoformat()} {sizes}, committed {committed.isoformat()}: {write}"
    said = ""
    for record in records:
        known = record.history or History()
        told_before, said = said, f"{known.hpa.scale_ups} {known.hpa.scale_downs} {known.pending}"
        if said != told_before:
            yield f"{record.decision.now.isoformat()} remembered {said}"


def _judge_decisions(found: Outcome, records: Sequence[Record], written: Sequence[Decided]) -> None:
    """Judge the decisions of one autoscaler."""
    found.decisions += len(records)
    if found.kind != PROMOTED:  # a daemon remembers more than the standby has
        found.decided_otherwise += judge.decided_otherwise(records)
    asked = [_asked(each) for each in written]
    changes = [judge.Change(from_micros(one.decided), one.start, one.size) for _, one in written]
    found.changes += len(changes)
    found.exceeded += judge.exceeded_policies(records, changes)
    found.exceeded += judge.forgotten_windows(records, changes)
    recorded = {record.decision.now for record in records}
    unrecorded = [each for each in asked if each.at not in recorded and each.at < records[-1].decision.now]
    found.unrecorded += len(unrecorded)
    found.unsettled += judge.unknown_writes(records, unrecorded)
    found.unsettled += judge.invented_changes(records, asked)


class _Pause(NamedTuple):
    """The time without cycles before a leader's first one."""

    end: datetime
    lasted: timedelta


def _pauses(cycles: Sequence[int], leads: Sequence[int]) -> Sequence[_Pause]:
    """Return the takeovers between the first and the last of the cycles, in order. Times are microseconds."""
    after = {bisect_right(cycles, at) for at in leads}
    return [
        _Pause(from_micros(cycles[number]), timedelta(microseconds=cycles[number] - cycles[number - 1]))
        for number in sorted(after)
        if 0 < number < len(cycles)
    ]


def _judge_by_machine(
    found: Outcome,
    records: Sequence[Record],
    written: Sequence[Decided],
    cycles: Sequence[int],
    pauses: Sequence[_Pause],
) -> None:
    """Judge the windows and policies of one autoscaler by the times of commits: clocks of its daemons were set.

    `cycles`: the times of the commits of `records`. They come shortly after the decisions, so a window or a period may
    seem longer or shorter by `_APART`. It may also be longer by the takeovers within it: between hosts whose clocks
    differ, what is remembered may not age meanwhile (docs/internals/state.md, "When the clock is set"). A change is
    found if it is wrong however long it was.
    """
    found.decisions += len(records)
    found.decided_otherwise += judge.decided_otherwise(records)
    moved = [
        replace(
            record,
            scaler=_scaler_with(record.scaler, -_APART),
            decision=later(record.decision, from_micros(at) - record.decision.now),
        )
        for record, at in zip(records, cycles, strict=True)
    ]
    changes = [judge.Change(from_micros(one.at), one.start, one.size) for _, one in written]
    found.changes += len(changes)
    found.exceeded += _surely_exceeded(records[0], changes, pauses)
    found.exceeded += judge.forgotten_windows(moved, changes)


def _surely_exceeded(record: Record, changes: Sequence[judge.Change], pauses: Sequence[_Pause] = ()) -> Sequence[str]:
    """Return the changes that the policies forbid with any period that it may have seemed to have.

    A longer period can allow more: it may include a change in the other direction.
    """
    behavior = record.scaler.behavior
    assert behavior is not None
    longest = max(each.period for rules in (behavior.scale_up, behavior.scale_down) for each in rules.policies)
    more = {each: _APART + _not_aged(each.at, longest + _APART, pauses) for each in changes}
    tried: list[tuple[timedelta, dict[str, str]]] = []
    for number in range(-_STEPS, round(max(more.values(), default=_APART) / _APART * _STEPS) + 1):
        longer = _APART * number / _STEPS
        texts = judge.exceeded_policies([replace(record, scaler=_scaler_with(record.scaler, longer))], changes)
        tried.append((longer, {text.partition(": the policies")[0]: text for text in texts}))
    found = list[str]()
    for each in changes:
        said = [texts.get(str(each)) for longer, texts in tried if longer <= more[each]]
        found += [text for text in said[:1] if text is not None and None not in said]
    return found


def _not_aged(at: datetime, period: timedelta, pauses: Sequence[_Pause]) -> timedelta:
    """Return by how much a period that ends at this time may be longer: by the takeovers that it includes then."""
    longer = timedelta(0)
    for each in reversed(pauses):
        if at - period - longer <= each.end <= at:
            longer += each.lasted
    return longer


def _scaler_with(scaler: Autoscaler, more: timedelta) -> Autoscaler:
    """Return the autoscaler with windows and periods that are longer by this."""
    assert scaler.behavior is not None
    up, down = (_longer(rules, more) for rules in (scaler.behavior.scale_up, scaler.behavior.scale_down))
    return replace(scaler, behavior=replace(scaler.behavior, scale_up=up, scale_down=down))


def _longer(rules: ScalingRules, more: timedelta) -> ScalingRules:
    window = rules.stabilization_window or timedelta(0)
    policies = tuple(replace(each, period=max(_APART, each.period + more)) for each in rules.policies)
    return replace(rules, stabilization_window=max(timedelta(0), window + more), policies=policies)


def _arrived(records: Sequence[Record], late: Sequence[Decided]) -> Sequence[Decided]:
    """Return the late writes that the next daemon found at the target. It counts them like those in time."""
    remembered = judge.remembered_changes(records)
    return [each for each in late if from_micros(each.announced.decided) in remembered]


def _asked(each: Decided) -> judge.Asked:
    at = from_micros(each.announced.decided)
    growth = each.announced.size - each.announced.start
    return judge.Asked(f"{each.announced.name}@{at.isoformat()}", at, each.announced.size, accepted=True, growth=growth)
