"""One expression for many: its text with two edits, checked by its syntax tree.

The text of a representative is kept but for the matchers that vary and the lists of labels that the proof changes. What
that gives is parsed again and must be the tree that was meant; so an oversight here leaves an expression as written.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import promql_parser as ast

from autoscaler.observe.planner.nodes import Clause, describe, equalities
from autoscaler.observe.planner.proof import prove
from autoscaler.observe.planner.reading import Reading
from autoscaler.observe.planner.tagged import Unproven
from autoscaler.observe.planner.tokens import Place, places

_META: Final = re.compile(r"[\\.+*?()|\[\]{}^$]")
"""Go's regexp.QuoteMeta escapes these. Prometheus looks values up in its index only where no others are escaped."""
LONGEST: Final = 2000
"""What looking into an expression costs grows with the square of its length: 0.2 s for this."""

Slot: TypeAlias = int
"""The variable whose values are put here."""


@dataclass(frozen=True, slots=True)
class Template:
    """The text of a merged expression, apart from the values."""

    parts: tuple[str | tuple[str, Slot], ...]
    """Text, or a matcher's label and its variable."""

    def text(self, values: Mapping[Slot, Iterable[str]]) -> str:
        """The expression for these values, in their order."""
        patterns = {slot: quoted(alternation(each)) for slot, each in values.items()}
        return "".join(part if isinstance(part, str) else f"{part[0]}=~{patterns[part[1]]}" for part in self.parts)

    @property
    def fixed_bytes(self) -> int:
        """How long its text is without any value."""
        return sum(len((part if isinstance(part, str) else f'{part[0]}=~""').encode()) for part in self.parts)

    def slots(self) -> Sequence[Slot]:
        """Each place's variable."""
        return [part[1] for part in self.parts if not isinstance(part, str)]


@dataclass(frozen=True, slots=True)
class Rewriting:
    """How the expressions of a shape are asked at once."""

    pieces: tuple[str, ...]
    """The text around the equality matchers, as it is merged."""
    added: frozenset[str]
    """The labels that are taken off the answer again."""
    fallback: bool
    """Whether its one sample without labels is the answer for who has no other."""

    def template(self, reading: Reading, variables: frozenset[int]) -> Template:
        """With these variables open and the others as they are in this reading."""
        parts: list[str | tuple[str, Slot]] = [self.pieces[0]]
        shape = reading.shape
        for label, variable, written, piece in zip(
            shape.labels, shape.variables, reading.written, self.pieces[1:], strict=True
        ):
            parts += [(label, variable) if variable in variables else written, piece]
        return Template(tuple(parts))


def alternation(values: Iterable[str]) -> str:
    """A regular expression that matches these values and no other; Prometheus anchors it at both ends."""
    return "|".join(_META.sub(r"\\\g<0>", value) for value in values)


def quoted(text: str) -> str:
    """A string of PromQL. The text has no control characters."""
    return '"' + text.replace("\\", r"\\").replace('"', r"\"") + '"'


def rewrite(expr: str, reading: Reading, variables: frozenset[int]) -> Rewriting:
    """How expressions like this one are asked at once that differ in the values of these variables.

    Raises Unproven.
    """
    if sum(map(len, reading.shape.pieces)) > LONGEST:
        raise Unproven(f"it has more than {LONGEST} characters outside of its matchers")
    try:
        return _rewrite(expr, reading, variables)
    except RecursionError:
        raise Unproven("it nests too deeply") from None


def _rewrite(expr: str, reading: Reading, variables: frozenset[int]) -> Rewriting:
    shape = reading.shape
    try:
        root = ast.parse(expr)
    except ValueError:
        raise Unproven("its syntax is not known here") from None
    if equalities(root) != [
        (label, reading.values[variable]) for label, variable in zip(shape.labels, shape.variables, strict=True)
    ]:
        raise Unproven("it has a label in quotes, or a comment inside of a matcher")
    matchers = frozenset(at for at, variable in enumerate(shape.variables) if variable in variables)
    proof = prove(root, matchers)
    pieces = _edited(expr, reading, proof.clauses)
    rewriting = Rewriting(pieces, proof.added, proof.fallback)
    _check(root, rewriting, reading, variables, matchers, proof.clauses)
    return rewriting


def _edited(expr: str, reading: Reading, clauses: Mapping[Clause, tuple[str, ...]]) -> tuple[str, ...]:
    """The pieces of the text with these lists of labels."""
    pieces = list(reading.shape.pieces)
    starts, position = [], 0
    for piece, matcher in zip(pieces, (*reading.written, ""), strict=True):
        starts.append(position)
        position += len(piece) + len(matcher)
    found = places(expr) if clauses else {}
    for clause, place in sorted(found.items(), key=lambda each: each[1].start, reverse=True):
        if clause in clauses:
            at = bisect_right(starts, place.start) - 1
            start, end = place.start - starts[at], place.end - starts[at]
            pieces[at] = pieces[at][:start] + _list(place, clauses[clause]) + pieces[at][end:]
    return tuple(pieces)


def _list(place: Place, labels: Iterable[str]) -> str:
    written = {label.strip("\"'`"): label for label in place.listed or ()}
    text = ", ".join(written.get(label, label) for label in labels)
    return f" by ({text})" if place.listed is None else text


def _check(
    root: Any,
    rewriting: Rewriting,
    reading: Reading,
    variables: frozenset[int],
    matchers: frozenset[int],
    clauses: Mapping[Clause, tuple[str, ...]],
) -> None:
    """Raises Unproven when the new text does not mean what was proven."""
    example = {variable: (reading.values[variable], "x|y") for variable in variables}
    patterns = {at: alternation(example[reading.shape.variables[at]]) for at in matchers}
    try:
        made = describe(ast.parse(rewriting.template(reading, variables).text(example)))
    except ValueError:
        made = None
    if made != describe(root, patterns, clauses):
        raise Unproven("its text could not be edited")
