"""Texts from outside: what a server, a manifest or a worker says, made harmless before anybody shows or keeps it."""

import unicodedata
from typing import Final

MOST_SAID_BYTES: Final = 1024
"""Of what a server says in one text; in UTF-8, as it is logged and stored."""


def plain(text: str, most: int = MOST_SAID_BYTES) -> str:
    """One printable line of at most `most` bytes of UTF-8; what was cut off is shown by an ellipsis.

    Costs no more than `most`, however long `text` is.
    """
    line = clean(text[:most])
    if len(text) <= most and len(line.encode()) <= most:
        return line
    return line.encode()[: most - len(_CUT.encode())].decode(errors="ignore") + _CUT


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
