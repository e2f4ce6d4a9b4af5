"""PromQL, offline: syntax, result type, ranges.

promql-parser knows Prometheus 3's functions, not all of its grammar (durations that are computed, `smoothed`). What it
does not know is an error only where it is one in every Prometheus (`promql_errors.py`); else nothing is known of the
expression, and only the server can say. The function that Prometheus 2 has under another name is taught to it. What
parsing costs grows with the operators of an expression times its length: hence the bounds, on one expression and on
all of a file.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any, Final

import promql_parser as ast

from autoscaler.config.kept_labels import kept_labels
from autoscaler.config.promql_errors import check_brackets, error_in, lexed, packed
from autoscaler.target import LONGEST

DEFAULT_WINDOW: Final = timedelta(seconds=60)
MAX_LENGTH: Final = 65_536
"""Characters. Most of a long expression are names in quotes, which cost next to nothing."""
MAX_BARE_LENGTH: Final = 8192
"""Characters outside of quotes and comments."""
MAX_OPERATORS: Final = 500
"""Operators and commas outside of quotes."""
MAX_EFFORT: Final = 5 * 10**7
"""Of a file's expressions: operators and brackets times characters, 50 to 100 ns each. Ten thousand usual ones take a
third of it."""

_SEARCH_EFFORT: Final = 30
"""For each character of an expression that promql-parser refuses. Where too much would be needed, nothing is found."""

_RENAMED: Final = ast.Function(  # to double_exponential_smoothing, by Prometheus 3.0's changelog
    "holt_winters", [ast.ValueType.Matrix, ast.ValueType.Scalar, ast.ValueType.Scalar], ast.ValueType.Vector
)
ast.register_extra_functions([_RENAMED])

_OPERATOR: Final = re.compile(r"[-+*/%^<>=!,]|\b(?:and|or|unless|atan2)\b", re.IGNORECASE)
_UNITLESS: Final = re.compile(
    r"(?:\[\s*(?:[\w.\s]*:)?|(?<![\w:])offset\b)\s*[-+]?\s*"
    r"(?P<number>nan|inf|0x[0-9a-f]+|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[-+]?[0-9]+)?)(?![\w.])",
    re.IGNORECASE,
)
"""A number where Prometheus 2 reads only a duration."""
_TOO_LONG: Final = "the expression has a range of more than 100 years; correct it"
_SHOWN: Final = 200
"""Characters of what the parser says: it quotes the expression."""


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
    labels: frozenset[str] | None = None
    """All that its samples may carry; None: any, as far as is known."""
    unknown: str | None = None
    """Why its syntax is not known here, and what to do, so that nothing else is known of it; None: it is known."""


def parse(text: str) -> Expression:
    """The checked expression. Raises ValueError that says what is wrong and what to do."""
    return Parser().parse(text)


@dataclass(slots=True)
class Parser:
    """Checks the expressions of one file, each once, and together no longer than for seconds."""

    _known: dict[str, Expression | str] = field(default_factory=dict)
    """Text -> what it comes to, or what is wrong with it."""
    has_unknown: bool = False
    """Whether the syntax of one of them is not known here."""
    _effort: int = 0

    def parse(self, text: str) -> Expression:
        """The checked expression. Raises ValueError that says what is wrong and what to do."""
        known = self._known.get(text)
        if known is None:
            try:
                known = self._parse(text)
                self.has_unknown |= known.unknown is not None
            except ValueError as error:
                known = str(error)
            self._known[text] = known
        if isinstance(known, str):
            raise ValueError(known)
        return known

    def _parse(self, text: str) -> Expression:
        if len(text) > MAX_LENGTH:
            raise ValueError(_too_much(f"{len(text):,} characters", f"{MAX_LENGTH:,}"))
        masked, bare = lexed(text)
        self._bound(masked, bare)
        check_brackets(text, masked)
        unitless = [found["number"] for found in _UNITLESS.finditer(masked)]
        if not all(_seconds(number) < LONGEST.total_seconds() for number in unitless):  # it would panic
            raise ValueError(_TOO_LONG)
        try:
            root = ast.parse(bare)
        except ValueError as error:
            short = packed(masked)
            effort = _SEARCH_EFFORT * len(short)
            if self._effort + effort <= MAX_EFFORT:
                self._effort += effort
                if wrong := error_in(text, masked, short, str(error)):
                    raise wrong from None
            return _not_known(text, str(error))
        _check_result(root)
        ranged = [each for each in _walk(root) if isinstance(each, ast.MatrixSelector | ast.SubqueryExpr)]
        window = max((each.range or DEFAULT_WINDOW for each in ranged), default=DEFAULT_WINDOW)
        if window > LONGEST:
            raise ValueError(_TOO_LONG)
        plain = isinstance(root, ast.VectorSelector) and root.offset is None and root.at is None
        known = Expression(text, window, plain, _is_scalar(root), kept_labels(root, _is_scalar))
        return replace(known, unknown=_only_seconds(unitless[0])) if unitless else known

    def _bound(self, masked: str, bare: str) -> None:
        """Raises ValueError where reading it would take too long."""
        outside = re.sub(r"""(["'`])\.*\1""", "", masked)
        if len(outside) > MAX_BARE_LENGTH:
            found = f"{len(outside):,} characters outside of quotes"
            raise ValueError(_too_much(found, f"{MAX_BARE_LENGTH:,}"))
        operators = len(_OPERATOR.findall(outside))
        if operators > MAX_OPERATORS:
            raise ValueError(_too_much(f"{operators:,} operators and commas", f"{MAX_OPERATORS:,}"))
        self._effort += (operators + outside.count("(") + outside.count("[")) * len(bare)
        if self._effort > MAX_EFFORT:
            raise ValueError(
                "the file's expressions are together too complex to be checked from here on; record the longest by "
                "rules in Prometheus, or split the file"
            )


def _not_known(text: str, said: str) -> Expression:
    shown = " ".join(said[: 2 * _SHOWN].split())
    shown = shown if len(shown) <= _SHOWN else shown[:_SHOWN] + "…"
    why = f"its syntax is not known here ({shown}), but may be to a newer Prometheus; `autoscaler check --live` asks it"
    return Expression(text, DEFAULT_WINDOW, plain=False, scalar=False, unknown=why)


def _seconds(number: str) -> float:
    return int(number, 16) if number[:2].lower() == "0x" else float(number)


def _only_seconds(number: str) -> str:
    return (
        f"{number} stands for a duration without a unit, which Prometheus 2 refuses and Prometheus 3 reads as seconds; "
        f"write {number}s"
    )


def _too_much(found: str, most: str) -> str:
    return f"the expression has {found}, and {most} is the most; record it by a rule in Prometheus and query that"


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
