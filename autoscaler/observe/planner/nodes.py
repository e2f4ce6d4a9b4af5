"""promql-parser's nodes in the order of the text, as values that can be compared.

The nodes have neither positions nor equality. So equality matchers, aggregations, `on` and `ignoring` are numbered in
the order of the text.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from itertools import count
from typing import Any, Final, TypeAlias

import promql_parser as ast


class Kind(Enum):
    """The kind of a list of labels in the text."""

    GROUPING = "aggregation"
    """`by` or `without`, also for an aggregation without either."""
    MATCHING = "matching"
    """`on` or `ignoring`."""


Clause: TypeAlias = tuple[Kind, int]
"""The number of a list of labels among its kind, from 0."""

_NOTHING: Final[Mapping[Any, Any]] = {}


@dataclass(slots=True)
class Numbering:
    """Counters for a walk through a tree in the order of its text."""

    matchers: Iterator[int] = field(default_factory=count)
    clauses: Mapping[Kind, Iterator[int]] = field(default_factory=lambda: {kind: count() for kind in Kind})

    def clause(self, kind: Kind) -> Clause:
        """Return the next clause of this kind."""
        return kind, next(self.clauses[kind])


def is_by(node: Any) -> bool:
    """Return whether an aggregation names the labels that it keeps. Without a list it keeps none."""
    return node.modifier is None or node.modifier.type == ast.AggModifierType.By


def grouping(node: Any) -> tuple[str, ...]:
    """Return the labels of an aggregation's list."""
    return tuple(node.modifier.labels) if node.modifier else ()


def describe(
    root: Any,
    patterns: Mapping[int, str] = _NOTHING,
    labels: Mapping[Clause, tuple[str, ...]] = _NOTHING,
) -> Any:
    """Return a tree as nested tuples, equal for equal trees.

    With `patterns`, the equality matchers of these numbers appear as `=~` with that pattern. With `labels`, these
    clauses appear with that list.
    """
    return _Describer(patterns, labels).visit(root)


def equalities(root: Any) -> list[tuple[str, str]]:
    """Return label and value of each equality matcher, in the order of the text."""
    describer = _Describer(_NOTHING, _NOTHING)
    describer.visit(root)
    return describer.equalities


class _Describer:
    """Walks a tree in the order of its text."""

    def __init__(self, patterns: Mapping[int, str], labels: Mapping[Clause, tuple[str, ...]]) -> None:
        self.patterns = patterns
        self.labels = labels
        self.numbering = Numbering()
        self.equalities: list[tuple[str, str]] = []

    def visit(self, node: Any) -> Any:
        match node:
            case ast.VectorSelector():
                return self._selector(node)
            case ast.MatrixSelector():
                return "range", self._selector(node.vector_selector), node.range
            case ast.SubqueryExpr():
                return "subquery", self.visit(node.expr), node.range, node.step, node.offset, str(node.at)
            case ast.AggregateExpr():
                kept = self._list(Kind.GROUPING, grouping(node))
                param = None if node.param is None else self.visit(node.param)
                return "aggregation", str(node.op), is_by(node), kept, param, self.visit(node.expr)
            case ast.BinaryExpr():
                return "binary", str(node.op), self.visit(node.lhs), self._modifier(node.modifier), self.visit(node.rhs)
            case ast.Call():
                return "call", node.func.name, [self.visit(each) for each in node.args]
            case ast.ParenExpr() | ast.UnaryExpr():
                return type(node).__name__, self.visit(node.expr)
            case _:  # a number or a string
                return type(node).__name__, str(node)

    def _selector(self, node: Any) -> Any:
        found = [self._matcher(each) for each in node.matchers.matchers]
        others = [list(map(str, each)) for each in node.matchers.or_matchers]
        return "selector", node.name, found, others, node.offset, str(node.at)

    def _matcher(self, matcher: Any) -> Any:
        pattern = None
        if matcher.op == ast.MatchOp.Equal:
            pattern = self.patterns.get(next(self.numbering.matchers))
            self.equalities.append((matcher.name, matcher.value))
        if pattern is None:
            return matcher.name, str(matcher.op), matcher.value
        return matcher.name, str(ast.MatchOp.Re), pattern

    def _modifier(self, modifier: Any) -> Any:
        """Describe how two sides are matched."""
        if modifier is None:
            return None
        listed, fill = None, modifier.fill_values
        if modifier.matching:
            listed = str(modifier.matching.type), self._list(Kind.MATCHING, tuple(modifier.matching.labels))
        filled = (fill.lhs, fill.rhs) if fill else None
        return str(modifier.card), modifier.return_bool, listed, modifier.group_labels, filled

    def _list(self, kind: Kind, written: tuple[str, ...]) -> tuple[str, ...]:
        return self.labels.get(self.numbering.clause(kind), written)
