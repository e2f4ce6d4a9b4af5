"""What is surely wrong with a text that is not read as PromQL: an error in every Prometheus, of any version.

Prometheus' grammar grows. What is found here holds whatever it will be: nothing at all, brackets and quotes that do not
end, a function's name with a letter wrong, a function's arguments. Everything else may be PromQL of a newer one.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import promql_parser as ast

from autoscaler.config.promql_words import AGGREGATIONS, near_function

_TOKEN: Final = re.compile(
    r"""(?P<comment>\#[^\n]*)
    |(?P<string>"(?:\\[^\n]|[^"\\\n])*+"|'(?:\\[^\n]|[^'\\\n])*+'|`[^`]*+`)
    |(?P<quote>["'`])
    |(?P<number>\.?[0-9][0-9A-Za-z_.]*+)
    |(?P<word>[A-Za-z_:][A-Za-z0-9_:]*+)
    |(?P<bracket>[()\[\]{}])
    |(?P<other>\S)""",
    re.VERBOSE,
)
_CLOSING: Final = {"(": ")", "[": "]", "{": "}"}
_CALLED: Final = {"(": "parenthesis", "[": "bracket", "{": "brace"}
_ARGUMENTS: Final = re.compile(
    r"expected type \w+ in call to function '(\w+)', got \w+"
    r"|expected (?:at least |at most )?\d+ argument\(s\) in call to '(\w+)', got \d+"
    r"|expected type \w+ in aggregation expression, got \w+"
    r"|wrong number of arguments for aggregate expression provided, expected \d+, got \d+"
    r"|no arguments for aggregate expression '\w+' provided"
)
"""What promql-parser says of the arguments of a function or an aggregation that it knows."""
_REGEX_PART: Final = re.compile(
    r"\\.?|(?P<begin>\[\^?\]?)(?:\\.|\[:\^?[a-z]{1,12}:\]|[^\\\]])*+(?P<end>\])?|\(\??|.", re.DOTALL
)
"""An escape, a class (in which a bracket that comes first stands for itself), or a character."""
_LISTS: Final = ("by", "without")
_SHOWN: Final = 60
"""Characters of a regular expression."""
MOST_TRIED: Final = 20
"""Calls that are read one by one to find the one that is wrong."""


class _Token(NamedTuple):
    kind: str
    text: str
    start: int

    @property
    def end(self) -> int:
        return self.start + len(self.text)


@dataclass(frozen=True, slots=True)
class _Brackets:
    """The brackets of a text, all of which are closed."""

    closing: dict[int, int]
    """The number of each opening one's token -> that of the closing one."""
    squared: frozenset[int]
    """The words inside of square brackets, where durations stand and no functions."""


class _Wrong(ValueError):
    """What is wrong, at a place."""


def error_in(text: str, bare: str, said: str, *, search: bool = True) -> str | None:
    """What is surely wrong, where, and what to do; None: nothing.

    `bare`: the text without comments and long strings, as it was given to promql-parser; `said`: what that said. Its
    arguments are only looked for with `search`, because that takes up to MOST_TRIED times what reading it took.
    """
    tokens = [token for token in _tokens(text) if token.kind != "comment"]
    if not tokens:
        return "no expression found in input; write one"
    try:
        brackets = _brackets(text, tokens)
    except _Wrong as wrong:
        return str(wrong)
    for at, token in enumerate(tokens):
        if at + 1 in brackets.closing and token.kind == "word" and at not in brackets.squared:
            near = near_function(token.text) if tokens[at + 1].text == "(" else None
            if near is not None:
                return f"unknown function with name {token.text!r}{_place(text, token)}; did you mean `{near}`?"
    if found := _ARGUMENTS.fullmatch(said):
        wrong_call = _wrong_call(text, bare, said, found[1] or found[2]) if search else None
        place = "" if wrong_call is None else f", at {wrong_call.text!r}{_place(text, wrong_call)}"
        return f"{said}{place}; correct its arguments"
    return None


def error_in_regex(text: str, quoted: str, start: int) -> str | None:
    """What is surely wrong with the regular expression that stands in its quotes at `start` of a text; None: nothing.

    Prometheus' are Go's, and promql-parser's are not quite.
    """
    try:
        selector: Any = ast.parse(f"x{{x={quoted}}}")
    except ValueError:  # of an escape in the quotes
        return None
    (matcher,) = selector.matchers.matchers
    wrong = _wrong_with_regex(matcher.value)
    if wrong is None:
        return None
    shown = quoted if len(quoted) <= _SHOWN else f"{quoted[:_SHOWN]}…"
    return f"the regular expression {shown}{_place(text, _Token('string', quoted, start))} {wrong}; correct it"


def _tokens(text: str) -> Iterator[_Token]:
    for found in _TOKEN.finditer(text):
        yield _Token(found.lastgroup or "", found[0], found.start())
        if found.lastgroup == "quote":  # each further one would be looked for an end to the end of the text
            return


def _place(text: str, token: _Token) -> str:
    line = text.count("\n", 0, token.start) + 1
    character = token.start - text.rfind("\n", 0, token.start)
    return f" at character {character}" if "\n" not in text.strip() else f" at line {line}, character {character}"


def _brackets(text: str, tokens: Sequence[_Token]) -> _Brackets:
    """Raises _Wrong where one is not closed or not opened, or a string does not end."""
    closing: dict[int, int] = {}
    squared: set[int] = set()
    still_open: list[int] = []
    squares = 0
    for at, token in enumerate(tokens):
        if token.kind == "quote":
            raise _Wrong(f"unterminated quoted string {token.text}{_place(text, token)}; end it")
        if token.kind == "word" and squares:
            squared.add(at)
        if token.kind != "bracket":
            continue
        if token.text in _CLOSING:
            still_open.append(at)
            squares += token.text == "["
            continue
        before = tokens[still_open[-1]] if still_open else None
        if before is None or _CLOSING[before.text] != token.text:
            name = _CALLED[next(opening for opening, each in _CLOSING.items() if each == token.text)]
            why = "" if before is None else f", where {before.text!r}{_place(text, before)} is still open"
            raise _Wrong(f"unexpected right {name} {token.text!r}{_place(text, token)}{why}; correct the brackets")
        closing[still_open.pop()] = at
        squares -= token.text == "]"
    if still_open:
        last = tokens[still_open[-1]]
        raise _Wrong(f"unclosed left {_CALLED[last.text]} {last.text!r}{_place(text, last)}; close it")
    return _Brackets(closing, frozenset(squared))


def _wrong_call(text: str, bare: str, said: str, name: str | None) -> _Token | None:
    """The name of the call, of the innermost ones, of which this is said. `name`: None for an aggregation."""
    calls = list(_calls(bare, name))
    names = [call.name for call in _calls(text, name)]
    for at in sorted(range(len(calls)), key=lambda each: calls[each].end)[:MOST_TRIED]:
        call = calls[at]
        try:
            ast.parse(bare[call.name.start : call.end])
        except ValueError as error:
            if str(error) == said and at < len(names):
                return names[at]
    return None


class _Call(NamedTuple):
    name: _Token
    end: int


def _calls(text: str, name: str | None) -> Iterator[_Call]:
    """Those of a function; None: those of aggregations."""
    tokens = [token for token in _tokens(text) if token.kind != "comment"]
    closing = _brackets(text, tokens).closing
    for at, token in enumerate(tokens):
        if token.kind != "word" or (token.text != name if name else token.text.lower() not in AGGREGATIONS):
            continue
        opening = at + 1
        if name is None and opening < len(tokens) and tokens[opening].text.lower() in _LISTS:
            opening = closing.get(opening + 1, at) + 1
        if opening in closing:
            yield _Call(token, tokens[closing[opening]].end)


def _wrong_with_regex(pattern: str) -> str | None:
    if r"\Q" in pattern:  # what follows is literal
        return None
    depth, repeatable = 0, False
    for found in _REGEX_PART.finditer(pattern):
        part = found[0]
        if part == "\\":
            return "ends with a backslash"
        if found["begin"] and not found["end"]:
            return "has a `[` that is not closed"
        if part in ("*", "+", "?") and not repeatable:
            return f"repeats nothing with `{part}`"
        depth += part.startswith("(") - (part == ")")
        if depth < 0:
            return "has a `)` that was not opened"
        repeatable = part not in ("(", "(?", "|")
    return "has a `(` that is not closed" if depth else None
