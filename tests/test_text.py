"""Foreign text becomes one bounded line."""

import time

import pytest

from autoscaler.errors import MetricError, TargetUnavailable
from autoscaler.text import MAX_SAID_BYTES, clean, masked, plain


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
def test_control_characters_are_escaped(text: str, shown: str) -> None:
    """Task names and error messages come from outside."""
    assert clean(text) == shown


@pytest.mark.parametrize("letter", ["a", "ü", "\U0001f600", "\x1b", "\ud800", "\u202e"])
def test_a_long_text_is_cut(letter: str) -> None:
    """Otherwise 10 MB would be kept in the log, in the state and on the page."""
    said = plain(letter * 10_000_000)
    assert len(said.encode()) <= MAX_SAID_BYTES
    assert said.endswith("…")
    assert said.isprintable()


def test_a_text_at_the_limit_is_not_cut() -> None:
    assert plain("a" * MAX_SAID_BYTES) == "a" * MAX_SAID_BYTES


@pytest.mark.parametrize("error", [MetricError, TargetUnavailable])
def test_an_error_of_an_adapter_or_a_query_is_one_bounded_line(error: type[Exception]) -> None:
    """Adapters quote the answers of their back ends."""
    message = str(error("\x1b[2J\n" + "x" * 1_000_000))
    assert message.startswith("\\x1b[2J x")
    assert len(message.encode()) <= 2048


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("http://u:p@ss@host/x@y", "http://host/x@y"),
        ("HTTPS://token@host:1", "HTTPS://host:1"),
        ("postgresql+psycopg://u:p@h/d", "postgresql+psycopg://h/d"),
        ("at //u:p@host.", "at //host."),
        ("http://u:p%40ss@[::1]:3/", "http://[::1]:3/"),
        ("a http://u:p@h, http://v:q@i,http://w:r@j", "a http://h, http://i,http://j"),
        ("via?to=http%3A%2F%2Fu%3Ap%40ss%40host%2Fpath%40x", "via?to=http%3A%2F%2Fhost%2Fpath%40x"),
        ("http%253a%252f%252fu%253ap%2540host", "http%253a%252f%252fhost"),
        (r'{"url":"http:\/\/u:p@h\/x@y"}', r'{"url":"http:\/\/h\/x@y"}'),
        ("mail a@b, see http://host/a@b", "mail a@b, see http://host/a@b"),
        ("http://u:p%20\x1b@host", "http://host"),
    ],
)
def test_a_url_is_shown_without_its_credentials(text: str, shown: str) -> None:
    """Passwords may contain an @, schemes have any case, and proxies quote one URL inside another."""
    assert masked(text) == shown
    assert plain(text) == shown


@pytest.mark.parametrize("length", [10, 900, 1100, 2030, 2040, 3000, 100_000])
@pytest.mark.parametrize("slashes", ["//", r"\/\/", "%2F%2F"])
def test_a_cut_text_contains_no_password(length: int, slashes: str) -> None:
    """The @ that marks it as a password may be beyond the cut."""
    for begin in ("", "x" * 500, "x" * 1000, "x" * 1500, "x" * 2040):
        assert "hunter" not in plain(f"{begin} http:{slashes}u:{'hunter' * (length // 6)}@host/x")


@pytest.mark.parametrize("text", ["/", "//@", "%2F", "%2F%2Fa", r"\/", "%25", "//%2F%2F", "//a "])
def test_masking_takes_linear_time(text: str) -> None:
    """A quadratic search would take hours."""
    started = time.process_time()
    masked(text * 200_000 + "@")
    assert time.process_time() - started < 60


@pytest.mark.parametrize("error", [MetricError, TargetUnavailable])
def test_an_error_contains_no_credentials_of_a_url(error: type[Exception]) -> None:
    """Servers repeat the URL of a request, and client libraries name the proxy."""
    assert str(error("cannot connect to proxy http://u:p@ss@proxy:3128")) == "cannot connect to proxy http://proxy:3128"
