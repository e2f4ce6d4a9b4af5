"""Checks PromQL offline with promql-parser.

Newer versions of Prometheus, and other servers, accept more than promql-parser does. So an expression is `refused` if
promql-parser says what is wrong with it, or if an operator or an operand is missing. It is only `unknown` if
promql-parser fails to read it otherwise. `run` sends both as they are; `check` reports the refused ones as errors. What
no server can answer usefully, such as a range of samples, is a ValueError. Quoted texts, such as regular expressions,
are not checked.

The time of promql-parser grows with the square of the number of operators, and its stack with that number. Therefore
an expression and a file have limits.
"""

import re
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final

import promql_parser as ast

from autoscaler.fields.go_regexes import matches_empty
from autoscaler.fields.kept_labels import samples_of
from autoscaler.fields.promql_functions import near_function
from autoscaler.quantity import parse_duration
from autoscaler.target import MAX_DURATION

DEFAULT_WINDOW: Final = timedelta(seconds=60)
MAX_LENGTH: Final = 65_536
"""Characters of an expression. A long one is mostly quoted text, which takes almost no time."""
MAX_OPERATORS: Final = 1000
"""Operators and opening brackets of an expression. This number takes 2 MiB of a stack of 8 MiB."""
MAX_NESTING: Final = 100
"""Nested brackets."""
MAX_EFFORT: Final = 2 * 10**7
"""The sum, over a file's expressions, of the square of the operators: 100 to 250 ns each."""

_TEXT: Final = re.compile(
    r"""(?P<quoted>"(?:\\[^\n]|[^"\\\n])*+"|'(?:\\[^\n]|[^'\\\n])*+'|`[^`]*+`)|(?P<comment>\#[^\n]*+)|["'`]"""
)
_WORD: Final = re.compile(r"[\w.:/-]{0,64}")
"""A quoted text that may be a label. Others are masked, because regular expressions take long and differ from Go's."""
_NAMELESS: Final = re.compile(r"(?:^|[^\w:\s]|\b(?:and|or|unless|bool|atan2))\s*\{", re.IGNORECASE)
"""A selector without a name may begin here."""
_ESCAPED: Final = re.compile(r"\\(.)", re.DOTALL)
_WRONG_ESCAPE: Final = re.compile(r"""(?:[^\\]|\\[abfnrtvxuU0-7"'\\])*+(?P<escape>\\.)""", re.DOTALL)
_OPERATOR: Final = re.compile(r"[-+*/%^<>=!(\[]|\b(?:and|or|unless|atan2)\b", re.IGNORECASE)
_CLOSING: Final = {"(": ")", "[": "]", "{": "}"}
_RANGE: Final = re.compile(r"\[\s*(\w+)")
_UNITLESS: Final = re.compile(
    r"(?:\[\s*(?:[\w.\s]*:)?|(?<![\w:])offset\b)\s*[-+]?\s*"
    r"(?P<number>nan|inf|0x[0-9a-f]+|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[-+]?[0-9]+)?)(?![\w.])",
    re.IGNORECASE,
)
"""A number instead of a duration. promql-parser reads it as seconds, and panics if it is large."""
_INVALID: Final = "invalid promql query"
"""The message of promql-parser for a syntax that it does not know."""
_NOT_READ: Final = re.compile(
    rf"{_INVALID}|illegal regex .*|unknown function .*"
    r"|bad number or duration syntax: (?:0x[0-9a-f]*|[0-9]*\.?[0-9]*(?:e[-+]?[0-9]*)?)_.*"
    r"|unexpected character (?:inside brackets|after '.'): '[^$]'",
    re.DOTALL | re.IGNORECASE,
)
"""The messages of promql-parser for expressions that may have the syntax of a newer Prometheus."""
_EMPTY: Final = "no expression"
"""Beginning of promql-parser's message for an expression without any, which no server answers."""
_REMEDIES: Final = {
    _EMPTY: "write one",
    "unexpected identifier": "write the value in quotes",
    "'$'": "write the value of Grafana's variable",
    "in call to": "correct the arguments",
    "duration": "write one such as 30s, 5m or 1h30m",
}
_OR_MATCHERS: Final = re.compile(r"\{[^{}]*\"\"\s*or\b", re.IGNORECASE)
"""MetricsQL's `{a="b" or c="d"}`, in a text without its quoted parts. Prometheus refuses it."""
_OWN_SYNTAX: Final = re.compile(r"\b(?:with|info)\s*\(", re.IGNORECASE)
"""MetricsQL's templates and Prometheus 3's info(), whose rules promql-parser does not know."""
_UNBRACKETED: Final = re.compile(
    r"(?<![\w:.])(?:sum|min|max|avg|group|stddev|stdvar|count|count_values|bottomk|topk|quantile)\s+"
    r"(?P<word>by|without)\b\s*+(?P<label>[a-z_]\w*)",
    re.IGNORECASE,
)
"""Labels without brackets, which no server reads. promql-parser says only that it fails."""
_KEYWORDS: Final = re.compile(
    r"and|or|unless|atan2|by|without|on|ignoring|group_left|group_right|bool|offset|anchored|smoothed|fill(?:_left|_right)?"
    r"|default|if|ifnot|keep_metric_names|limit|prefix",
    re.IGNORECASE,
)
"""Words that may stand behind an operand: those of Prometheus 3, then those that only MetricsQL has."""
_INSIDE: Final = re.compile(
    r"\b(?:on|ignoring|group_left|group_right|fill|fill_left|fill_right)\s*\([^()]*\)|\{[^{}]*(?=\})|\[[^\[\]]*(?=\])",
    re.IGNORECASE,
)
"""Labels after which an operand stands, and the content of matchers and ranges."""
_SIDE_BY_SIDE: Final = re.compile(r"(?P<before>(?<![\w:.])[\w:.]++(?=\s)|[)\]}])\s*+(?=(?P<after>[\w:.]+))")
"""A word or number behind an operand, in a text without what is inside."""
_UNFINISHED: Final = re.compile(r"[^(,\s]\s*+(?P<operator>[-+*/%^<>=!]+)\s*+(?:[),]|$)")
"""An operator without a second operand. `(*)` is one of MetricsQL's lists of labels."""
_TOO_LONG: Final = "the expression has a range of more than 100 years; shorten it"
_SHOWN: Final = 200
"""Characters of promql-parser's message, which may quote the expression."""

ast.register_extra_functions(  # promql-parser knows only its name in Prometheus 3, double_exponential_smoothing
    [
        ast.Function(
            "holt_winters", [ast.ValueType.Matrix, ast.ValueType.Scalar, ast.ValueType.Scalar], ast.ValueType.Vector
        )
    ]
)


@dataclass(frozen=True, slots=True)
class Expression:
    """A checked expression that gives a vector or a scalar."""

    text: str
    window: timedelta = DEFAULT_WINDOW
    """The longest range in it; 60 s without one."""
    plain: bool = False
    """Whether it is only a selector, so that its `timestamp()` is the time of its samples."""
    scalar: bool = False
    """Whether it gives one number without labels."""
    labels: frozenset[str] | None = None
    """All labels that its samples can have; None: unknown."""
    unknown: str | None = None
    """Why only Prometheus can check it, and the remedy; None: it is valid."""
    refused: str | None = None
    """The error, if promql-parser says what is wrong with it. It is then `unknown`, too: another server may know it."""


class _RefusedError(ValueError):
    """The expression is no PromQL that promql-parser knows."""


def parse(text: str) -> Expression:
    """The checked expression. Raises ValueError that says what is wrong and what to do."""
    return Parser().parse(text)


@dataclass(slots=True)
class Parser:
    """Checks the expressions of one file, each once, within a limited time."""

    _known: dict[str, Expression | str] = field(default_factory=dict)
    """Text -> the expression, or the error."""
    has_unknown: bool = False
    """Whether one of them has `unknown`."""
    _effort: int = 0

    def parse(self, text: str) -> Expression:
        """The checked expression. Raises ValueError that says what is wrong and what to do."""
        known = self._known.get(text)
        if known is None:
            try:
                known = self._parse(text)
            except _RefusedError as error:
                sent = f"{error}; it is sent as it is, because its server may know it"
                known = Expression(text, unknown=sent, refused=str(error))
            except ValueError as error:
                known = str(error)
            self.has_unknown |= isinstance(known, Expression) and known.unknown is not None
            self._known[text] = known
        if isinstance(known, str):
            raise ValueError(known)
        return known

    def _parse(self, text: str) -> Expression:
        _limit("characters", len(text), MAX_LENGTH)
        masked = _masked(text)
        bare = _TEXT.sub('""', masked)
        operators = len(_OPERATOR.findall(bare))
        _limit("operators and brackets", operators, MAX_OPERATORS)
        _check_brackets(text, masked)
        self._effort += operators**2
        if self._effort > MAX_EFFORT:
            raise ValueError(
                "the expressions of the file are too complex in total; record the longest with recording rules, or "
                "split the file"
            )
        numbers = [found["number"] for found in _UNITLESS.finditer(bare)]
        if not all(_seconds(number) < MAX_DURATION.total_seconds() for number in numbers):
            raise ValueError(_TOO_LONG)
        if _OR_MATCHERS.search(bare):
            remedy = "only VictoriaMetrics has it; combine two selectors with or"
            raise _wrong(text, None, "unexpected `or` between matchers", remedy)
        if found := _UNBRACKETED.search(masked):
            word, label = found["word"].lower(), found["label"]
            remedy = f"write the labels in brackets, as in {word} ({label})"
            raise _wrong(text, found.start("label"), f"unexpected {label!r} after {word}", remedy)
        try:
            root = ast.parse(masked)
        except ValueError as error:
            return _refused(text, masked, str(error))
        return _expression(text, masked, root, numbers)


def _limit(what: str, found: int, most: int) -> None:
    if found > most:
        raise ValueError(
            f"the expression has {found:,} {what}, and the limit is {most:,}; record it with a recording rule, and "
            "query that"
        )


def _seconds(number: str) -> float:
    return int(number, 16) if number[:2].lower() == "0x" else float(number)


def _masked(text: str) -> str:
    """Return the text with spaces for comments, and the same letters for quoted texts that are no words.

    A selector without a name needs a matcher that does not match the empty value. So there, a quoted text that matches
    it as a regular expression becomes another one that does.
    """
    nameless = _NAMELESS.search(text) is not None

    def mask(found: re.Match[str]) -> str:
        if found["comment"]:
            return " " * len(found[0])
        if not found["quoted"]:
            raise _wrong(text, found.start(), f"unterminated quoted string {found[0]}", "close it")
        quote, inner = found[0][0], found[0][1:-1]
        if quote != "`" and (wrong := _WRONG_ESCAPE.match(inner)):
            escape, start = wrong["escape"], found.start() + 1 + wrong.start("escape")
            raise _wrong(text, start, f"unknown escape sequence {escape}", f"write \\{escape}, or use backquotes")
        if _WORD.fullmatch(inner):
            return found[0]
        letter = "|" if nameless and matches_empty(inner if quote == "`" else _ESCAPED.sub(r"\1", inner)) else "x"
        return f"{quote}{letter * len(inner)}{quote}"

    return _TEXT.sub(mask, text)


def _check_brackets(text: str, masked: str) -> None:
    """Raise ValueError for an unclosed or unopened bracket, and for too many nested ones."""
    still_open: list[re.Match[str]] = []
    for found in re.finditer(r"[()\[\]{}]", masked):
        if found[0] in _CLOSING:
            still_open.append(found)
            if len(still_open) > MAX_NESTING:
                raise ValueError(f"the expression nests more than {MAX_NESTING} brackets; simplify it")
        elif not still_open or _CLOSING[still_open.pop()[0]] != found[0]:
            raise _wrong(text, found.start(), f"unexpected {found[0]!r}", "correct the brackets")
    if still_open:
        raise _wrong(text, still_open[-1].start(), f"unclosed {still_open[-1][0]!r}", "close it")


def _refused(text: str, masked: str, said: str) -> Expression:
    """Return an expression that promql-parser fails to read, with the words `said`.

    Raises ValueError if they say what is wrong.
    """
    said = said if len(said) <= _SHOWN else f"{said[:_SHOWN]}…"
    if said == _INVALID and not _OWN_SYNTAX.search(masked):
        _refuse_operands(text, masked)
    name = re.search(r"'(.+?)'", said, re.DOTALL)
    near = near_function(name[1]) if name and said.startswith("unknown function") else None
    if (near is None and _NOT_READ.fullmatch(said)) or _OWN_SYNTAX.search(masked):
        why = f"the offline parser cannot read it ({said}), but Prometheus may"
        return Expression(text, unknown=f"{why}; run `autoscaler check --live` to ask Prometheus")
    places = [found.start() for found in re.finditer(re.escape(name[1]), masked)] if name else []
    remedy = next((remedy for part, remedy in _REMEDIES.items() if part in said), None)
    remedy = f"did you mean `{near}`?" if near else remedy
    raise _wrong(text, places[0] if len(places) == 1 else None, said, remedy)


def _refuse_operands(text: str, masked: str) -> None:
    """Raise ValueError for two operands without an operator, and for an operator without its second one.

    promql-parser says no more of them than of newer syntax. No server reads them, whichever functions it has.
    """
    bare = _INSIDE.sub(lambda found: " " * len(found[0]), masked)
    for found in _SIDE_BY_SIDE.finditer(bare):
        before, after = found["before"], found["after"]
        if not (_KEYWORDS.fullmatch(before) or _KEYWORDS.fullmatch(after)):
            said = f"unexpected {after[:64]!r} after {before[-64:]!r}, expected an operator or brackets"
            raise _wrong(text, found.start("after"), said, None)
    if unfinished := _UNFINISHED.search(bare):
        said = f"nothing stands behind {unfinished['operator'][:64]!r}"
        raise _wrong(text, unfinished.start("operator"), said, None)


def _wrong(text: str, start: int | None, said: str, remedy: str | None) -> ValueError:
    """Return the error. `start`: its place in `text`; None: unknown."""
    kind = ValueError if said.startswith(_EMPTY) else _RefusedError
    where = ""
    if start is not None:
        line, character = text.count("\n", 0, start) + 1, start - text.rfind("\n", 0, start)
        where = f" at line {line}, character {character}" if "\n" in text.strip() else f" at character {character}"
    return kind(f"invalid PromQL{where}: {said}" + (f"; {remedy}" if remedy else ""))


def _expression(text: str, masked: str, root: Any, numbers: list[str]) -> Expression:
    """Return what is known of a parsed expression. `numbers`: those instead of durations."""
    result = root
    while isinstance(result, ast.ParenExpr):
        result = result.expr
    if isinstance(result, ast.MatrixSelector | ast.SubqueryExpr):
        raise ValueError(
            "the expression is a range of samples, not one value each; wrap it in a function such as rate(…)"
        )
    if isinstance(result, ast.StringLiteral):
        raise ValueError("the expression is a string, not a number; write a selector or a function of one")
    ranges = [each if each[-1].isalpha() else f"{each}s" for each in _RANGE.findall(masked)]
    window = max(map(parse_duration, ranges), default=DEFAULT_WINDOW)
    if window > MAX_DURATION:
        raise ValueError(_TOO_LONG)
    plain = isinstance(root, ast.VectorSelector) and root.offset is None and root.at is None
    samples = samples_of(root)
    unknown = None
    if numbers:
        unknown = (
            f"the duration {numbers[0]} has no unit: Prometheus 3 reads seconds, and Prometheus 2 refuses it; write "
            f"{numbers[0]}s"
        )
    return Expression(text, window, plain, samples.scalar, samples.labels, unknown)
