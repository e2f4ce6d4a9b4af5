"""The rules' own keys of the documents, and what is said of them. No document names a rule."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from functools import cache
from typing import Any, TypeVar

from autoscaler.document import Document
from autoscaler.model import Autoscaler, Decision
from autoscaler.rules import RULES, plan_of
from autoscaler.rules.rule import Rule, with_keys
from autoscaler.rules.shown import Line, Remark, Shown, ShownInstance, ShownMemory

_DocumentT = TypeVar("_DocumentT", bound=Document)
_ShownT = TypeVar("_ShownT", bound=Shown)


def with_parts(kind: type[Shown], behind: Sequence[str]) -> Callable[[type[_DocumentT]], type[_DocumentT]]:
    """Return a decorator that gives a document the rules' keys of this kind.

    `behind`: the fields behind which those of the first rule stand, of the second one and so on; the keys of all others
    stand with the last.
    """

    def extended(document: type[_DocumentT]) -> type[_DocumentT]:
        found = [part for _, part in parts(kind)]
        made = with_keys(document, found)
        places = {name: [name] for name in document.model_fields}
        for number, part in enumerate(found):
            places[behind[min(number, len(behind) - 1)]] += part.model_fields
        fields = made.model_fields
        made.__pydantic_fields__ = {name: fields[name] for names in places.values() for name in names}
        return made

    return extended


@cache
def parts(kind: type[_ShownT]) -> Sequence[tuple[type[Rule], type[_ShownT]]]:
    """Return the rules with keys of this kind, in the order of RULES, each with its class of these keys."""
    return [(rule, each) for rule in RULES for each in rule.documents if issubclass(each, kind)]


def rules_with(scaler: Autoscaler, kind: type[_ShownT]) -> Sequence[tuple[Rule, type[_ShownT]]]:
    """Return an autoscaler's rules with keys of this kind, each with its class of these keys."""
    own = {type(each): each for each in plan_of(scaler.rules).rules}
    return [(own[rule], part) for rule, part in parts(kind) if rule in own]


def memories_with(decision: Decision, kind: type[_ShownT]) -> Sequence[tuple[Any, type[_ShownT]]]:
    """Return what the rules remember after a decision, each with the rule's class of the keys of this kind."""
    memories = decision.remembered.rules.of
    return [(memories[rule.name], part) for rule, part in parts(kind) if rule.name in memories]


def memory_keys(decision: Decision | None) -> dict[str, Any]:
    """Return the keys of what the rules remember after a decision; None: there was none."""
    if decision is None:
        return {}
    return keys(part.of_memory(memory) for memory, part in memories_with(decision, ShownMemory))


def keys(found: Iterable[Shown]) -> dict[str, Any]:
    """Return the keys of all of them, with their values."""
    return {name: value for each in found for name, value in each}


def lines_of(document: Document) -> Iterator[Line]:
    """Yield what the rules say of a document's keys, in their order."""
    for _, part in parts(Shown):
        if isinstance(document, part):
            yield from part.as_lines(document)


def remarks(document: Document) -> Iterator[Remark]:
    """Yield what the rules remark of a document's keys, in their order."""
    for _, part in parts(ShownMemory):
        if isinstance(document, part):
            yield from part.remarks(document)


def memory_remarks(decision: Decision) -> Iterator[Remark]:
    """Yield what the rules remark of what they remember after a decision, in their order."""
    for memory, part in memories_with(decision, ShownMemory):
        yield from part.of_memory(memory).remarks()


def words_of(document: Document, now: datetime) -> Sequence[str]:
    """Return what the rules say of an instance, in their order."""
    said = [part.words(document, now) for _, part in parts(ShownInstance) if isinstance(document, part)]
    return [text for text in said if text]
