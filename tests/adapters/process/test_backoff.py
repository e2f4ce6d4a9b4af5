"""Pauses before the restart of workers that fail at once."""

from adapters.process.backoff import MAX_PAUSE_SECONDS, Backoff


def test_pauses_double_up_to_a_minute() -> None:
    """The pauses are 0.5, 1, 2, 4 s and so on, up to a minute."""
    backoff, now, pauses = Backoff(), 0.0, []
    for _ in range(30):
        backoff.failed("web-1 ended", now)
        pauses.append(backoff.until - now)
        now = backoff.until
    assert pauses[:4] == [0.5, 1, 2, 4]
    assert pauses[-1] == MAX_PAUSE_SECONDS


def test_workers_that_die_together_count_once() -> None:
    """A pool of a hundred workers must not wait a hundred times as long."""
    backoff = Backoff()
    for _ in range(100):
        backoff.failed("web-1 ended", 0)
    assert backoff.until == 0.5


def test_a_failure_is_forgotten_after_ten_steady_seconds() -> None:
    """Ten seconds without a failure reset it; until then the cause stays visible."""
    backoff = Backoff()
    backoff.failed("web-1 ended", 0)
    backoff.settle(10)
    assert backoff.cause == "web-1 ended"
    backoff.settle(10.5)
    assert backoff.cause == ""
    backoff.failed("web-2 ended", 20)
    assert backoff.until == 20.5
