"""Merges questions of single autoscalers into few queries.

Questions of one shape (`expression_text.py`) differ in the values of some equality matchers. The label with the most
values gets all of them in one query. Each other label gets

- one query per value, if that leaves at least 8 members per query (`env` with two values);
- all values in the same query, if its value follows from the first label's (a job and its group);
- otherwise one query per value too, because all combinations could be far more than needed.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from autoscaler.fields.kept_labels import quoted
from autoscaler.observe.plan import Question
from autoscaler.observe.planner.expression_text import ExpressionText
from autoscaler.observe.planner.proof import Proof
from autoscaler.observe.planner.query import Form, Key, PlannedQuery, as_written
from autoscaler.observe.planner.rewrite import alternation, template

ALONE: Final = "no other question has the same form"
EMPTY: Final = "its value is empty, which means series without the label"
LONG: Final = "merged, it would be too long"
_MIN_MEMBERS_PER_QUERY: Final = 8
"""Fewest members per query that make one query for each value of another label worthwhile."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits on the size of a merged query."""

    values: int = 250
    """Values of one label. From 257 on Prometheus scans all of a label's values (maxSetMatches in its labels)."""
    text_bytes: int = 16_000
    """In UTF-8. VictoriaMetrics' -search.maxQueryLen is 16,384."""


class Member(NamedTuple):
    """One question of a shape."""

    question: Question
    reading: ExpressionText


class Choice(NamedTuple):
    """Which variables of a shape get all values in one query (`open`), and which get one query per value (`closed`)."""

    open: tuple[int, ...]
    closed: tuple[int, ...]


def choose(labels: Sequence[str], members: Sequence[Key]) -> Choice:
    """Choose from each member's values. `labels` has a label for each value. `open` is empty if nothing varies."""
    columns = list(zip(*members, strict=True))
    varying = sorted((-len(set(column)), at) for at, column in enumerate(columns) if len(set(column)) > 1)
    if not varying:
        return Choice((), tuple(range(len(columns))))
    main = varying[0][1]
    opened, closed = [main], [at for at in range(len(columns)) if all(at != found for _, found in varying)]
    for _, at in reversed(varying[1:]):
        queries = len(set(zip(*(columns[each] for each in (*closed, at)), strict=True)))
        follows = len(set(zip(columns[main], columns[at], strict=True))) == -varying[0][0]
        few = len(members) < _MIN_MEMBERS_PER_QUERY * queries
        if few and follows and labels[at] not in {labels[each] for each in opened}:
            opened.append(at)
        else:
            closed.append(at)
    return Choice(tuple(opened), tuple(sorted(closed)))


def queries(members: Sequence[Member], choice: Choice, found: Proof | str, limits: Limits) -> Iterator[PlannedQuery]:
    """Yield the queries for the members of one shape. `found`: how they are merged, or why not."""
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


def _partitions(
    members: Sequence[Member], choice: Choice
) -> Iterator[tuple[ExpressionText, dict[Key, tuple[Question, ...]]]]:
    """Group members that differ only in the open variables, and yield each group's text and members by these values."""
    found: dict[Key, dict[Key, tuple[Question, ...]]] = {}
    readings: dict[Key, ExpressionText] = {}
    for question, reading in members:
        values = reading.values
        partition = tuple([values[at] for at in choice.closed])
        key = tuple([values[at] for at in choice.open])
        keys = found.setdefault(partition, {})
        keys[key] = (*keys.get(key, ()), question)
        readings.setdefault(partition, reading)
    for partition, keys in found.items():
        yield readings[partition], keys


def _form(reading: ExpressionText, opened: tuple[int, ...], proof: Proof) -> Form:
    labels = tuple(reading.labels[at] for at in opened)
    added = tuple(label for label in labels if label in proof.added)
    return Form(template(proof, reading, opened), labels, opened, added, proof.fallback)


def _chunks(keys: Iterable[Key], form: Form, limits: Limits) -> Iterator[list[Key]]:
    """Divide the members, in order, into queries within the limits."""
    written = [part[1] for part in form.parts if not isinstance(part, str)]
    times = [written.count(slot) for slot in form.slots]
    without_values = form.text([("",) * len(form.slots)])
    fixed = len(without_values.encode()) - sum(times)  # no `|` before the first value
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
    """Group members by shape, in the order in which the shapes are first needed."""
    found: dict[object, list[Member]] = {}
    for member in members:
        found.setdefault(member.reading.shape, []).append(member)
    return found
