"""PromQL, offline: syntax, result type, ranges.

promql-parser knows Prometheus 3's functions, not its experimental grammar (durations that are computed). The one that
Prometheus 2 has under another name is taught to it, so that which of the two is asked is the server's business. What
parsing costs grows with the square of the expression, and the parser's stack is finite, hence the bounds.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

import promql_parser as ast

from autoscaler.target import LONGEST

DEFAULT_WINDOW: Final = timedelta(seconds=60)
MAX_LENGTH: Final = 8192
"""Characters outside of quotes."""
MAX_NESTING: Final = 100

_RENAMED: Final = ast.Function(  # to double_exponential_smoothing, by Prometheus 3.0's changelog
    "holt_winters", [ast.ValueType.Matrix, ast.ValueType.Scalar, ast.ValueType.Scalar], ast.ValueType.Vector
)
ast.register_extra_functions([_RENAMED])

_QUOTED: Final = re.compile(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'|`[^`]*`', re.DOTALL)


@dataclass(frozen=True, slots=True)
class Expression:
    """A checked expression that comes back as a vector or a scalar."""

    text: str
    window: timedelta
    """The longest range in it; 60 s without one."""
    plain: bool
    """Whether it is one selector and nothing else, so that `timestamp()` of it tells its samples' age."""
    scalar: bool
    """Whether it comes back as one number without labels."""


def parse(text: str) -> Expression:
    """The checked expression. Raises ValueError that says what is wrong and what to do."""
    _bound(text)
    try:
        root = ast.parse(text)
    except ValueError as error:
        raise ValueError(f"invalid PromQL: {' '.join(str(error).split())}; correct the expression") from None
    _check_result(root)
    ranged = [each for each in _walk(root) if isinstance(each, ast.MatrixSelector | ast.SubqueryExpr)]
    window = max((each.range or DEFAULT_WINDOW for each in ranged), default=DEFAULT_WINDOW)
    if window > LONGEST:
        raise ValueError("the expression has a range of more than 100 years; correct it")
    plain = isinstance(root, ast.VectorSelector) and root.offset is None and root.at is None
    return Expression(text, window, plain, _is_scalar(root))


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


def _is_scalar(root: Any) -> bool:
    """By PromQL's types: arithmetic on scalars is a scalar, with a vector it is a vector."""
    todo = [root]
    while todo:  # a sum of a thousand numbers nests a thousand deep
        match node := todo.pop():
            case ast.ParenExpr() | ast.UnaryExpr():
                todo.append(node.expr)
            case ast.BinaryExpr():
                todo += (node.lhs, node.rhs)
            case ast.NumberLiteral():
                pass
            case ast.Call() if node.func.return_type == ast.ValueType.Scalar:
                pass
            case _:
                return False
    return True


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
