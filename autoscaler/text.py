"""Texts from outside: what a server, a manifest or a worker says, made harmless before anybody shows or keeps it."""

import re
import unicodedata
from typing import Final

MOST_SAID_BYTES: Final = 1024
"""Of what a server says in one text; in UTF-8, as it is logged and stored."""


def plain(text: str, most: int = MOST_SAID_BYTES) -> str:
    """One printable line of at most `most` bytes of UTF-8, without credentials; an ellipsis shows what was cut off.

    Costs no more than twice `most`, however long `text` is.
    """
    begin = text[: 2 * most]
    if len(begin) < len(text):
        begin = _UNFINISHED.sub(r"\1", begin)  # where the @ may be that would show a password to be one
    line = clean(masked(begin))
    if len(begin) == len(text) and len(line.encode()) <= most:
        return line
    return line.encode()[: most - len(_CUT.encode())].decode(errors="ignore") + _CUT


def masked(text: str) -> str:
    """Without `user:password@` in every URL, up to the last @ before its path: passwords may hold one too.

    Also in URLs without a scheme, in those that JSON has escaped, and in those inside another URL (`%2F%2F`).
    """
    return _LOGIN.sub(lambda found: found[1] or found[2] or found[3], text) if "@" in text or "%" in text else text


def clean(text: str) -> str:
    """One printable line: white space becomes a space, what steers a terminal is escaped, what only hides is left out.

    C0, DEL and C1 are escaped as Python writes them; marks that turn the direction of writing are left out.
    """
    return text if text.isprintable() else "".join(each if each.isprintable() else _shown(each) for each in text)


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
