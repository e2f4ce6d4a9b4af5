"""The queries to send, each with the questions that it answers."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from autoscaler.fields.kept_labels import quoted
from autoscaler.observe.plan import Question
from autoscaler.observe.planner.rewrite import Part, alternation

_FAILED: Final = "its merged query failed"
Key: TypeAlias = tuple[str, ...]
"""A member's value of each label that varies."""


@dataclass(frozen=True, slots=True)
class Form:
    """How a merged query is written and its answer split."""

    parts: tuple[Part, ...]
    """The merged expression, without the values."""
    labels: tuple[str, ...]
    """The labels that vary."""
    slots: tuple[int, ...]
    """Each label's variable in the parts."""
    added: tuple[str, ...]
    """Labels of the answer that exist only because of the merge."""
    fallback: bool
    """Whether a sample without these labels answers each member without another sample."""

    def text(self, keys: Iterable[Key]) -> str:
        """Return the expression for these members, the same for the same set."""
        columns = zip(self.slots, zip(*keys, strict=True), strict=True)
        patterns = {slot: quoted(alternation(sorted(set(values)))) for slot, values in columns}
        return "".join(part if isinstance(part, str) else f"{part[0]}=~{patterns[part[1]]}" for part in self.parts)


@dataclass(frozen=True, slots=True)
class PlannedQuery:
    """One query to one Prometheus."""

    prometheus: str
    expr: str
    members: Mapping[Key, tuple[Question, ...]]
    """The questions that it answers. Questions with the same key differ only in quoting."""
    form: Form | None = None
    """None if asked as written. It then has one key."""
    reason: str = ""
    """Why it is asked as written; empty if merged."""

    @property
    def questions(self) -> Iterator[Question]:
        """All questions that it answers."""
        return (question for questions in self.members.values() for question in questions)

    def apart(self) -> Sequence["PlannedQuery"]:
        """Return a query for each member of a merged query, each as it is written."""
        return [as_written({key: questions}, _FAILED) for key, questions in self.members.items()]


def alone(question: Question, reason: str = "") -> PlannedQuery:
    """Return a query that asks one question as it is written, unmerged. `reason`: why it is not merged."""
    return as_written({(): (question,)}, reason)


def as_written(members: Mapping[Key, tuple[Question, ...]], reason: str) -> PlannedQuery:
    """Return a query for questions that differ only in quoting; it has the text of the first. `reason`: as `alone`."""
    first = next(iter(members.values()))[0]
    return PlannedQuery(first.prometheus, first.expr, members, None, reason)
