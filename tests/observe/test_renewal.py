"""Values that end, such as tokens, and their renewal."""

import threading
import time
from collections.abc import Callable

import pytest

from autoscaler.errors import MetricError
from autoscaler.observe.renewal import Renewed
from tests.clocks import FakeClock
from tests.waiting import until


class Giver:
    """Gives the values 1, 2, …; the test says how long they last and what happens before."""

    def __init__(self, lasts: float = 100.0) -> None:
        self.lasts = lasts
        self.asked = 0
        self.before: Callable[[], object] = lambda: None

    def __call__(self) -> tuple[int, float]:
        self.asked += 1
        self.before()
        return self.asked, self.lasts


def world(lasts: float = 100.0) -> tuple[FakeClock, Giver, Renewed[int]]:
    clock, giver = FakeClock(), Giver(lasts)
    return clock, giver, Renewed(giver, "the giver", clock)


def refuse() -> None:
    raise MetricError("cannot be asked: refused")


def test_one_value_serves_all_callers_until_shortly_before_its_end() -> None:
    """A token for each query would burden the server that gives them."""
    clock, giver, renewed = world()
    assert renewed.get(30) == 1
    clock.advance(79)
    assert (renewed.get(30), giver.asked) == (1, 1)


def test_a_renewal_that_hangs_delays_no_caller_while_the_old_value_lasts() -> None:
    """An identity provider that is slow must not hold up a shard."""
    clock, giver, renewed = world()
    renewed.get(30)
    go = threading.Event()
    giver.before = lambda: go.wait(60)
    clock.advance(81)
    assert renewed.get(30) == 1
    until(lambda: giver.asked == 2, "the renewal")
    assert renewed.get(30) == 1
    go.set()
    until(lambda: renewed.get(30) == 2, "the new value")


def test_callers_wait_no_longer_than_their_time_after_the_renewal_began() -> None:
    """Otherwise each of a thousand queries would wait anew for a server that hangs.

    The message is the same for all callers, whose times differ, so that equal events are counted.
    """
    clock, giver, renewed = world()
    go = threading.Event()
    giver.before = lambda: go.wait(60)
    with pytest.raises(MetricError, match=r"^was not asked: the giver did not answer in time$"):
        renewed.get(0.05)
    clock.advance(50)
    began = time.monotonic()
    with pytest.raises(MetricError, match=r"^was not asked: the giver did not answer in time$"):
        renewed.get(50)
    assert (time.monotonic() - began < 40, giver.asked) == (True, 1)
    go.set()
    until(lambda: not renewed._renewing, "the end of the renewal")
    assert renewed.get(20) == 1


def test_a_failure_is_repeated_for_some_seconds_and_then_tried_again() -> None:
    """The queries of one cycle must not each ask a server that refuses."""
    clock, giver, renewed = world()
    giver.before = refuse
    for _ in range(3):
        with pytest.raises(MetricError, match="cannot be asked: refused"):
            renewed.get(30)
    assert giver.asked == 1
    clock.advance(5)
    giver.before = lambda: None
    assert renewed.get(30) == 2


def test_an_old_value_is_used_until_its_end_and_no_longer() -> None:
    """A server that gives no new token for a while costs nothing before the old one ends."""
    clock, giver, renewed = world()
    renewed.get(30)
    giver.before = refuse
    clock.advance(99)
    assert renewed.get(30) == 1
    until(lambda: giver.asked == 2 and not renewed._renewing, "what the test waits for")
    clock.advance(1)
    with pytest.raises(MetricError, match="refused"):
        renewed.get(30)


def test_a_refused_value_is_replaced_at_most_once_a_minute() -> None:
    """A key may have been changed; a client without rights must not ask for a token with each query."""
    clock, giver, renewed = world()
    renewed.get(30)
    clock.advance(59)
    renewed.refused()
    assert renewed.get(30) == 1
    clock.advance(1)
    renewed.refused()
    until(lambda: renewed.get(30) == 2, "the new value")
    renewed.refused()
    assert (renewed.get(30), giver.asked) == (2, 2)


def test_a_refused_value_is_used_while_no_other_comes() -> None:
    """A proxy may refuse one query, whose source's other queries need the value."""
    clock, giver, renewed = world()
    renewed.get(30)
    go = threading.Event()
    giver.before = lambda: go.wait(60)
    clock.advance(60)
    renewed.refused()
    assert renewed.get(30) == 1
    clock.advance(1)
    renewed.refused()
    assert renewed.get(30) == 1
    until(lambda: giver.asked == 2, "the renewal")
    go.set()
    until(lambda: renewed.get(30) == 2, "the new value")


def test_a_bug_is_an_error_of_the_callers() -> None:
    """Without it they would wait until their time is over."""
    _, giver, renewed = world()
    giver.before = lambda: {}.clear(1)  # type: ignore[call-arg]
    with pytest.raises(MetricError, match=r"TypeError at .* this is a bug"):
        renewed.get(30)
