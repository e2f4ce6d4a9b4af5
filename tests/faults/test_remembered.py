"""What is looked for in records is found: a life is simulated, and one thing in it is wrong."""

from tests.faults.remembered import forgotten, unexplained
from tests.faults.test_judge import forget_window, lived
from tests.replaced import replace


def test_a_life_in_which_nothing_was_forgotten_has_no_finding() -> None:
    for dies_at in (None, 3, 12):  # a cycle whose outcome was not committed leaves its write unfinished
        records, _ = lived(dies_at=dies_at)
        assert list(forgotten(records)) == []
        assert list(unexplained(records)) == []


def test_a_window_that_was_forgotten_is_found() -> None:
    records, _ = lived(forgets_at=(12,), forget=forget_window)
    assert len(list(forgotten(records))) == 1


def test_a_decision_that_does_not_come_out_again_is_found() -> None:
    records, _ = lived()
    records[5] = replace(records[5], decision=replace(records[5].decision, desired=19))
    assert "decided otherwise" in next(forgotten(records))


def test_a_size_that_nobody_wrote_is_found() -> None:
    records, _ = lived()
    records[20] = replace(records[20], decision=replace(records[20].decision, current=17))
    assert "found 17" in next(unexplained(records))
