"""Splits large answers: several queries in place of one, each for some of the label values that autoscalers match on.

A query that several autoscalers use is sent once. Its whole answer is in memory until the last autoscaler has read its
samples. An answer of more than about 150,000 samples is better asked in parts: each autoscaler gets a question of its
own (`narrowing.py`), and the planner merges as many of these into a query as `AnswerSizes.part` says.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from autoscaler.model import Autoscaler, Query
from autoscaler.observe.plan import Question, age_question, question, with_queries
from autoscaler.observe.planner import Limits, Narrowing, can_be_written, narrowing

_MOST_VALUES: Final = Limits().values


@dataclass(frozen=True, slots=True)
class AnswerSizes:
    """How large answers are asked for and kept, in samples."""

    large: int = 150_000
    """Samples of an answer from which on it is split. A smaller one costs less as one query."""
    small: int = 120_000
    """Samples below which an answer is no longer split."""
    part: int = 25_000
    """Samples in one query's part of a split answer: 5 MB of text."""
    many_values: int = 1_000
    """Number of label values above which an answer of unknown size counts as large."""
    held: int = 100_000
    """Samples kept before observations are made early. Below this, all answers are awaited while the adapter works."""


@dataclass(frozen=True)
class SplitBatch:
    """A batch's autoscalers, with the questions of split answers in place of the whole ones."""

    scalers: Sequence[Autoscaler]
    parts: Mapping[Question, int] = field(default_factory=dict)
    """Which questions are asked together, as for `Planner.plan`."""
    whole: Mapping[Question, Question] = field(default_factory=dict)
    """A part's question -> the question of the whole answer."""


@dataclass(frozen=True)
class Splittable:
    """A question whose answer can be split."""

    narrowing: Narrowing
    values: frozenset[str]
    """The values of its label that autoscalers match on."""

    def values_per_query(
        self, sizes: AnswerSizes, samples: int | None, now: int | None, *, costly: bool = False
    ) -> int | None:
        """Return for how many values one query is; None if the answer is not split.

        `samples`: of its last answer; None if not known. `now`: the current result, which changes only if necessary.
        `costly`: the whole answer is late or too large.
        """
        count = len(self.values)
        if costly:
            samples = max(samples or 0, sizes.large)
        if samples is None:
            return now or (_MOST_VALUES if count > sizes.many_values else None)
        if samples < (sizes.small if now else sizes.large):
            return None
        wanted = max(1, min(_MOST_VALUES, sizes.part * count // samples))
        return now if now and wanted <= 2 * now <= 4 * wanted else wanted


def splittable(scalers: Sequence[Autoscaler]) -> Mapping[Question, Splittable]:
    """Return the questions whose answers can be split, each by the label with the most values among its users."""
    users: dict[Question, list[Mapping[str, str]]] = {}
    for scaler in scalers:
        for query in scaler.queries:
            users.setdefault(question(query), []).append(dict(query.match))
    found = {}
    for asked, matches in users.items():
        common = set.intersection(*(set(match) for match in matches))
        values = {label: frozenset(match[label] for match in matches) for label in sorted(common)}
        label = max(values, key=lambda each: len(values[each]), default=None)
        if label is None or len(values[label]) == 1 or not all(map(can_be_written, values[label])):
            continue
        if (narrowed := narrowing(asked.expr, label)) is not None:
            found[asked] = Splittable(narrowed, values[label])
    return found


def split(
    scalers: Sequence[Autoscaler], known: Mapping[Question, Splittable], values_per_query: Mapping[Question, int]
) -> SplitBatch:
    """Return the autoscalers with some answers split. `values_per_query`: for how many values each query is."""
    own: dict[tuple[Question, str], str] = {}
    parts: dict[Question, int] = {}
    whole: dict[Question, Question] = {}

    def narrowed(query: Query) -> Query:
        asked = question(query)
        if asked not in values_per_query:
            return query
        return replace(query, expr=own[asked, dict(query.match)[known[asked].narrowing.label]])

    for asked, count in values_per_query.items():
        for number, value in enumerate(sorted(known[asked].values)):
            expr = own[asked, value] = known[asked].narrowing.to(value)
            mine = Query(expr, asked.prometheus)
            parts[question(mine)] = parts[age_question(mine)] = -2 - number // count
            whole[question(mine)] = asked
    return SplitBatch(tuple([with_queries(each, narrowed) for each in scalers]), parts, whole)
