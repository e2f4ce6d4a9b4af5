"""Reduces an expression for all values of a label to one value: the inverse of merging.

What `proof.py` proves for `L="v"` in every selector also holds without a matcher, if the samples carry L as written:
samples of each v are made from series with that value and never match others. So the expression with `L="v"` returns
exactly those samples that have this L without it.
"""

from typing import Any, Final

import promql_parser as ast

from autoscaler.config.kept_labels import label_text
from autoscaler.observe.planner.expression_text import UNPRINTED
from autoscaler.observe.planner.expressions import Unproven
from autoscaler.observe.planner.nodes import describe, equalities
from autoscaler.observe.planner.proof import prove
from autoscaler.observe.planner.rewrite import LONGEST, quoted
from autoscaler.observe.planner.tokens import selectors

_PROBE: Final = "a value that nobody has"


class Narrowing:
    """An expression that can be asked for one value of a label."""

    def __init__(self, label: str, pieces: tuple[str, ...]) -> None:
        """`pieces`: the text around the places for a matcher."""
        self.label = label
        self._pieces = pieces

    def to(self, value: str) -> str:
        """Return the expression for this value, for which `can_be_written` must hold."""
        return f"{label_text(self.label)}={quoted(value)}".join(self._pieces)


def can_be_written(value: str) -> bool:
    """Return whether a value can be written into a query. An empty value means series without the label."""
    return bool(value) and not UNPRINTED.search(value)


def narrowing(expr: str, label: str) -> Narrowing | None:
    """Return how to ask for one value of a label, or None if the samples may differ."""
    if len(expr) > LONGEST:
        return None
    found = Narrowing(label, selectors(expr))
    try:
        before, after = ast.parse(expr), ast.parse(found.to(_PROBE))
        added = frozenset(at for at, each in enumerate(equalities(after)) if each == (label, _PROBE))
        if _without(describe(after), label) != describe(before):
            return None
        proof = prove(after, added)
    except (ValueError, Unproven, RecursionError):
        return None
    return None if proof.clauses or proof.added or proof.fallback else found


def _without(tree: Any, label: str) -> Any:
    """Return a described tree without the first matcher of each selector, which must be the added one."""
    if isinstance(tree, tuple) and tree[:1] == ("selector",):
        kind, name, (first, *others), *rest = tree
        return None if first != (label, str(ast.MatchOp.Equal), _PROBE) else (kind, name, others, *rest)
    if isinstance(tree, tuple | list):
        return type(tree)(_without(each, label) for each in tree)
    return tree
