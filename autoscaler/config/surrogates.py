"""Joins the surrogate pairs in the double-quoted texts of JSON, which libyaml refuses.

Serializers write a character beyond U+FFFF as two escapes (RFC 8259, 7). YAML has one escape of eight digits for it.
"""

import re
from bisect import bisect_left
from collections import defaultdict
from typing import Final

_QUOTED: Final = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_ESCAPE: Final = re.compile(r"\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})|\\.", re.DOTALL)
_SHORTER: Final = len(r"\ud83d\ude9a") - len(r"\U0001f69a")


class Pairs:
    """The places of the joined pairs, for columns of the text as it was."""

    def __init__(self) -> None:
        self._columns: defaultdict[int, list[int]] = defaultdict(list)

    def add(self, line: int, column: int) -> None:
        """Note one in the joined text. Both count from 0."""
        self._columns[line].append(column)

    def shift(self, line: int, column: int) -> int:
        """Return how many columns further right this place of the joined text was. Both count from 0."""
        return _SHORTER * bisect_left(self._columns.get(line, ()), column)


def join_pairs(text: str) -> tuple[str, Pairs]:
    """Return the text with one escape for each pair, and where these are. A lone half stays as it is."""
    pairs, parts = Pairs(), list[str]()
    line = column = end = 0

    def keep(part: str) -> None:
        nonlocal line, column
        parts.append(part)
        line += part.count("\n")
        column = len(part) - part.rfind("\n") - 1 if "\n" in part else column + len(part)

    for quoted in _QUOTED.finditer(text):
        for escape in _ESCAPE.finditer(text, *quoted.span()):
            if escape[1]:
                keep(text[end : escape.start()])
                pairs.add(line, column)
                code = 0x10000 + ((int(escape[1], 16) - 0xD800) << 10) + int(escape[2], 16) - 0xDC00
                keep(f"\\U{code:08x}")
                end = escape.end()
    keep(text[end:])
    return "".join(parts), pairs
