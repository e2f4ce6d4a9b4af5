"""Whether a regular expression of Prometheus matches the empty text.

Source: https://github.com/google/re2/wiki/Syntax. Python's `re` differs in classes and escapes, and counted repetitions
can take it hours. None of these is needed here: a class or an escape takes one character, and a repetition matches the
empty text if its count may be 0 or what it repeats does.
"""

import re
from typing import Final

_ONE_CHARACTER: Final = re.compile(
    r"\\[pP](?:\{[^}]*\}|.)|\\[^AzbBQE]|\[\^?\]?(?:\[:\^?\w+:\]|\\.|[^\]\\])*\]", re.DOTALL
)
_NO_CHARACTER: Final = re.compile(r"\\[AzbBQE]|\(\?[a-zA-Z-]+\)")
_GROUP: Final = re.compile(r"\(\?(?:P?<\w+>|[a-zA-Z-]*:)")
_COUNT: Final = re.compile(r"\{(?P<least>\d+)(?:,\d*)?\}")


def matches_empty(pattern: str) -> bool:
    """Return whether the pattern, anchored as Prometheus does, matches the empty text; False if it is not valid."""
    pattern = _NO_CHARACTER.sub("", _ONE_CHARACTER.sub("x", pattern))
    if "[" in pattern:
        return False  # a class without its end
    pattern = _COUNT.sub(lambda found: "" if int(found["least"]) else "*", _GROUP.sub("(", pattern))
    try:
        return re.fullmatch(pattern, "") is not None
    except (re.error, RecursionError, OverflowError):
        return False
