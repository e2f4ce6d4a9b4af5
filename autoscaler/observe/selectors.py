"""Extracts the selectors of an expression."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

import promql_parser as ast

from autoscaler.fields.kept_labels import label_text, quoted

_OPERATORS: Final = {"Equal": "=", "NotEqual": "!=", "Re": "=~", "NotRe": "!~"}
"""Names of promql-parser's operators, whose values cannot be hashed."""
NAME: Final = "__name__"


@dataclass(frozen=True, slots=True)
class Matcher:
    """One condition on a label."""

    label: str
    operator: str
    """As in PromQL."""
    value: str

    def __str__(self) -> str:
        return f"{label_text(self.label)}{self.operator}{quoted(self.value)}"


@dataclass(frozen=True, slots=True)
class Selector:
    """One selector of an expression, without its offset."""

    matchers: tuple[Matcher, ...]
    range: timedelta | None
    function: str | None
    """Name of the function that takes its range."""

    @property
    def name(self) -> str | None:
        """The metric's name, or None without one."""
        return next((each.value for each in self.matchers if each.label == NAME and each.operator == "="), None)

    @property
    def labels(self) -> Sequence[Matcher]:
        """The conditions other than the metric's name."""
        return [each for each in self.matchers if each.label != NAME]

    def __str__(self) -> str:
        return written(self.matchers)


def written(matchers: Sequence[Matcher]) -> str:
    """Format matchers for a query. Every name is allowed in quotes."""
    return "{" + ",".join(map(str, matchers)) + "}"


def selectors(expr: str) -> Sequence[Selector]:
    """Return an expression's selectors in order; none if it cannot be parsed."""
    try:
        root = ast.parse(expr)
    except ValueError:
        return ()
    return tuple(_walk(root))


def _walk(root: Any) -> Iterator[Selector]:
    todo: list[tuple[Any, str | None]] = [(root, None)]
    while todo:
        node, function = todo.pop()
        match node:
            case ast.VectorSelector():
                yield from _selector(node, None, None)
            case ast.MatrixSelector():
                yield from _selector(node.vector_selector, node.range, function)
            case ast.Call():
                todo += [(each, node.func.name) for each in reversed(node.args)]
            case ast.BinaryExpr():
                todo += ((node.rhs, None), (node.lhs, None))
            case ast.AggregateExpr():
                todo += ((node.expr, None), (node.param, None))
            case ast.ParenExpr() | ast.UnaryExpr() | ast.SubqueryExpr():
                todo.append((node.expr, function if isinstance(node, ast.ParenExpr) else None))
            case _:
                pass


def _selector(node: Any, span: timedelta | None, function: str | None) -> Iterator[Selector]:
    if node.matchers.or_matchers:  # an extension of VictoriaMetrics
        return
    named = [] if node.name is None else [Matcher(NAME, "=", node.name)]
    yield Selector((*named, *map(matcher_of, node.matchers.matchers)), span, function)


def matcher_of(node: Any) -> Matcher:
    """Return a matcher that promql-parser has read."""
    return Matcher(node.name, _OPERATORS[str(node.op).rpartition(".")[2]], node.value)
