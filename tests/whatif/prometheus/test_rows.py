"""Runs of steps."""

from autoscaler.whatif.prometheus.rows import bridged, complement, covers, union


def test_runs_that_touch_or_overlap_are_one() -> None:
    assert union([(5, 7), (0, 2), (2, 3), (6, 9)]) == [(0, 3), (5, 9)]


def test_the_steps_in_none_of_them() -> None:
    assert complement([(1, 3), (5, 6)], 8) == [(0, 1), (3, 5), (6, 8)]
    assert complement([(0, 8)], 8) == []


def test_a_step_belongs_to_a_run_from_its_first_up_to_its_last() -> None:
    assert [covers([(2, 4)], index) for index in range(6)] == [False, False, True, True, False, False]


def test_only_what_lies_in_one_gap_is_bridged() -> None:
    """An instance that was gone while Prometheus was scraping others was gone."""
    assert bridged([(0, 3), (5, 8), (9, 10)], [(3, 5)]) == [(0, 8), (9, 10)]
    assert bridged([(0, 3), (6, 8)], [(3, 4), (5, 6)]) == [(0, 3), (6, 8)]
