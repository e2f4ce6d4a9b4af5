"""Judges a life full of faults by its records and by the requests to its back end. Each finding is a text.

Everything is computed anew from all commits. The judge trusts nothing that the daemon remembered.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from typing import NamedTuple

from msgspec.structs import replace

from autoscaler.decide import apply_outcome, decide, remember
from autoscaler.hpa.memory import with_events
from autoscaler.model import (
    Autoscaler,
    Behavior,
    Decision,
    History,
    PendingWrite,
    PolicyType,
    ScaleEvent,
    ScalingRules,
    Written,
    later,
)
from autoscaler.record.values import Record
from tests.record.deciding_again import comparable


class Change(NamedTuple):
    """A size that was set."""

    at: datetime
    """The `now` of the decision."""
    before: int
    after: int
    until: datetime | None = None
    """It came between `at` and this time, perhaps in several steps; None: in one step, at `at`."""


class Asked(NamedTuple):
    """A write that reached the back end."""

    id: str
    """`ScaleChange.id`."""
    at: datetime
    """The `now` of the decision."""
    size: int
    accepted: bool
    """Whether the back end accepted it."""
    growth: int = 0
    """By how much the size grew; 0: that is not known."""


def decided_otherwise(records: Sequence[Record], known: History = History()) -> Iterator[str]:  # noqa: B008 - it is frozen
    """Return decisions that differ from those of `decide` with all earlier commits, as `remember` keeps them.

    `known`: what was remembered before the first record. Remembered times have ages: if a clock is set, they are moved
    with it.
    """
    for record in records:
        made, given = record.decision, record.history
        if given is None or record.observation is None:
            yield f"{_named(made)}: what it was made from is no longer known"
            return
        if given.at is not None and known.at is not None:
            known = later(known, given.at - known.at)
        if given.pending != known.pending and not _is_new(given.pending, known):
            yield f"{_named(made)}: the unfinished write was {given.pending}, expected {known.pending}"
        expected = _with_unrecorded(record.scaler, known, given)
        if given != expected:
            yield f"{_named(made)}: remembered {given}, expected {expected}"
        again = apply_outcome(decide(record.scaler, record.observation, expected, made.now), made.outcome)
        if comparable(again) != comparable(made):
            yield f"{_named(made)}: decided {made}, expected {again}"
        known = remember(record.scaler, expected, made)


def written_twice(asked: Sequence[Asked]) -> Iterator[str]:
    """Return decisions whose write was sent more than once, whatever its result."""
    ids = [each.id for each in asked]
    for each in sorted(set(ids)):
        if ids.count(each) > 1:
            yield f"{each}: sent {ids.count(each)} times"


def unknown_writes(records: Sequence[Record], asked: Sequence[Asked]) -> Iterator[str]:
    """Accepted writes that the record does not know: neither by their outcome, nor as unfinished, nor as arrived.

    Excuses a write that is older than every period and gave way to a later one, as in `with_events`.
    """
    recorded = {record.decision.now for record in records}
    made = _made_at(records)
    for each in asked:
        if each.accepted and each.at not in recorded:
            number = next((n for n, record in enumerate(records) if record.decision.now > each.at), None)
            after = None if number is None else records[number]
            known = (after and after.history) or History()
            told = {(one.at, one.size) for one in _open(known)} | {(at, each.size) for at in _changed_at(known)}
            if number is not None:
                told |= {(made[number][at], size) for at, size in told}
            if (each.at, each.size) not in told and not (after and _gave_way(each, asked, after)):
                yield f"{each.id}: {each.size} was written, and the next cycle that was recorded knew nothing of it"


def _gave_way(each: Asked, asked: Sequence[Asked], after: Record) -> bool:
    """Whether a write before `after` took the place of one that was older than every period of its direction."""
    behavior = after.scaler.behavior or Behavior()
    rules = behavior.scale_up if each.growth > 0 else behavior.scale_down
    longest = max(policy.period for policy in rules.policies)
    return any(
        one.accepted and one.growth * each.growth > 0 and each.at + longest < one.at < after.decision.now
        for one in asked
    )


def invented_changes(records: Sequence[Record], asked: Sequence[Asked]) -> Iterator[str]:
    """Return remembered changes without an accepted write. `asked`: all requests."""
    accepted = {each.at for each in asked if each.accepted}
    for at, decided in sorted(_changes(records)):
        if accepted.isdisjoint((at, decided)):
            yield f"{records[0].decision.name}@{at.isoformat()}: this change is remembered, and was never made"


def remembered_changes(records: Sequence[Record]) -> set[datetime]:
    """Return the times of the decisions whose changes a cycle remembered, as remembered and as decided."""
    return {at for each in _changes(records) for at in each}


def _changes(records: Sequence[Record]) -> set[tuple[datetime, datetime]]:
    """Return the changes that a cycle remembered: the remembered time, and the time of the decision."""
    made = _made_at(records)
    return {
        (at, times[at])
        for record, times in zip(records, made, strict=True)
        for at in _changed_at(record.history or History())
    }


def _made_at(records: Sequence[Record]) -> Sequence[dict[datetime, datetime]]:
    """Return, for each record, the time of the decision of each change and write that its cycle remembered.

    A daemon moves what it remembers to its own clock, and keeps the ages (docs/internals/state.md, "When the clock is
    set"). On a busy machine it does so between two hosts whose clocks are the same.
    """
    found, made, known = list[dict[datetime, datetime]](), dict[datetime, datetime](), History()
    for record in records:
        given = record.history or History()
        moved = timedelta(0) if given.at is None or known.at is None else given.at - known.at
        earlier = {at + moved: decided for at, decided in made.items()}
        times = [*_changed_at(given), *[each.at for each in _open(given)]]
        made = {at: earlier.get(at, at - moved) for at in times}
        found.append(made)
        known = remember(record.scaler, given, record.decision)
    return found


def _changed_at(history: History) -> Sequence[datetime]:
    return [event.at for event in (*history.hpa.scale_ups, *history.hpa.scale_downs)]


def changes_of(records: Sequence[Record], asked: Sequence[Asked] | None = None) -> Sequence[Change]:
    """Return the sizes that were set, in order: as accepted by the back end or, without `asked`, as found by cycles.

    Cycles that could not read the target have found none. A busy machine has such cycles, too.
    """
    read = [record for record in records if record.decision.current is not None]
    if asked is not None:
        accepted = [each for each in asked if each.accepted]
        sizes = [*[_current(record) for record in read[:1]], *[each.size for each in accepted]]
        return [Change(each.at, sizes[n], sizes[n + 1]) for n, each in enumerate(accepted)]
    return [change for before, after in pairwise(read) for change in _between(before, after)]


def forgotten_windows(records: Sequence[Record], changes: Sequence[Change]) -> Iterator[str]:
    """Return changes beyond the recommendations in the stabilization window before them."""
    recommended = [each for record in records for each in record.decision.remembered.recommendations]
    behavior = records[0].scaler.behavior
    assert behavior is not None
    for each in changes:
        if each.until is not None:
            continue  # no record has the time and the input of its decision
        up = each.after > each.before
        window = (behavior.scale_up if up else behavior.scale_down).stabilization_window
        assert window is not None
        within = [one.replicas for one in recommended if each.at - window < one.at <= each.at]
        if within and (each.after > min(within) if up else each.after < max(within)):
            yield f"{each}: within {window} it was recommended {sorted(set(within))}"


def exceeded_policies(records: Sequence[Record], changes: Sequence[Change]) -> Iterator[str]:
    """Return changes that no policy allows, given the changes in its period before them."""
    behavior = records[0].scaler.behavior
    assert behavior is not None
    for number, each in enumerate(changes):
        up = each.after > each.before
        rules = behavior.scale_up if up else behavior.scale_down
        allowed = _furthest(rules, each, changes[:number])
        if abs(each.after - each.before) > allowed:
            earlier = [str(one) for one in changes[:number] if one.at > each.at - timedelta(minutes=1)]
            yield f"{each}: the policies allow {allowed} after {', '.join(earlier) or 'nothing'}"


def unseen_sizes(records: Sequence[Record], changes: Sequence[Change]) -> Iterator[str]:
    """Return cycles that found another size than the last one that was set: a write from outside, or an unknown one."""
    for record in records:
        now = record.decision.now
        size = next((each.after for each in reversed(changes) if each.at < now), changes[0].before if changes else None)
        if size is not None and record.decision.current not in (size, None):
            yield f"{_named(record.decision)}: found {record.decision.current}, and {size} had been set"


def unexplained_sizes(records: Sequence[Record]) -> Iterator[str]:
    """Return sizes of one autoscaler's target that no decision wrote, if only decisions set sizes."""
    for before, after in pairwise(records):
        assert after.history is not None
        outcome, intent = before.decision.outcome, after.history.pending
        sizes = {outcome.size if isinstance(outcome, Written) else before.decision.current}
        sizes |= set() if intent is None else {intent.size}
        if None not in sizes and after.decision.current not in {*sizes, None}:
            yield f"{_named(after.decision)}: found {after.decision.current}, and {sizes} was remembered"


def _furthest(rules: ScalingRules, change: Change, earlier: Sequence[Change]) -> int:
    """Return the furthest size that a policy allows. The rehearsals use only policies of Pods."""
    up = change.after > change.before
    allowed = []
    for policy in rules.policies:
        assert policy.type is PolicyType.PODS
        moved = sum(each.after - each.before for each in earlier if each.at > change.at - policy.period)
        more = 0 if change.until is None else (change.until - change.at) // policy.period
        allowed.append(policy.value * (1 + more) + (-moved if up else moved))
    return max(0, *allowed)


def _between(before: Record, after: Record) -> Sequence[Change]:
    """Return the changes of the size between two recorded cycles.

    Several daemons may have written and died in between.
    """
    known, since = after.history or History(), before.decision.now
    steps = [(each.at, each.change) for each in known.hpa.scale_ups if each.at >= since]
    steps += [(each.at, -each.change) for each in known.hpa.scale_downs if each.at >= since]
    arrived = [each for each in _open(known) if each.size == _current(after)]
    steps += [(each.at, each.size - each.decided_from) for each in arrived]
    size, found = _current(before), list[Change]()
    for at, step in sorted(steps):
        found.append(Change(at, size, size + step))
        size += step
    if size != _current(after):  # a new event replaces one that is older than all periods, so not all of them are known
        return [Change(since, _current(before), _current(after), after.decision.now)]
    return [each for each in found if each.before != each.after]


def _with_unrecorded(scaler: Autoscaler, known: History, given: History) -> History:
    """Return the records with the commits of unrecorded cycles before their writes, which `unknown_writes` checks."""
    behavior = scaler.behavior or Behavior()
    up, down = _arrived(known, given)

    def new(events: Sequence[ScaleEvent], arrived: ScaleEvent | None) -> Sequence[ScaleEvent]:
        return [each for each in events if known.at is not None and (each.at > known.at or each == arrived)]

    return replace(
        known,
        hpa=replace(
            known.hpa,
            scale_ups=with_events(known.hpa.scale_ups, new(given.hpa.scale_ups, up), behavior.scale_up),
            scale_downs=with_events(known.hpa.scale_downs, new(given.hpa.scale_downs, down), behavior.scale_down),
        ),
        pending=given.pending,
    )


def _arrived(known: History, given: History) -> tuple[ScaleEvent | None, ScaleEvent | None]:
    """Return the change of a write without an answer, if an unrecorded cycle found that it had arrived.

    That cycle announced the next write from its size, and committed both.
    """
    announced = given.pending
    if announced is None or announced == known.pending:
        return None, None
    last = next((each for each in _open(known) if each.size == announced.decided_from), None)
    if last is None:
        return None, None
    event = ScaleEvent(abs(last.size - last.decided_from), last.at)
    return (event, None) if last.size > last.decided_from else (None, event)


def _open(history: History) -> Sequence[PendingWrite]:
    """Return the writes that may still arrive."""
    return () if history.pending is None else history.pending.and_earlier


def _is_new(intent: PendingWrite | None, known: History) -> bool:
    """Return whether it was committed by a cycle without a record."""
    return intent is not None and (known.at is None or intent.at > known.at)


def _current(record: Record) -> int:
    assert record.decision.current is not None
    return record.decision.current


def _named(decision: Decision) -> str:
    return f"{decision.name}@{decision.now.isoformat()}"
