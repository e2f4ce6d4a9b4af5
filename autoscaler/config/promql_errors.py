"""What every Prometheus refuses in an expression, where it stands, and what to do.

Prometheus' grammar grows, and promql-parser follows it late. So its refusal alone is no error: only what is listed
here is, and a test asks a Prometheus about each. Everything else may be the syntax of a newer one.
"""

import re
import string
from typing import Final

from autoscaler.config.promql_words import AGGREGATIONS, near_function

MAX_NESTING: Final = 100
"""Brackets: promql-parser's stack is finite."""
_LEXED: Final = re.compile(
    r"""(?P<matches>(?:=~|!~)\s*)?(?P<quoted>"(?:\\[^\n]|[^"\\\n])*+"|'(?:\\[^\n]|[^'\\\n])*+'|`[^`]*+`)"""
    r"""|(?P<comment>\#[^\n]*+)|(?P<open>["'`])""",
)
_SHORT: Final = 64
"""A longer text in quotes costs promql-parser time and tells it nothing."""
_BAD_ESCAPE: Final = re.compile(r"""\\(?:\\|(?P<at>[^abfnrtvxuU0-7"']))""")
_CLOSING: Final = {"(": ")", "[": "]", "{": "}"}
_CALLED: Final = {"(": "parenthesis", "[": "bracket", "{": "brace"}
_REGEX_PART: Final = re.compile(
    r"\\.?|(?P<begin>\[\^?\]?)(?:\\.|\[:\^?[a-z]{1,12}:\]|[^\\\]])*+(?P<end>\])?|[*+?]\??|\(\??|.", re.DOTALL
)
"""An escape, a class (in which a bracket that comes first stands for itself), a repetition, or a character."""
_SHOWN: Final = 60
"""Characters of a regular expression."""

_SURE: Final = re.compile(
    r"(?:expected|wrong number of arguments for|no arguments for) .*"
    r"|(?:comparisons between|set operator|bool modifier|unary expression|binary expression|vector matching) .*"
    r"|(?:ranges only|subquery is only|no offset|offset may not|offset modifier|@ <timestamp> may not) .*"
    r"|(?:label '.*' must not occur|no grouping allowed|metric name must not|trailing commas) .*"
    r"|unexpected second colon.*|vector selector must .*|unexpected left brace .*",
    re.DOTALL,
)
"""Of what promql-parser says: the types, arguments and modifiers that it checks once it has read the syntax."""
_OF_CALL: Final = re.compile(r"in call to (?:function )?'(\w+)'|expression '(\w+)' provided")
_UNKNOWN_FUNCTION: Final = re.compile(r"unknown function with name '(.*)'", re.DOTALL)
_AGGREGATION: Final = rf"\b(?:{'|'.join(sorted(AGGREGATIONS))})"
_KEYWORDS: Final = r"(?:and|or|unless|atan2|offset|bool|by|without|group_left|group_right|anchored|smoothed|fill\w*)\b"
_LOWER: Final = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)
_TELLS_NOTHING: Final = re.compile(r"(?<=\.\.)\.+|(?<=\s)\s+|(?<=\w{64})\w+")
_NEVER: Final = [
    (re.compile(pattern), message)
    for pattern, message in {
        r"(?P<at>[\u2018-\u201f\u2010-\u2015\xa0])": "{at!r} is not ASCII; write a plain quote, minus or space",
        r"(?P<at>\$\w*)": "{at!r} is a variable of Grafana; write its value",
        r"(?P<at>[;?])": "{at!r} is no operator; remove it",
        r"(?P<at>&&|\|\|)": "{at!r} is no operator; write `and` or `or`",
        r"\{[^{}]*?(?P<at>==|[<>:]|!(?![=~]))": "{at!r} is no operator for labels; write =, !=, =~ or !~",
        r"\{[^{}]*?(?:=~|!~|=)\s*(?P<at>[a-z_0-9][^\s,{}]*)": 'the label\'s value {at!r} has no quotes; write "{at}"',
        r'\{[^{}]*"\s*(?P<at>[a-z_][\w.]*)\s*[=!]': "there is no comma before the label {at!r}; add it",
        rf"(?:\)|{_AGGREGATION})\s*\b(?P<at>by|without)\b(?!\s*\()": (
            "the labels of {at!r} are not in parentheses; write {at} (LABEL, …)"
        ),
        rf"{_AGGREGATION}\s*\b(?:by|without)\s*\([^()]*\)\s*(?P<at>[^(\s][\w:]*|$)": (
            "what is aggregated is not in parentheses; write sum by (LABEL, …) (EXPRESSION)"
        ),
        rf"{_AGGREGATION}\s+(?!{_KEYWORDS})(?P<at>[a-z_:][\w:]*)": (
            "what is aggregated, {at!r}, is not in parentheses; write sum(EXPRESSION)"
        ),
        rf"\b(?:on|ignoring)\s+(?!{_KEYWORDS})(?P<at>[a-z_:][\w:]*)": (
            "the label {at!r} is not in parentheses; write on (LABEL, …)"
        ),
        r"(?<!\w)(?P<at>[0-9]+(?:\s*(?:sec|min|hour|day|week|month|year)[a-z]*|\s+(?:ms|[smhdwy])))\b": (
            "{at!r} is no duration; write one such as 30s, 5m, 1h, 1d or 1w"
        ),
        r"(?P<at>\[\s*[\]:])": "the range is empty; write one such as [5m]",
        r"\{[^{}]*\}|(?P<at>=~|!~|(?<![=!<>])=(?!=))": "{at!r} compares labels only; write == or != between numbers",
        r"(?:\A|[\[{(,])\s*(?P<at>,|[*/%^@]|[=!<>]=|[=!]~|[<>=])": "{at!r} has no left side; write it",
        r"(?P<at>[-+*/%^@]|[=!<>]=|[=!]~|[<>=])\s*(?=[)\]},]|\Z)": "{at!r} has no right side; write it",
        r"\b(?:(?:on|ignoring|group_left|group_right)\s*\([^()]*\)\s*)+[\w:]+"
        rf"|(?:[)\]}}.]|(?<![\w:])(?!{_KEYWORDS})[\w:]+\s)\s*"
        r"(?P<at>(?:and|or|unless|atan2|offset)\b)\s*(?=[)\]},]|\Z)": "{at!r} has no right side; write it",
        r"(?P<at>[-+*/%^<>]\s*[*%^<>]|[-+*/%^]\s*/)": "{at!r} is no operator; write one operator",
    }.items()
]
"""What stands outside of quotes in no PromQL. All but `at` is context."""


def lexed(text: str) -> tuple[str, str]:
    """The text with dots for all in quotes and spaces for comments; and what promql-parser is to read.

    That is without comments, and with a letter in place of long texts and of regular expressions: it takes long for
    these. Raises ValueError for quotes that do not end, and for an escape or a regular expression that is wrong.
    """

    def masked(found: re.Match[str]) -> str:
        if found["open"]:
            raise _wrong(text, found.start(), f"unterminated quoted string {found[0]}; end it")
        if found["comment"]:
            return " " * len(found[0])
        quoted, start = found["quoted"], found.start("quoted")
        _check_escapes(text, quoted, start)
        if found["matches"] and (wrong := _wrong_with_regex(_unquoted(quoted))):
            shown = quoted if len(quoted) <= _SHOWN else f"{quoted[:_SHOWN]}…"
            raise _wrong(text, start, f"{wrong} in the regular expression {shown}; correct it")
        return f"{found['matches'] or ''}{quoted[0]}{'.' * (len(quoted) - 2)}{quoted[0]}"

    def short(found: re.Match[str]) -> str:
        if found["comment"]:
            return ""
        short = len(found["quoted"]) <= _SHORT and not found["matches"]
        return found[0] if short else f'{found["matches"] or ""}"x"'

    return _LEXED.sub(masked, text), _LEXED.sub(short, text)


def check_brackets(text: str, masked: str) -> None:
    """Raises ValueError where one is not closed or not opened, or for too many inside of each other."""
    still_open: list[re.Match[str]] = []
    for found in re.finditer(r"[()\[\]{}]", masked):
        if found[0] in _CLOSING:
            still_open.append(found)
            if len(still_open) > MAX_NESTING:
                raise ValueError(f"the expression nests deeper than {MAX_NESTING} brackets; simplify it")
            continue
        before = still_open.pop() if still_open else None
        if before is None or _CLOSING[before[0]] != found[0]:
            name = _CALLED[next(opening for opening, each in _CLOSING.items() if each == found[0])]
            why = "" if before is None else f"close {before[0]!r}{_place(text, before.start())} first, or "
            raise _wrong(text, found.start(), f"unexpected right {name} {found[0]!r}; {why}correct the brackets")
    if still_open:
        last = still_open[-1]
        raise _wrong(text, last.start(), f"unclosed left {_CALLED[last[0]]} {last[0]!r}; close it")


def packed(masked: str) -> str:
    """The masked text in lower case, without what is long and tells nothing."""
    return _TELLS_NOTHING.sub("", masked.translate(_LOWER))


def error_in(text: str, masked: str, short: str, said: str) -> ValueError | None:
    """What every Prometheus refuses in a text that promql-parser refuses with what it `said`; None: nothing is known.

    `short`: the packed text. It takes a microsecond for each of its characters. MetricsQL's WITH has its own syntax.
    """
    if not masked.strip():
        return ValueError("invalid PromQL: no expression found in input; write one")
    if re.search(r"\bwith\s*\(", short):
        return None
    for pattern, message in _NEVER:
        if _first(pattern, short) and (found := _first(pattern, masked.translate(_LOWER))):
            at = text[slice(*found.span("at"))]
            return _wrong(text, found.start("at"), message.format(at=at))
    if unknown := _UNKNOWN_FUNCTION.fullmatch(said):
        near = near_function(unknown[1])
        return None if near is None else _wrong_call(text, masked, unknown[1], said, f"did you mean `{near}`?")
    if not _SURE.fullmatch(said) or (said.startswith("vector selector must") and "info" in masked):
        return None
    if of := _OF_CALL.search(said):
        return _wrong_call(text, masked, of[1] or of[2], said, "correct its arguments")
    if "aggregat" in said:
        return _wrong_call(text, masked, rf"{_AGGREGATION}\b", said, "correct its arguments")
    return _wrong(text, None, f"{said}; correct it")


def _first(pattern: re.Pattern[str], masked: str) -> re.Match[str] | None:
    return next((found for found in pattern.finditer(masked) if found["at"] is not None), None)


def _wrong_call(text: str, masked: str, name: str, said: str, remedy: str) -> ValueError:
    """With the place of the call, if there is one call only. `name`: a regular expression."""
    calls = list(re.finditer(rf"(?<![\w:])(?:{name})(?=\s*(?:\(|by\b|without\b))", masked, re.IGNORECASE))
    if len(calls) != 1:
        return _wrong(text, None, f"{said}; {remedy}")
    where = "" if repr(calls[0][0]) in said else f", of {calls[0][0]!r}"
    return _wrong(text, calls[0].start(), f"{said}{where},; {remedy}")


def _wrong(text: str, start: int | None, said: str) -> ValueError:
    """`said`: what is wrong at `start`, and what to do, on either side of a semicolon."""
    wrong, _, remedy = said.rpartition("; ")
    return ValueError(f"invalid PromQL: {wrong}{'' if start is None else _place(text, start)}; {remedy}")


def _place(text: str, start: int) -> str:
    line, character = text.count("\n", 0, start) + 1, start - text.rfind("\n", 0, start)
    return f" at character {character}" if "\n" not in text.strip() else f" at line {line}, character {character}"


def _check_escapes(text: str, quoted: str, start: int) -> None:
    if quoted[0] == "`":
        return
    for found in _BAD_ESCAPE.finditer(quoted, 1, len(quoted) - 1):
        if found["at"]:
            said = f"unknown escape sequence {found[0]}; write \\{found[0]}, or use backquotes"
            raise _wrong(text, start + found.start(), said)


def _unquoted(quoted: str) -> str:
    return quoted[1:-1] if quoted[0] == "`" else re.sub(r"\\(.)", r"\1", quoted[1:-1], flags=re.DOTALL)


def _wrong_with_regex(pattern: str) -> str | None:
    if r"\Q" in pattern:  # what follows is literal
        return None
    depth, before = 0, "("
    for found in _REGEX_PART.finditer(pattern):
        part = found[0]
        if part == "\\":
            return "a backslash stands at the end"
        if found["begin"] and not found["end"]:
            return "a `[` is not closed"
        if part[0] in "*+?" and before[0] in "(|*+?":
            return f"`{part[0]}` repeats nothing" if before[0] in "(|" else f"`{before}{part}` repeats twice"
        depth += part.startswith("(") - (part == ")")
        if depth < 0:
            return "a `)` is not opened"
        before = part
    return "a `(` is not closed" if depth else None
