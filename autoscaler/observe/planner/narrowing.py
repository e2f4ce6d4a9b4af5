"""One expression for all of a label's values, as one for each of them: the way back from a merged query.

What `proof.py` proves of `L="v"` in every selector holds without a matcher as well, where the samples carry L as they
are written: those of each v are made of series that carry it, and never meet others. So the expression with `L="v"`
gives exactly the samples with that L which it gives without.
"""

from typing import Any, Final

import promql_parser as ast

from autoscaler.observe.planner.nodes import describe, equalities
from autoscaler.observe.planner.proof import prove
from autoscaler.observe.planner.reading import UNPRINTED
from autoscaler.observe.planner.rewrite import LONGEST, quoted
from autoscaler.observe.planner.tagged import Unproven
from autoscaler.observe.planner.tokens import selectors

_PROBE: Final = "a value that nobody has"


class Narrowing:
    """An expression that can be asked for one value of a label."""

    def __init__(self, label: str, pieces: tuple[str, ...]) -> None:
        """`pieces`: its text around the places for a matcher."""
        self.label = label
        self._pieces = pieces

    def to(self, value: str) -> str:
        """It for this value, which `can_be_written`."""
        return f"{self.label}={quoted(value)}".join(self._pieces)


def can_be_written(value: str) -> bool:
    """Whether a value may stand in a query of ours. The empty one stands for series without the label."""
    return bool(value) and not UNPRINTED.search(value)


def narrowing(expr: str, label: str) -> Narrowing | None:
    """How to ask for the samples with one value of a label; None: they are not known to be the same."""
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
    """A described tree without the first matcher of each selector, which must be ours."""
    if isinstance(tree, tuple) and tree[:1] == ("selector",):
        kind, name, (first, *others), *rest = tree
        return None if first != (label, str(ast.MatchOp.Equal), _PROBE) else (kind, name, others, *rest)
    if isinstance(tree, tuple | list):
        return type(tree)(_without(each, label) for each in tree)
    return tree
