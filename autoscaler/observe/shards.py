"""Large shared answers in shards: several queries, each for some of the values that the autoscalers match on.

A shared query is asked once for all. Its answer is decoded as a whole, and all of it is in memory until the last
autoscaler has its part. From some 150,000 samples on it is better asked in parts: each autoscaler's is then a
question of its own (`narrowing.py`), and the planner merges these, so many to a query as give SHARD samples.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from autoscaler.model import Autoscaler, Query
from autoscaler.observe.plan import Question, age_question, queries_of, question, with_queries
from autoscaler.observe.planner import Limits, Narrowing, can_be_written, narrowing

LARGE: Final = 150_000
"""Samples from which on an answer is asked for in shards: below, the one query costs less than the many."""
_SMALL: Final = 120_000
"""Samples below which it is asked for as a whole again."""
_MANY: Final = 1_000
"""Values from which on an answer whose size is not known yet is taken for a large one."""
SHARD: Final = 25_000
"""Samples that one query of a sharded one is to give: 5 MB of text."""
_MOST_VALUES: Final = Limits().values


@dataclass(frozen=True)
class Shards:
    """A batch's autoscalers, as they are asked for."""

    scalers: Sequence[Autoscaler]
    """With the queries of their own shards."""
    parts: Mapping[Question, int] = field(default_factory=dict)
    """Which of the questions are asked together, as `Planner.plan` takes it."""
    whole: Mapping[Question, Question] = field(default_factory=dict)
    """A shard's question -> that whose answer it is part of."""


@dataclass(frozen=True)
class Shared:
    """A question that may be sharded."""

    narrowing: Narrowing
    values: frozenset[str]
    """Those of its label that are matched on."""

    def together(self, samples: int | None, now: int | None, *, costly: bool = False) -> int | None:
        """How many values a query is to be for; None: the answer is asked for as a whole.

        `samples`: how many it had; None: that is not known. `now`: what it is; that changes only when it has to.
        `costly`: as a whole it is late, or too large.
        """
        count = len(self.values)
        if costly:
            samples = max(samples or 0, LARGE)
        if samples is None:
            return now or (_MOST_VALUES if count > _MANY else None)
        if samples < (_SMALL if now else LARGE):
            return None
        wanted = max(1, min(_MOST_VALUES, SHARD * count // samples))
        return now if now and wanted <= 2 * now <= 4 * wanted else wanted


def shared(scalers: Sequence[Autoscaler]) -> Mapping[Question, Shared]:
    """The questions that may be sharded, each by the label that tells most of its users apart."""
    users: dict[Question, list[Mapping[str, str]]] = {}
    for scaler in scalers:
        for query in queries_of(scaler):
            users.setdefault(question(query), []).append(dict(query.match))
    found = {}
    for asked, matches in users.items():
        common = set.intersection(*(set(match) for match in matches))
        values = {label: frozenset(match[label] for match in matches) for label in sorted(common)}
        label = max(values, key=lambda each: len(values[each]), default=None)
        if label is None or len(values[label]) == 1 or not all(map(can_be_written, values[label])):
            continue
        if (narrowed := narrowing(asked.expr, label)) is not None:
            found[asked] = Shared(narrowed, values[label])
    return found


def in_shards(
    scalers: Sequence[Autoscaler], known: Mapping[Question, Shared], together: Mapping[Question, int]
) -> Shards:
    """The autoscalers with some questions in shards. `together`: for how many values each of its queries is."""
    own: dict[tuple[Question, str], str] = {}
    parts: dict[Question, int] = {}
    whole: dict[Question, Question] = {}

    def narrowed(query: Query) -> Query:
        asked = question(query)
        if asked not in together:
            return query
        return replace(query, expr=own[asked, dict(query.match)[known[asked].narrowing.label]])

    for asked, count in together.items():
        for number, value in enumerate(sorted(known[asked].values)):
            expr = own[asked, value] = known[asked].narrowing.to(value)
            mine = Query(expr, asked.prometheus)
            parts[question(mine)] = parts[age_question(mine)] = -2 - number // count
            whole[question(mine)] = asked
    return Shards(tuple([with_queries(each, narrowed) for each in scalers]), parts, whole)
