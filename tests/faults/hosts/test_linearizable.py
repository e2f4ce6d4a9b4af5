"""The judge of histories: what it must let pass, and what it must not."""

import pytest

from tests.faults.hosts.linearizable import Operation, not_linearizable

pytestmark = pytest.mark.slow


def scale(start: int, size: int, call: int, answered: int, client: int = 1, target: str = "web") -> Operation:
    return Operation(target=target, client=client, kind="scale", start=start, size=size, call=call, answered=answered)


def look(size: int, at: int) -> Operation:
    return Operation(target="web", client=0, kind="look", size=size, call=at, answered=at + 1)


def test_writes_one_after_another_are_in_order() -> None:
    assert not_linearizable([look(2, 0), scale(2, 4, 10, 20), look(4, 30), scale(4, 3, 40, 50, client=2)]) == {}


def test_a_late_write_before_the_successor_has_looked_is_in_order() -> None:
    """Its predecessor's request was on its way when the lease ended, and came first."""
    assert not_linearizable([scale(2, 4, 0, 60), scale(4, 5, 50, 90, client=2)]) == {}


def test_two_writes_decided_from_one_size_are_not() -> None:
    """Both daemons saw 2 instances; the second one's write undid the first one's."""
    found = not_linearizable([look(2, 0), scale(2, 4, 5, 60), scale(2, 3, 30, 90, client=2)])
    assert found["web"].startswith("illegal: after ")
    assert "From:2 Size:3" in found["web"]


def test_a_size_that_nobody_set_is_not() -> None:
    assert set(not_linearizable([scale(2, 4, 0, 10), look(5, 20)])) == {"web"}


def test_each_target_is_judged_alone() -> None:
    history = [scale(2, 4, 0, 60), scale(2, 4, 0, 60, target="shop"), scale(2, 3, 30, 90, client=2)]
    assert set(not_linearizable(history)) == {"web"}


def test_a_write_within_the_documented_window_counts_with_its_size_alone() -> None:
    """What was decided from the size that it set is in order; one that was decided from another is not."""
    late = Operation(target="web", client=1, kind="set", size=6, call=40, answered=50)
    assert not_linearizable([scale(2, 4, 0, 10), late, scale(6, 5, 60, 70, client=2)]) == {}
    assert set(not_linearizable([scale(2, 4, 0, 10), late, scale(4, 5, 60, 70, client=2)])) == {"web"}
