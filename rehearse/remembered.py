"""Judges recorded decisions of a life with set clocks and failed commits. Each finding is a text."""

from collections.abc import Iterator, Sequence
from datetime import timedelta
from itertools import pairwise

from autoscaler.decide import remember
from autoscaler.model import History, Written, later
from autoscaler.record import Record
from tests.record.deciding_again import comparable, decided_again


def forgotten(records: Sequence[Record]) -> Iterator[str]:
    """Return decisions of one autoscaler that cannot be repeated, or not from the memory of the decision before.

    A step of a clock moves the whole memory equally. A cycle without a committed outcome adds to it.
    """
    for record in records:
        if comparable(decided_again(record)) != comparable(record.decision):
            yield f"{_named(record)}: decided otherwise"
    for before, after in pairwise(records):
        assert before.history is not None
        assert after.history is not None
        left, found = remember(before.scaler, before.history, before.decision), after.history
        moved = timedelta(0) if left.at is None or found.at is None else found.at - left.at
        expected = _committed(later(left, moved), later(left, moved))
        if expected != _committed(found, later(left, moved)):
            yield f"{_named(after)}: decided from {found}, and the one before left {left}"


def unexplained(records: Sequence[Record]) -> Iterator[str]:
    """Return sizes of one autoscaler's target that no decision wrote. Only decisions set sizes here."""
    for before, after in pairwise(records):
        assert after.history is not None
        outcome, intent = before.decision.outcome, after.history.pending
        sizes = {outcome.size if isinstance(outcome, Written) else before.decision.current}
        sizes |= set() if intent is None else {intent.size}
        if None not in sizes and after.decision.current not in {*sizes, None}:
            yield f"{_named(after)}: found {after.decision.current}, and {sizes} was remembered"


def _committed(history: History, until: History) -> tuple[object, ...]:
    """Return the writes in the records. A write without a committed outcome is in none."""
    last = until.at
    return (
        history.hpa.recommendations,
        [each for each in history.hpa.scale_ups if last is None or each.at <= last],
        [each for each in history.hpa.scale_downs if last is None or each.at <= last],
        history.rules,
        history.at,
    )


def _named(record: Record) -> str:
    return f"{record.scaler.name} at {record.decision.now.isoformat()}"
