"""Makes one expression for many by two kinds of edits, and checks the result by its syntax tree.

The text of one expression is kept, except for the matchers that vary and the lists of labels that the proof changes.
The result is parsed and compared with the intended tree. If they differ, the expressions are asked as written.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import promql_parser as ast

from autoscaler.observe.planner.expression_text import ExpressionText
from autoscaler.observe.planner.expressions import Unproven
from autoscaler.observe.planner.nodes import Clause, describe, equalities
from autoscaler.observe.planner.proof import prove
from autoscaler.observe.planner.tokens import Place, places

_META: Final = re.compile(r"[\\.+*?()|\[\]{}^$]")
"""The characters that Go's regexp.QuoteMeta escapes. Prometheus uses its index only if no others are escaped."""
LONGEST: Final = 2000
"""Longest expression. Parsing time grows with the square of the length: 0.2 s for this."""

Slot: TypeAlias = int
"""The variable whose values go here."""


@dataclass(frozen=True, slots=True)
class Template:
    """The text of a merged expression, without the values."""

    parts: tuple[str | tuple[str, Slot], ...]
    """Text, or a matcher's label and its variable."""

    def text(self, values: Mapping[Slot, Iterable[str]]) -> str:
        """Return the expression for these values, in their order."""
        patterns = {slot: quoted(alternation(each)) for slot, each in values.items()}
        return "".join(part if isinstance(part, str) else f"{part[0]}=~{patterns[part[1]]}" for part in self.parts)

    @property
    def fixed_bytes(self) -> int:
        """The length of the text without any value."""
        return len(self.text(dict.fromkeys(self.slots(), ())).encode())

    def slots(self) -> Sequence[Slot]:
        """Return each place's variable."""
        return [part[1] for part in self.parts if not isinstance(part, str)]


@dataclass(frozen=True, slots=True)
class Rewriting:
    """How the expressions of a shape are merged."""

    pieces: tuple[str, ...]
    """The merged text around the equality matchers."""
    added: frozenset[str]
    """Labels to remove from the answer."""
    fallback: bool
    """Whether the one sample without labels answers members without another sample."""

    def template(self, reading: ExpressionText, variables: frozenset[int]) -> Template:
        """Return the template with these variables open and the others as in this expression."""
        parts: list[str | tuple[str, Slot]] = [self.pieces[0]]
        shape = reading.shape
        for label, variable, written, piece in zip(
            shape.labels, shape.variables, reading.written, self.pieces[1:], strict=True
        ):
            parts += [(label, variable) if variable in variables else written, piece]
        return Template(tuple(parts))


def alternation(values: Iterable[str]) -> str:
    """Return a regular expression that matches only these values. Prometheus anchors it at both ends."""
    return "|".join(_META.sub(r"\\\g<0>", value) for value in values)


def quoted(text: str) -> str:
    """Return a PromQL string. The text must not contain control characters."""
    return '"' + text.replace("\\", r"\\").replace('"', r"\"") + '"'


def rewrite(expr: str, reading: ExpressionText, variables: frozenset[int]) -> Rewriting:
    """Return how to merge expressions like this one that differ in the values of these variables.

    Raises Unproven.
    """
    if sum(map(len, reading.shape.pieces)) > LONGEST:
        raise Unproven(f"it has more than {LONGEST} characters outside of its matchers")
    try:
        return _rewrite(expr, reading, variables)
    except RecursionError:
        raise Unproven("it nests too deeply") from None


def _rewrite(expr: str, reading: ExpressionText, variables: frozenset[int]) -> Rewriting:
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


def _edited(expr: str, reading: ExpressionText, clauses: Mapping[Clause, tuple[str, ...]]) -> tuple[str, ...]:
    """Return the pieces of the text with these lists of labels."""
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
    reading: ExpressionText,
    variables: frozenset[int],
    matchers: frozenset[int],
    clauses: Mapping[Clause, tuple[str, ...]],
) -> None:
    """Raise Unproven if the new text does not have the proven meaning."""
    example = {variable: (reading.values[variable], "x|y") for variable in variables}
    patterns = {at: alternation(example[reading.shape.variables[at]]) for at in matchers}
    try:
        made = describe(ast.parse(rewriting.template(reading, variables).text(example)))
    except ValueError:
        made = None
    if made != describe(root, patterns, clauses):
        raise Unproven("its text could not be edited")
