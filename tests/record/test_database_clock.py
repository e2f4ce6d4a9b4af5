"""PostgreSQL: what a look at the database's clock says, whose answer was on the way for some time."""

from datetime import timedelta

import pytest

from autoscaler.record.database_clock import DatabaseClock
from tests.record.samples import START
from tests.schedule.clock import FakeClock


@pytest.mark.parametrize(
    ("asked", "stamped", "answered", "moved"),
    [(0, 0, 0, 0), (0, 4, 4, 0), (0, 0, 4, 0), (0, 7, 4, 3), (0, -2, 4, -2)],
    ids=["at once", "slow on the way there", "slow on the way back", "certainly ahead", "certainly behind"],
)
def test_a_slow_answer_moves_the_clock_no_further_than_it_shows(
    asked: float, stamped: float, answered: float, moved: float
) -> None:
    """Seconds by the clock that is known. Else each slow answer would look like a step of the database's clock."""
    machine = FakeClock(START)
    clock = DatabaseClock(machine)
    sent = clock.elapsed() + timedelta(seconds=asked)
    machine.advance(answered)
    booted = clock.seen(START + timedelta(seconds=stamped), sent, clock.elapsed())
    assert booted - clock.booted == timedelta(seconds=moved)
