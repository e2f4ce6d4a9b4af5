"""Finds the lists of labels in a PromQL text.

It works on tokens, so that the rest of the text stays as written. `rewrite.py` checks the result by the syntax tree, so
a wrong result only prevents merging.
"""

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from autoscaler.observe.planner.functions import AGGREGATIONS
from autoscaler.observe.planner.nodes import Clause, Kind, Numbering

_TOKEN: Final = re.compile(
    r"""(?P<skip>[ \t\r\n]+|\#[^\n]*)
    |(?P<string>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`[^`]*`)
    |(?P<number>\.?[0-9][0-9A-Za-z_.]*)
    |(?P<word>[A-Za-z_:][A-Za-z0-9_:]*)
    |(?P<sign>.)""",
    re.VERBOSE | re.DOTALL,
)
_AGGREGATIONS: Final = AGGREGATIONS | {"topk", "bottomk", "count_values", "limitk", "limit_ratio"}
_GROUPINGS: Final = frozenset({"by", "without"})
_MATCHINGS: Final = frozenset({"on", "ignoring"})


class _Token(NamedTuple):
    kind: str
    text: str
    start: int
    end: int


class Place(NamedTuple):
    """The place of a list of labels, or where one can be inserted."""

    start: int
    """After the opening bracket, or after the aggregation's name without a list."""
    end: int
    """Before the closing bracket."""
    listed: tuple[str, ...] | None
    """As written; None without a list."""


def places(text: str) -> dict[Clause, Place]:
    """Return the place of each aggregation's and each matching's list, by order in the text."""
    tokens = _tokens(text)
    closed = _brackets(tokens)
    found: dict[Clause, Place] = {}
    numbering = Numbering()
    for at, token in enumerate(tokens):
        if token.kind != "word":
            continue
        word = token.text.lower()
        if word in _MATCHINGS and at + 1 in closed:
            found[numbering.clause(Kind.MATCHING)] = _place(tokens, at + 1, closed[at + 1])
        elif word in _AGGREGATIONS:
            before = at + 1
            if before in closed:  # sum (…) by (…)
                after = closed[before] + 1
                found[numbering.clause(Kind.GROUPING)] = (
                    _place(tokens, after + 1, closed[after + 1])
                    if _is_list(tokens, after, closed)
                    else Place(token.end, token.end, None)
                )
            elif _is_list(tokens, before, closed):  # sum by (…) (…)
                found[numbering.clause(Kind.GROUPING)] = _place(tokens, before + 1, closed[before + 1])
    return found


def _tokens(text: str) -> list[_Token]:
    return [
        _Token(match.lastgroup or "", match.group(), match.start(), match.end())
        for match in _TOKEN.finditer(text)
        if match.lastgroup != "skip"
    ]


def _is_list(tokens: Sequence[_Token], at: int, closed: dict[int, int]) -> bool:
    return at < len(tokens) and tokens[at].text.lower() in _GROUPINGS and at + 1 in closed


def _place(tokens: Sequence[_Token], opening: int, closing: int) -> Place:
    listed = tuple(token.text for token in tokens[opening + 1 : closing] if token.text != ",")
    return Place(tokens[opening].end, tokens[closing].start, listed)


def _brackets(tokens: Sequence[_Token]) -> dict[int, int]:
    """Return the closing bracket of each opening one."""
    closed, still_open = {}, []
    for at, token in enumerate(tokens):
        if token.text == "(":
            still_open.append(at)
        elif token.text == ")" and still_open:
            closed[still_open.pop()] = at
    return closed
