"""PromQL, offline: syntax, result type, ranges.

promql-parser knows Prometheus 3's functions, not all of its grammar (durations that are computed, `smoothed`). What it
does not know is an error only where it is one in every Prometheus (`promql_errors.py`); else nothing is known of the
expression, and only the server can say. The function that Prometheus 2 has under another name is taught to it. What
parsing costs grows with the operators of an expression times its length, a regular expression may take as long as a
thousand others, and the parser's stack is finite: hence the bounds, on one expression and on all of a file.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final

import promql_parser as ast

from autoscaler.config.kept_labels import kept_labels
from autoscaler.config.promql_errors import MOST_TRIED, error_in, error_in_regex
from autoscaler.target import LONGEST

DEFAULT_WINDOW: Final = timedelta(seconds=60)
MAX_LENGTH: Final = 65_536
"""Characters. Most of a long expression are names in quotes, which cost next to nothing."""
MAX_BARE_LENGTH: Final = 8192
"""Characters outside of quotes and comments."""
MAX_OPERATORS: Final = 500
"""Operators and commas outside of quotes."""
MAX_NESTING: Final = 100
MAX_EFFORT: Final = 5 * 10**7
"""Of a file's expressions: operators and brackets times characters, 50 to 100 ns each. Ten thousand usual ones take a
third of it."""
MAX_REGEX_EFFORT: Final = 10_000
"""Of one regular expression, in characters, about 1 us each; those that take longer are left to Prometheus."""
MAX_REGEXES_EFFORT: Final = 2_000_000
"""Of all of a file; the others are left to Prometheus."""

_RENAMED: Final = ast.Function(  # to double_exponential_smoothing, by Prometheus 3.0's changelog
    "holt_winters", [ast.ValueType.Matrix, ast.ValueType.Scalar, ast.ValueType.Scalar], ast.ValueType.Vector
)
ast.register_extra_functions([_RENAMED])

_QUOTED_OR_COMMENT: Final = re.compile(  # what does not end ends with the text, if need be in half an escape
    r"""((?:=~|!~)\s*)?("(?:\\.|[^"\\])*+(?:"|\\?\Z)|'(?:\\.|[^'\\])*+(?:'|\\?\Z)|`[^`]*+(?:`|\Z))|#[^\n]*""",
    re.DOTALL,
)
_OPERATOR: Final = re.compile(r"[-+*/%^<>=!,]|\b(?:and|or|unless|atan2)\b", re.IGNORECASE)
_SHORT: Final = 64
"""A text in quotes that is longer is not looked at."""
_SIMPLE_REGEX: Final = 8
_WIDE_CLASS: Final = re.compile(r"\\[pPwWdDsS]")
"""Of Unicode: each becomes a machine of hundreds of states."""
_WIDE_CLASS_EFFORT: Final = 210
_SHOWN: Final = 200
"""Characters of what the parser says: it quotes the expression."""
_REGEX_SAID: Final = "illegal regex"


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
    _regexes: dict[str, str | None] = field(default_factory=dict)
    """Regular expression in its quotes -> what is wrong with it."""
    has_unknown: bool = False
    """Whether the syntax of one of them is not known here."""
    _effort: int = 0
    _regex_effort: int = 0

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
        regexes: list[str] = []
        bare = _bare(text, regexes)
        effort = self._bound(bare)
        try:
            root = ast.parse(bare)
        except ValueError as error:
            return self._unknown(text, bare, str(error), effort)
        for regex in regexes:
            if said := self._wrong_with(regex):
                return _unknown_regex(text, said)
        _check_result(root)
        ranged = [each for each in _walk(root) if isinstance(each, ast.MatrixSelector | ast.SubqueryExpr)]
        window = max((each.range or DEFAULT_WINDOW for each in ranged), default=DEFAULT_WINDOW)
        if window > LONGEST:
            raise ValueError("the expression has a range of more than 100 years; correct it")
        plain = isinstance(root, ast.VectorSelector) and root.offset is None and root.at is None
        return Expression(text, window, plain, _is_scalar(root), kept_labels(root, _is_scalar))

    def _unknown(self, text: str, bare: str, said: str, effort: int) -> Expression:
        """Raises ValueError for what is surely an error. `effort`: what it took to read it."""
        if said.startswith(_REGEX_SAID):
            return _unknown_regex(text, said)
        search = self._effort + MOST_TRIED * effort <= MAX_EFFORT
        self._effort += MOST_TRIED * effort if search else 0
        if wrong := error_in(text, bare, said, search=search):
            raise ValueError(f"invalid PromQL: {wrong}")
        return _not_known(text, said)

    def _bound(self, bare: str) -> int:
        """What reading it will take. Raises ValueError where that is too much."""
        without_texts = _QUOTED_OR_COMMENT.sub("", bare)
        if len(without_texts) > MAX_BARE_LENGTH:
            found = f"{len(without_texts):,} characters outside of quotes"
            raise ValueError(_too_much(found, f"{MAX_BARE_LENGTH:,}"))
        operators = len(_OPERATOR.findall(without_texts))
        if operators > MAX_OPERATORS:
            raise ValueError(_too_much(f"{operators:,} operators and commas", f"{MAX_OPERATORS:,}"))
        _check_nesting(without_texts)
        effort = (operators + without_texts.count("(") + without_texts.count("[")) * len(bare)
        self._effort += effort
        if self._effort > MAX_EFFORT:
            raise ValueError(
                "the file's expressions are together too complex to be checked from here on; record the longest by "
                "rules in Prometheus, or split the file"
            )
        return effort

    def _wrong_with(self, regex: str) -> str | None:
        """None also where it would take too long to find out: Prometheus will say."""
        if regex not in self._regexes:
            effort = len(regex) + 20 * regex.count(".") + _WIDE_CLASS_EFFORT * len(_WIDE_CLASS.findall(regex))
            if "{" in regex or effort > MAX_REGEX_EFFORT or self._regex_effort + effort > MAX_REGEXES_EFFORT:
                return None
            self._regex_effort += effort
            self._regexes[regex] = None
            try:
                ast.parse(f"x{{x=~{regex}}}")
            except ValueError as error:
                self._regexes[regex] = str(error)
        return self._regexes[regex]


def _bare(text: str, regexes: list[str]) -> str:
    """The text with a letter in place of long texts and of regular expressions, which are added to `regexes`."""

    def shorten(found: re.Match[str]) -> str:
        matches, quoted = found[1], found[2]
        if quoted is None:
            return ""  # a comment
        if quoted[-1:] != quoted[0] or len(quoted) == 1:  # it does not end, which the parser will say
            return f"{matches or ''}{quoted[:_SHORT]}"
        if matches and len(quoted) > _SIMPLE_REGEX:
            regexes.append(quoted)
            return f'{matches}"x"'
        return f'{matches or ""}"x"' if len(quoted) > _SHORT else found[0]

    return _QUOTED_OR_COMMENT.sub(shorten, text)


def _unknown_regex(text: str, said: str) -> Expression:
    """Raises ValueError for a text with a regular expression that is surely wrong."""
    for found in _QUOTED_OR_COMMENT.finditer(text):
        if found[1] and (wrong := error_in_regex(text, found[2], found.start(2))):
            raise ValueError(f"invalid PromQL: {wrong}")
    return _not_known(text, said)


def _not_known(text: str, said: str) -> Expression:
    shown = " ".join(said[: 2 * _SHOWN].split())
    shown = shown if len(shown) <= _SHOWN else shown[:_SHOWN] + "…"
    why = f"its syntax is not known here ({shown}), but may be to a newer Prometheus; `autoscaler check --live` asks it"
    return Expression(text, DEFAULT_WINDOW, plain=False, scalar=False, unknown=why)


def _too_much(found: str, most: str) -> str:
    return f"the expression has {found}, and {most} is the most; record it by a rule in Prometheus and query that"


def _check_nesting(bare: str) -> None:
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
