"""An answer's headers say when it was made."""

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
def test_an_answer_of_now_is_fresh(headers: dict[str, str]) -> None:
    """To a minute; what is not a valid header says nothing."""
    check_fresh(headers, ASKED, ANSWERED)


@pytest.mark.parametrize("age", ["61", "3600", "9" * 5000])
def test_a_caches_answer_is_refused(age: str) -> None:
    """It says what the load was."""
    assert f"kept the answer for {age[:11]} s (header Age)" in refusal(Age=age)


def test_a_server_ahead_of_us_makes_us_doubt_our_own_clock_first() -> None:
    """A daemon 20 minutes slow would ask for load of 20 minutes ago, and scale on it."""
    message = refusal(Date=date(1202))
    assert message == (
        "has a clock that is 20m ahead of ours (header Date): check this machine's clock first, then the server's; "
        "with a clock that is slow we would ask for load of the past"
    )


def test_a_server_behind_us_may_be_a_caches_answer() -> None:
    """Or its clock, or ours: each is named."""
    message = refusal(Date=date(-61))
    assert message.startswith(
        "has a clock that is 1m1s behind ours (header Date): check the server's clock, and whether"
    )


def test_a_long_exchange_is_not_a_clock_that_differs() -> None:
    """The header is written when the answer begins; a source's timeout may be minutes."""
    check_fresh({"Date": date(90)}, ASKED, ASKED + timedelta(seconds=120))
