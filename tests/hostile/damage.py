"""Texts that are right in most places and wrong in some: a strategy of hypothesis."""

from collections.abc import Sequence
from typing import Final

from hypothesis import strategies as st

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
_HARMS: Final = ("drop", "repeat", "move", "insert", "replace", "mix")
_MAX_CHARACTERS: Final = 20_000


@st.composite
def damaged(draw: st.DrawFn, right: Sequence[str]) -> str:
    """One of `right` with some parts dropped, repeated, moved, replaced or mixed with another text.

    Mostly few are, because the first reader refuses a text that is wrong everywhere.
    """
    text = draw(st.sampled_from(right))
    for _ in range(draw(st.sampled_from((1, 1, 1, 1, 2, 2, 3, 6)))):
        begin, end = draw(_parts(text))
        rest = text[:begin] + text[end:]
        match draw(st.sampled_from(_HARMS)):
            case "drop":
                text = rest
            case "repeat":
                text = text[:end] + text[begin:end] * draw(st.sampled_from((1, 2, 50))) + text[end:]
            case "move":
                at = draw(st.integers(0, len(rest)))
                text = rest[:at] + text[begin:end] + rest[at:]
            case "insert":
                text = text[:begin] + draw(st.sampled_from(_HOSTILE)) + text[begin:]
            case "replace":
                text = text[:begin] + draw(st.sampled_from(_HOSTILE)) + text[end:]
            case _:
                other = draw(st.sampled_from(right))
                begin, end = draw(_parts(other))
                at = draw(st.integers(0, len(text)))
                text = text[:at] + other[begin:end] + text[at:]
    return text[:_MAX_CHARACTERS]


def noise(alphabet: str, most: int) -> st.SearchStrategy[str]:
    """Return texts of an alphabet and of hostile characters."""
    return st.lists(st.sampled_from(alphabet) | st.sampled_from(_HOSTILE), max_size=most).map("".join)


@st.composite
def with_bytes(draw: st.DrawFn, texts: st.SearchStrategy[str]) -> bytes:
    """The bytes of a text, sometimes with other bytes between them."""
    given = draw(texts).encode("utf-8", "surrogatepass")
    at = draw(st.integers(0, len(given)))
    return given[:at] + draw(st.just(b"") | st.binary(max_size=8)) + given[at:]


def check_message(error: object) -> None:
    """Fail unless a user can read the error's text."""
    assert 0 < len(str(error)) < 10_000


@st.composite
def _parts(draw: st.DrawFn, text: str) -> tuple[int, int]:
    """Begin and end of a part of a text: characters, or whole lines."""
    begin = draw(st.integers(0, len(text)))
    if draw(st.booleans()):
        return begin, min(len(text), begin + draw(st.integers(0, 12)))
    begin = text.rfind("\n", 0, begin) + 1
    end = begin
    for _ in range(draw(st.integers(1, 3))):
        end = text.find("\n", end) + 1 or len(text)
    return begin, end
