"""The judge of records finds violations. Each test simulates a life with one violation."""

from rehearse.remembered import forgotten, unexplained
from tests.rehearse.lived import forget_window, lived
from tests.replaced import replace


def test_a_right_life_has_no_finding() -> None:
    for dies_at in (None, 3, 12):  # a cycle whose outcome was not committed leaves its write unfinished
        records, _ = lived(dies_at=dies_at)
        assert list(forgotten(records)) == []
        assert list(unexplained(records)) == []


def test_a_forgotten_window_is_found() -> None:
    records, _ = lived(forgets_at=(12,), forget=forget_window)
    assert len(list(forgotten(records))) == 1


def test_a_decision_that_cannot_be_repeated_is_found() -> None:
    records, _ = lived()
    records[5] = replace(records[5], decision=replace(records[5].decision, desired=19))
    assert "decided otherwise" in next(forgotten(records))


def test_a_size_without_a_write_is_found() -> None:
    records, _ = lived()
    records[20] = replace(records[20], decision=replace(records[20].decision, current=17))
    assert "found 17" in next(unexplained(records))
