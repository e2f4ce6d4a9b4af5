"""Merges questions that are written for one autoscaler each into few queries.

Those of one shape (`reading.py`) differ in the values of some equality matchers. One label, the one with the most
values, gets them all at once. A label beside it gets
- one query for each of its values, when that leaves at least 8 members to a query (`env` with two values);
- all its values at once too, when its value follows from the first one's (a job and its group);
- else one query for each of its values all the same: all combinations could be far more than what was asked for.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from autoscaler.observe.plan import Question
from autoscaler.observe.planner.query import Form, Key, PlannedQuery, as_written
from autoscaler.observe.planner.reading import Reading
from autoscaler.observe.planner.rewrite import Rewriting, alternation, quoted

ALONE: Final = "no other question is written like it"
EMPTY: Final = "its value is empty, which stands for series without the label"
LONG: Final = "merged, it would be too long"
_FEWEST: Final = 8
"""Members that make a query for each value of one more label worth it."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How large a merged query may get."""

    values: int = 250
    """Of one label: from 257 on Prometheus goes through all of a label's values (maxSetMatches in its labels)."""
    text_bytes: int = 16_000
    """In UTF-8: VictoriaMetrics' -search.maxQueryLen is 16,384."""


class Member(NamedTuple):
    """One question of a shape."""

    question: Question
    reading: Reading
    part: int
    """Only those of one part are merged."""


class Choice(NamedTuple):
    """Which variables of a shape get all their values at once, and which a query for each."""

    open: tuple[int, ...]
    closed: tuple[int, ...]


def choose(labels: Sequence[str], members: Sequence[Key]) -> Choice:
    """For the values of each member; one of `labels` for each value. `open` is empty when nothing varies."""
    columns = list(zip(*members, strict=True))
    varying = sorted((-len(set(column)), at) for at, column in enumerate(columns) if len(set(column)) > 1)
    if not varying:
        return Choice((), tuple(range(len(columns))))
    main = varying[0][1]
    opened, closed = [main], [at for at in range(len(columns)) if all(at != found for _, found in varying)]
    for _, at in reversed(varying[1:]):
        queries = len(set(zip(*(columns[each] for each in (*closed, at)), strict=True)))
        follows = len(set(zip(columns[main], columns[at], strict=True))) == -varying[0][0]
        few = len(members) < _FEWEST * queries
        if few and follows and labels[at] not in {labels[each] for each in opened}:
            opened.append(at)
        else:
            closed.append(at)
    return Choice(tuple(opened), tuple(sorted(closed)))


def queries(
    members: Sequence[Member], choice: Choice, found: Rewriting | str, limits: Limits
) -> Iterator[PlannedQuery]:
    """The queries for the members of one shape. `found`: how they are written at once, or why they are not."""
    for reading, keys in _partitions(members, choice):
        if isinstance(found, str) or len(keys) == 1:
            reason = found if isinstance(found, str) else ALONE
            yield from (as_written({key: questions}, reason) for key, questions in keys.items())
            continue
        for key in [key for key in keys if "" in key]:
            yield as_written({key: keys.pop(key)}, EMPTY)
        form = _form(reading, choice.open, found)
        for some in _chunks(keys, form, limits):
            chunk = {key: keys[key] for key in some}
            if len(chunk) == 1:
                yield as_written(chunk, ALONE if len(keys) == 1 else LONG)
            else:
                yield PlannedQuery(reading.shape.prometheus, form.text(chunk), chunk, form)


def _partitions(members: Sequence[Member], choice: Choice) -> Iterator[tuple[Reading, dict[Key, tuple[Question, ...]]]]:
    """Those that agree in everything but the open variables, by the values of these; one's reading with each."""
    found: dict[tuple[int, Key], dict[Key, tuple[Question, ...]]] = {}
    readings: dict[tuple[int, Key], Reading] = {}
    for question, reading, part in members:
        values = reading.values
        partition = part, tuple([values[at] for at in choice.closed])
        key = tuple([values[at] for at in choice.open])
        keys = found.setdefault(partition, {})
        keys[key] = (*keys.get(key, ()), question)
        if partition not in readings or reading.written < readings[partition].written:
            readings[partition] = reading
    for partition, keys in found.items():
        yield readings[partition], keys


def _form(reading: Reading, opened: tuple[int, ...], rewriting: Rewriting) -> Form:
    labels = tuple(reading.labels[at] for at in opened)
    added = tuple(label for label in labels if label in rewriting.added)
    return Form(rewriting.template(reading, frozenset(opened)), labels, opened, added, rewriting.fallback)


def _chunks(keys: Iterable[Key], form: Form, limits: Limits) -> Iterator[list[Key]]:
    """The members in order, cut where a query would get too large."""
    fixed = form.template.fixed_bytes
    written = form.template.slots()
    times = [written.count(slot) for slot in form.slots]
    chunk: list[Key] = []
    size = fixed
    for key in sorted(keys):
        more = sum(
            count * (len(quoted(alternation((value,))).encode()) - 1) for count, value in zip(times, key, strict=True)
        )
        if chunk and (size + more > limits.text_bytes or len(chunk) == limits.values):
            yield chunk
            chunk, size = [], fixed
        chunk.append(key)
        size += more
    if chunk:
        yield chunk


def by_shape(members: Iterable[Member]) -> Mapping[object, list[Member]]:
    """Those of one shape together, in the order in which the shapes are first needed."""
    found: dict[object, list[Member]] = {}
    for member in members:
        found.setdefault(member.reading.shape, []).append(member)
    return found
