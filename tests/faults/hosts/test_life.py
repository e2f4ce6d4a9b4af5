"""The judge of the rehearsals of several hosts counts a late write as the daemons do."""

from autoscaler.record.times import to_micros
from tests.faults.hosts.life import _arrived
from tests.faults.hosts.recorder import Order, Write
from tests.faults.hosts.verdict import Announced, Decided
from tests.faults.test_judge import lived


def test_a_late_write_counts_if_a_successor_found_that_it_arrived() -> None:
    """The successor remembers the change at the time of its decision."""
    records, asked = lived()

    def late(seconds: int) -> Decided:
        decided = to_micros(asked[0].at) + seconds * 1_000_000
        write = Write(0, Order("aws/oak", 6, None), decided, status=200, answered=decided + 9)
        return Decided(write, Announced("web", "aws/oak", 6, 2, decided, decided, "member-0", 0))

    assert _arrived(records, [late(0), late(1)]) == [late(0)]
