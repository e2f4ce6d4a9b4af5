"""Where aggregations and matchings list their labels in a text of PromQL.

Found by tokens, so that the text around them can stay as its author wrote it. `rewrite.py` compares what comes of it
with the syntax tree: what is not found here, or taken for something else, is only not merged.
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


_NO_METRICS: Final = (
    _GROUPINGS
    | _MATCHINGS
    | {"group_left", "group_right", "offset", "bool", "and", "or", "unless", "atan2", "inf", "nan"}
)  # fmt: skip - one line
_LISTS: Final = _GROUPINGS | _MATCHINGS | {"group_left", "group_right"}


class _Token(NamedTuple):
    kind: str
    text: str
    start: int
    end: int


class Place(NamedTuple):
    """Where a list of labels stands, or may be put."""

    start: int
    """Behind the opening bracket; behind the aggregation's name when it has no list."""
    end: int
    """Before the closing bracket."""
    listed: tuple[str, ...] | None
    """As written; None without a list."""


def places(text: str) -> dict[Clause, Place]:
    """Each aggregation's and each matching's, by the order in the text."""
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


def selectors(text: str) -> tuple[str, ...]:
    """The text around a place for one more matcher in each selector: one piece more than there are of these."""
    tokens = _tokens(text)
    closed = _brackets(tokens)
    pieces, before, at, end = list[str](), "", 0, 0
    while at < len(tokens):
        token = tokens[at]
        following = tokens[at + 1].text if at + 1 < len(tokens) else ""
        if token.text == "{":
            pieces.append(before + text[end : token.end])
            before, end = "" if following == "}" else ",", token.end
            while at < len(tokens) and tokens[at].text != "}":
                at += 1
        elif token.text == "[":
            while at < len(tokens) and tokens[at].text != "]":
                at += 1
        elif token.kind == "word" and token.text.lower() in _LISTS and at + 1 in closed:
            at = closed[at + 1]
        elif _is_metric(token, following) and following != "{":
            pieces.append(before + text[end : token.end] + "{")
            before, end = "}", token.end
        at += 1
    return (*pieces, before + text[end:])


def _is_metric(token: _Token, following: str) -> bool:
    if token.kind != "word" or following == "(":
        return False
    word = token.text.lower()
    return word not in _NO_METRICS and not (word in _AGGREGATIONS and following.lower() in _GROUPINGS)


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
    """The closing bracket of each opening one."""
    closed, still_open = {}, []
    for at, token in enumerate(tokens):
        if token.text == "(":
            still_open.append(at)
        elif token.text == ")" and still_open:
            closed[still_open.pop()] = at
    return closed
