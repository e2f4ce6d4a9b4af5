"""Makes one expression for many: as the proof writes it, with all values in the matchers that vary."""

import re
from collections.abc import Iterable, Sequence
from typing import Final, TypeAlias

import promql_parser as ast

from autoscaler.fields.kept_labels import quoted
from autoscaler.observe.planner.expression_text import ExpressionText
from autoscaler.observe.planner.expressions import Unproven
from autoscaler.observe.planner.proof import Proof, prove

_META: Final = re.compile(r"[\\.+*?()|\[\]{}^$]")
"""The characters that Go's regexp.QuoteMeta escapes. Prometheus uses its index only if no others are escaped."""
MAX_CHARACTERS: Final = 2000
"""Longest expression. Parsing time grows with the square of the length: 0.2 s for this."""

Part: TypeAlias = str | tuple[str, int]
"""A part of a merged expression: text, or a matcher's label and its variable."""


def template(proof: Proof, reading: ExpressionText, variables: Sequence[int]) -> tuple[Part, ...]:
    """Return the parts, with these variables open and the others as in this expression."""
    parts: list[Part] = [proof.pieces[0]]
    shape = reading.shape
    for label, variable, piece in zip(shape.labels, shape.variables, proof.pieces[1:], strict=True):
        closed = f"{label}={quoted(reading.values[variable])}"
        parts += [(label, variable) if variable in variables else closed, piece]
    return tuple(parts)


def alternation(values: Iterable[str]) -> str:
    """Return a regular expression that matches only these values. Prometheus anchors it at both ends."""
    return "|".join(_META.sub(r"\\\g<0>", value) for value in values)


def rewrite(expr: str, reading: ExpressionText, variables: frozenset[int]) -> Proof:
    """Return how to merge expressions like this one that differ in the values of these variables.

    Raises Unproven.
    """
    shape = reading.shape
    if sum(map(len, shape.pieces)) > MAX_CHARACTERS:
        raise Unproven(f"it has more than {MAX_CHARACTERS} characters outside of its matchers")
    matchers = frozenset(at for at, variable in enumerate(shape.variables) if variable in variables)
    try:
        proof = prove(ast.parse(expr), matchers)
    except ValueError:
        raise Unproven("its syntax is not known here") from None
    except RecursionError:
        raise Unproven("it nests too deeply") from None
    values = (reading.values[variable] for variable in shape.variables)
    if proof.equalities != tuple(zip(shape.labels, values, strict=True)):
        raise Unproven("it has a label in quotes, or a comment inside of a matcher")
    return proof
