"""Headers show when an answer was made."""

from datetime import UTC, datetime, timedelta

import pytest

from autoscaler.errors import MetricError
from autoscaler.observe.freshness import check_fresh

ASKED = datetime(2025, 6, 1, 12, tzinfo=UTC)
ANSWERED = ASKED + timedelta(seconds=2)


def date(seconds: float) -> str:
    return (ASKED + timedelta(seconds=seconds)).strftime("%a, %d %b %Y %H:%M:%S GMT")


def refusal(**headers: str) -> str:
    with pytest.raises(MetricError) as caught:
        check_fresh(headers, ASKED, ANSWERED)
    return str(caught.value)


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Date": date(0)},
        {"Date": date(-60)},
        {"Date": date(62)},
        {"Age": "0"},
        {"Age": "60"},
        {"Age": "60, 900"},
        {"Age": "-1"},
        {"Age": "²"},
        {"Age": "soon"},
        {"Date": "yesterday"},
        {"Date": "Sun, 99 Jun 2025 12:00:00 GMT"},
        {"Date": "x" * 2**16, "Age": "x" * 2**16},
    ],
)
def test_a_current_answer_is_fresh(headers: dict[str, str]) -> None:
    """Within a minute. Invalid headers are ignored."""
    check_fresh(headers, ASKED, ANSWERED)


@pytest.mark.parametrize("age", ["61", "3600", "9" * 5000])
def test_a_cached_answer_is_rejected(age: str) -> None:
    """It shows a past load."""
    assert f"an answer {age[:11]} s old (header Age)" in refusal(Age=age)


def test_a_fast_server_clock_suggests_a_slow_clock_here() -> None:
    """A daemon 20 minutes slow would read the load of 20 minutes ago, and scale on it."""
    message = refusal(Date=date(1202))
    assert message == (
        "has a clock that is 20m ahead of ours (header Date): check this machine's clock first, then the server's; "
        "with a slow clock the daemon reads past load"
    )


def test_a_slow_server_clock_may_be_a_cached_answer() -> None:
    """The cause may be the cache, the server's clock, or this machine's. The message names each."""
    message = refusal(Date=date(-61))
    assert message.startswith(
        "has a clock that is 1m1s behind ours (header Date): check the server's clock, and whether"
    )


def test_a_long_request_is_no_clock_difference() -> None:
    """The server writes the header at the start, and a source's timeout can be minutes."""
    check_fresh({"Date": date(90)}, ASKED, ASKED + timedelta(seconds=120))
