"""The judge of histories accepts right ones and finds wrong ones."""

import pytest

from rehearse.hosts.linearizable import Operation, not_linearizable

pytestmark = pytest.mark.slow


def scale(start: int, size: int, call: int, answered: int, client: int = 1, target: str = "web") -> Operation:
    return Operation(target=target, client=client, kind="scale", start=start, size=size, call=call, answered=answered)


def look(size: int, at: int) -> Operation:
    return Operation(target="web", client=0, kind="look", size=size, call=at, answered=at + 1)


def test_consecutive_writes_are_linearizable() -> None:
    assert not_linearizable([look(2, 0), scale(2, 4, 10, 20), look(4, 30), scale(4, 3, 40, 50, client=2)]) == {}


def test_a_late_write_before_the_successors_read_is_linearizable() -> None:
    """The predecessor's request was on its way when the lease ended, and arrived first."""
    assert not_linearizable([scale(2, 4, 0, 60), scale(4, 5, 50, 90, client=2)]) == {}


def test_two_writes_from_one_size_are_not_linearizable() -> None:
    """Both daemons saw 2 instances; the second one's write undid the first one's."""
    found = not_linearizable([look(2, 0), scale(2, 4, 5, 60), scale(2, 3, 30, 90, client=2)])
    assert found["web"].startswith("illegal: after ")
    assert "From:2 Size:3" in found["web"]


def test_a_size_without_a_write_is_not_linearizable() -> None:
    assert set(not_linearizable([scale(2, 4, 0, 10), look(5, 20)])) == {"web"}


def test_each_target_is_judged_by_itself() -> None:
    history = [scale(2, 4, 0, 60), scale(2, 4, 0, 60, target="shop"), scale(2, 3, 30, 90, client=2)]
    assert set(not_linearizable(history)) == {"web"}


def test_only_the_size_of_a_write_in_the_documented_window_counts() -> None:
    """A decision from the size that it set is right; a decision from another size is not."""
    late = Operation(target="web", client=1, kind="set", size=6, call=40, answered=50)
    assert not_linearizable([scale(2, 4, 0, 10), late, scale(6, 5, 60, 70, client=2)]) == {}
    assert set(not_linearizable([scale(2, 4, 0, 10), late, scale(4, 5, 60, 70, client=2)])) == {"web"}
