from demo.traffic import PERIOD_SECONDS, traffic
from demo.worker import share


def test_the_wave_needs_one_worker_then_six_then_one() -> None:
    """A worker serves 10 requests. The end leaves time for scaling in."""
    assert [traffic(second) for second in (0, 35, 60, PERIOD_SECONDS - 1)] == [6, 56, 6, 6]


def test_the_wave_rises_and_falls_without_jumps() -> None:
    """Viewers can follow the decisions."""
    steps = [traffic(second + 1) - traffic(second) for second in range(PERIOD_SECONDS)]
    assert max(map(abs, steps)) <= 4
    assert {step > 0 for step in steps[6:25]} == {True}
    assert {step < 0 for step in steps[44:59]} == {True}


def test_the_wave_repeats() -> None:
    """`make run` without a limit shows it again and again."""
    assert traffic(35 + PERIOD_SECONDS) == traffic(35)


def test_a_wave_begins_only_if_it_can_end_in_time() -> None:
    """A demo of two minutes ends with one worker, not in the middle of the second wave."""
    assert {traffic(second, until=120) for second in range(PERIOD_SECONDS, 120)} == {6}
    assert traffic(35, until=50) == 56
    assert traffic(35 + PERIOD_SECONDS, until=2 * PERIOD_SECONDS) == 56


def test_workers_share_the_traffic_evenly() -> None:
    """The average times the number of workers is the traffic."""
    ports = [20004, 20001, 20002]
    shares = [share(8, ports, port) for port in ports]
    assert sum(shares) == 8
    assert max(shares) - min(shares) == 1


def test_a_worker_that_is_not_listed_has_no_traffic() -> None:
    """It has just started or is being removed."""
    assert share(8, [20001], 20002) == 0
