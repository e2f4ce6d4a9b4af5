from demo.traffic import PERIOD_SECONDS, traffic
from demo.worker import share


def test_the_wave_needs_one_worker_then_six_then_one_again() -> None:
    """The demo's promise, at 10 requests a worker, with time left at the end for scaling in."""
    assert [traffic(second) for second in (0, 35, 60, PERIOD_SECONDS - 1)] == [6, 56, 6, 6]


def test_the_wave_rises_and_falls_without_jumps() -> None:
    """A decision can be followed by eye only when the load does not leap."""
    steps = [traffic(second + 1) - traffic(second) for second in range(PERIOD_SECONDS)]
    assert max(map(abs, steps)) <= 4
    assert {step > 0 for step in steps[6:25]} == {True}
    assert {step < 0 for step in steps[44:59]} == {True}


def test_the_wave_repeats() -> None:
    """`make run` without an end shows it again and again."""
    assert traffic(35 + PERIOD_SECONDS) == traffic(35)


def test_no_wave_begins_that_cannot_end_in_time() -> None:
    """A demo of two minutes ends at one worker, not in the middle of the second wave."""
    assert {traffic(second, until=120) for second in range(PERIOD_SECONDS, 120)} == {6}
    assert traffic(35, until=50) == 56
    assert traffic(35 + PERIOD_SECONDS, until=2 * PERIOD_SECONDS) == 56


def test_workers_share_all_of_the_traffic_evenly() -> None:
    """Nothing is lost or counted twice, so that the average times the workers is the traffic."""
    ports = [20004, 20001, 20002]
    shares = [share(8, ports, port) for port in ports]
    assert sum(shares) == 8
    assert max(shares) - min(shares) == 1


def test_a_worker_that_is_not_listed_has_no_traffic() -> None:
    """A worker that has just started or is going away is not behind the balancer."""
    assert share(8, [20001], 20002) == 0
