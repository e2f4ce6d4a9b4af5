"""promql-parser's nodes in the order of the text, and as values that can be compared.

Its nodes have neither positions nor equality. What can be counted in the text (equality matchers, aggregations,
`on` and `ignoring`) is therefore numbered in the order in which it stands there.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from itertools import count
from typing import Any, Final, TypeAlias

import promql_parser as ast


class Kind(Enum):
    """Of a list of labels in the text."""

    GROUPING = "aggregation"
    """`by` or `without`, also where an aggregation has neither."""
    MATCHING = "matching"
    """`on` or `ignoring`."""


Clause: TypeAlias = tuple[Kind, int]
"""The first, second, … of its kind, from 0."""

_NOTHING: Final[Mapping[Any, Any]] = {}


@dataclass(slots=True)
class Numbering:
    """The next number of each kind, taken by who walks a tree in the order of its text."""

    matchers: Iterator[int] = field(default_factory=count)
    clauses: Mapping[Kind, Iterator[int]] = field(default_factory=lambda: {kind: count() for kind in Kind})

    def clause(self, kind: Kind) -> Clause:
        """The next one of this kind."""
        return kind, next(self.clauses[kind])


def is_by(node: Any) -> bool:
    """Whether an aggregation names the labels that it keeps; one without a list keeps none."""
    return node.modifier is None or node.modifier.type == ast.AggModifierType.By


def grouping(node: Any) -> tuple[str, ...]:
    """The labels of an aggregation's list."""
    return tuple(node.modifier.labels) if node.modifier else ()


def describe(
    root: Any,
    patterns: Mapping[int, str] = _NOTHING,
    labels: Mapping[Clause, tuple[str, ...]] = _NOTHING,
) -> Any:
    """A tree as nested tuples: equal for equal trees.

    With `patterns`, the equality matchers of these numbers are described as if they were written `=~` with that
    pattern; with `labels`, these clauses as if they had that list.
    """
    return _Describer(patterns, labels).visit(root)


class _Describer:
    """Walks a tree in the order of its text."""

    def __init__(self, patterns: Mapping[int, str], labels: Mapping[Clause, tuple[str, ...]]) -> None:
        self.patterns = patterns
        self.labels = labels
        self.numbering = Numbering()

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
        pattern = self.patterns.get(next(self.numbering.matchers)) if matcher.op == ast.MatchOp.Equal else None
        if pattern is None:
            return matcher.name, str(matcher.op), matcher.value
        return matcher.name, str(ast.MatchOp.Re), pattern

    def _modifier(self, modifier: Any) -> Any:
        """How two sides are matched."""
        if modifier is None:
            return None
        listed, fill = None, modifier.fill_values
        if modifier.matching:
            listed = str(modifier.matching.type), self._list(Kind.MATCHING, tuple(modifier.matching.labels))
        filled = (fill.lhs, fill.rhs) if fill else None
        return str(modifier.card), modifier.return_bool, listed, modifier.group_labels, filled

    def _list(self, kind: Kind, written: tuple[str, ...]) -> tuple[str, ...]:
        return self.labels.get(self.numbering.clause(kind), written)


def equalities(root: Any) -> list[tuple[str, str]]:
    """Label and value of each equality matcher, in the order of the text."""
    found: list[tuple[str, str]] = []
    todo: list[Any] = [root]
    while todo:
        node = todo.pop()
        match node:
            case ast.MatrixSelector():
                todo.append(node.vector_selector)
            case ast.VectorSelector():
                equal = (each for each in node.matchers.matchers if each.op == ast.MatchOp.Equal)
                found += [(each.name, each.value) for each in equal]
            case ast.BinaryExpr():
                todo += (node.rhs, node.lhs)
            case ast.Call():
                todo += reversed(node.args)
            case ast.AggregateExpr():
                todo += (node.expr, node.param)
            case ast.ParenExpr() | ast.UnaryExpr() | ast.SubqueryExpr():
                todo.append(node.expr)
            case _:
                pass
    return found
