"""Texts that are right in most places and wrong in some.

From a random number generator of each input's own, so that any input can be made again by its number. hypothesis, which
the unit tests use, remembers every example that it has made: that is too much for a million.
"""

from collections.abc import Sequence
from random import Random
from typing import Final

_HOSTILE: Final = (
    *("\0", "\x1b[2J", "\r\n", "\u2028", "\u202e", "\ufeff", "\ud800", "é", "\U0001d7d8", "\t", " ", "", "'", '"', "`"),
    *(
        "\\",
        "#",
        "~",
        "%",
        "{",
        "}",
        "[",
        "]",
        "(",
        ")",
        ":",
        ": ",
        "- ",
        ",",
        "|",
        ">",
        "---\n",
        "&a ",
        "*a",
        "<<: *a",
    ),
    *("!!python/object:os.system ", "{{ .Values.x }}", "$(id)", "../../etc/passwd", "%s%n", "null", "true", "a" * 300),
    *("0", "-1", "-0", "1e999", "1e-999", ".nan", "NaN", "+Inf", "inf", "0x10", "1_000", "1Ei", "1n", "5m", "1h30m"),
    *("0s", "-5m", "99999999999999999999", "9223372036854775808"),
)
_HARMS_OF_ONE: Final = (1, 1, 1, 1, 2, 2, 3, 6)
"""Numbers of damaged places: mostly few, because the first reader refuses a text that is wrong everywhere."""
_MOST_CHARACTERS: Final = 20_000


def damaged(random: Random, right: Sequence[str]) -> str:
    """Return one of `right` with some parts dropped, repeated, moved, replaced or mixed with another text."""
    text = random.choice(right)
    for _ in range(random.choice(_HARMS_OF_ONE)):
        text = _HARMS[random.randrange(len(_HARMS))](random, text, right)
    return text[:_MOST_CHARACTERS]


def noise(random: Random, alphabet: str, most: int) -> str:
    """Return a random text of an alphabet and of hostile characters."""
    return "".join(
        random.choice(_HOSTILE) if random.random() < 0.1 else random.choice(alphabet)
        for _ in range(random.randint(0, most))
    )


def _span(random: Random, text: str) -> tuple[int, int]:
    """Return a part of a text: characters, or whole lines."""
    begin = random.randint(0, len(text))
    if random.random() < 0.5:
        return begin, min(len(text), begin + random.randint(0, 12))
    begin = text.rfind("\n", 0, begin) + 1
    end = begin
    for _ in range(random.randint(1, 3)):
        end = text.find("\n", end) + 1 or len(text)
    return begin, end


def _drop(random: Random, text: str, _: Sequence[str]) -> str:
    begin, end = _span(random, text)
    return text[:begin] + text[end:]


def _repeat(random: Random, text: str, _: Sequence[str]) -> str:
    begin, end = _span(random, text)
    return text[:end] + text[begin:end] * random.choice((1, 2, 50)) + text[end:]


def _move(random: Random, text: str, _: Sequence[str]) -> str:
    begin, end = _span(random, text)
    part, rest = text[begin:end], text[:begin] + text[end:]
    at = random.randint(0, len(rest))
    return rest[:at] + part + rest[at:]


def _insert(random: Random, text: str, _: Sequence[str]) -> str:
    at = random.randint(0, len(text))
    return text[:at] + random.choice(_HOSTILE) + text[at:]


def _replace(random: Random, text: str, _: Sequence[str]) -> str:
    begin, end = _span(random, text)
    return text[:begin] + random.choice(_HOSTILE) + text[end:]


def _mix(random: Random, text: str, right: Sequence[str]) -> str:
    other = random.choice(right)
    begin, end = _span(random, other)
    at = random.randint(0, len(text))
    return text[:at] + other[begin:end] + text[at:]


_HARMS: Final = (_drop, _repeat, _move, _insert, _replace, _mix)
