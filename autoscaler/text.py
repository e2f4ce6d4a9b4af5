"""Makes foreign text one bounded, printable line; writes lists and numbers with nouns."""

import re
import unicodedata
from collections.abc import Sequence
from typing import Final

MAX_SAID_BYTES: Final = 1024
"""The limit of one text of a server, in UTF-8, as it is logged and stored."""


def plain(text: str, most: int = MAX_SAID_BYTES) -> str:
    """Return one printable line of at most `most` bytes of UTF-8, without credentials; an ellipsis marks a cut.

    The time depends on `most`, not on the length of `text`.
    """
    begin = text[: 2 * most]
    if len(begin) < len(text):
        begin = _UNFINISHED.sub(r"\1", begin)  # the @ that marks a password may be in the part that is cut off
    line = clean(masked(begin))
    if len(begin) == len(text) and len(line.encode()) <= most:
        return line
    return line.encode()[: most - len(_CUT.encode())].decode(errors="ignore") + _CUT


def masked(text: str) -> str:
    """Return the text without `user:password@` in URLs, up to the last @ before the path: passwords may contain one.

    This includes URLs without a scheme, those that JSON has escaped, and those inside another URL (`%2F%2F`).
    """
    return _LOGIN.sub(lambda found: found[1] or found[2] or found[3], text) if "@" in text or "%" in text else text


def clean(text: str) -> str:
    """Return one printable line: white space becomes a space, control characters are escaped as Python writes them.

    Invisible characters, such as those that change the direction of writing, are removed.
    """
    return text if text.isprintable() else "".join(each if each.isprintable() else _shown(each) for each in text)


def listed(names: Sequence[str], most: int, more: int = 0) -> str:
    """Return at most `most` names and the number of the others: `a, b and 7 more`. `more`: others without names."""
    others = len(names[most:]) + more
    return ", ".join(names[:most]) + (f" and {others:,} more" if others else "")


def count(number: int, one: str, many: str = "") -> str:
    """Return a number with its noun: `1 query`, `2 queries`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def _shown(character: str) -> str:
    if character.isspace():
        return " "
    return "" if unicodedata.category(character) == "Cf" else character.encode("unicode_escape").decode()


_CUT: Final = "…"
_SLASHES: Final = r"(//|\\/\\/|%(?:25)*2F%(?:25)*2F)"
_LOGIN: Final = re.compile(
    r"(//)[^/ \t\r\n]*@"
    r"|(\\/\\/)(?:(?!\\/)[^/ \t\r\n])*@"
    r"|((%(?:25)*2F)\4)(?:(?!\4)[^/ \t\r\n])*(?:@|%(?:25)*40)",
    re.IGNORECASE,
)
_UNFINISHED: Final = re.compile(rf"{_SLASHES}[^/ \t\r\n]*\Z", re.IGNORECASE)
