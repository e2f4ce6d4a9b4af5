"""PromQL, offline: syntax, result type, ranges.

promql-parser knows Prometheus 3's functions, not its experimental grammar (durations that are computed). What it costs
grows with the square of the expression, and its stack is finite, hence the bounds.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

import promql_parser as ast

DEFAULT_WINDOW: Final = timedelta(seconds=60)
MAX_LENGTH: Final = 8192
"""Characters outside of quotes."""
MAX_NESTING: Final = 100

_QUOTED: Final = re.compile(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'|`[^`]*`', re.DOTALL)


@dataclass(frozen=True, slots=True)
class Expression:
    """A checked expression that comes back as a vector or a scalar."""

    text: str
    window: timedelta
    """The longest range in it; 60 s without one."""
    plain: bool
    """Whether it is one selector and nothing else, so that `timestamp()` of it tells its samples' age."""


def parse(text: str) -> Expression:
    """The checked expression. Raises ValueError that says what is wrong and what to do."""
    _bound(text)
    try:
        root = ast.parse(text)
    except ValueError as error:
        raise ValueError(f"no valid PromQL: {' '.join(str(error).split())}; correct the expression") from None
    _check_result(root)
    ranged = [each for each in _walk(root) if isinstance(each, ast.MatrixSelector | ast.SubqueryExpr)]
    window = max((each.range or DEFAULT_WINDOW for each in ranged), default=DEFAULT_WINDOW)
    plain = isinstance(root, ast.VectorSelector) and root.offset is None and root.at is None
    return Expression(text, window, plain)


def _bound(text: str) -> None:
    bare = _QUOTED.sub("", text)
    if len(bare) > MAX_LENGTH:
        raise ValueError(f"the expression is longer than {MAX_LENGTH} characters; record it by a rule in Prometheus")
    if sum(map(bare.count, "([{")) <= MAX_NESTING:
        return
    depth = 0
    for character in bare:
        depth += (character in "([{") - (character in ")]}")
        if depth > MAX_NESTING:
            raise ValueError(f"the expression nests deeper than {MAX_NESTING} brackets; simplify it")


def _check_result(root: Any) -> None:
    result = root
    while isinstance(result, ast.ParenExpr):
        result = result.expr
    if isinstance(result, ast.MatrixSelector | ast.SubqueryExpr):
        raise ValueError(
            "the expression is a range of samples, not one value each; wrap it in a function such as rate(…)"
        )
    if isinstance(result, ast.StringLiteral):
        raise ValueError("the expression is a string, not a number; write a selector or a function of one")


def _walk(root: Any) -> Iterator[Any]:
    """Every node. promql-parser's own walk() copies a node's whole subtree at each step."""
    todo = [root]
    while todo:
        node = todo.pop()
        yield node
        match node:
            case ast.BinaryExpr():
                todo += (node.lhs, node.rhs)
            case ast.Call():
                todo += node.args
            case ast.AggregateExpr():
                todo += (node.expr, node.param)
            case ast.ParenExpr() | ast.UnaryExpr() | ast.SubqueryExpr():
                todo.append(node.expr)
            case _:
                pass
