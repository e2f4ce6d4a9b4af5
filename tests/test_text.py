"""Whatever a server says is one bounded line before anybody shows or keeps it."""

import pytest

from autoscaler.errors import MetricError, TargetUnavailable
from autoscaler.text import MOST_SAID_BYTES, clean, plain


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain, ünï", "plain, ünï"),
        ("a\x1b[31mred", "a\\x1b[31mred"),
        ("two\nlines\tand", "two lines and"),
        ("bell\x07", "bell\\x07"),
        ("right\u202eleft", "rightleft"),
        ("c1\x9b2J", "c1\\x9b2J"),
    ],
)
def test_what_a_back_end_says_cannot_steer_a_terminal(text: str, shown: str) -> None:
    """Task names and error messages come from outside."""
    assert clean(text) == shown


@pytest.mark.parametrize("letter", ["a", "ü", "\U0001f600", "\x1b", "\ud800", "\u202e"])
def test_a_long_text_is_cut_whatever_it_is_made_of(letter: str) -> None:
    """10 MB of anything would be kept in the log, in the state and on the page."""
    said = plain(letter * 10_000_000)
    assert len(said.encode()) <= MOST_SAID_BYTES
    assert said.endswith("…")
    assert said.isprintable()


def test_a_text_that_fits_is_whole() -> None:
    """An ellipsis says that something is missing."""
    assert plain("a" * MOST_SAID_BYTES) == "a" * MOST_SAID_BYTES


@pytest.mark.parametrize("error", [MetricError, TargetUnavailable])
def test_an_error_of_an_adapter_or_a_query_is_one_bounded_line(error: type[Exception]) -> None:
    """Adapters of others quote what their back end says."""
    message = str(error("\x1b[2J\n" + "x" * 1_000_000))
    assert message.startswith("\\x1b[2J x")
    assert len(message.encode()) <= 2048
