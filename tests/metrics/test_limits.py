"""The use of a connection's limits, for graphs and alerts."""

from autoscaler.model import ConnectionLimits, ShardName
from tests.metrics.exposed import LIMITS, Shown, scaler


def test_the_use_of_limits_is_that_of_the_last_cycle() -> None:
    """Each shard's cycle sees the whole connection."""
    shown = Shown()
    shown.configure(scaler(), limits=LIMITS)
    assert shown.value("total_size_limit", adapter="fleet") == 40
    assert shown.value("total_size", adapter="fleet") is None
    shown.ended(shard=ShardName("fleet", 1, 2), removals_left=3, total=15)
    shown.ended(shard=ShardName("fleet", 2, 2), removals_left=2, total=17)
    assert shown.value("removal_budget_left", adapter="fleet") == 2
    assert shown.value("total_size", adapter="fleet") == 17


def test_a_connection_without_limits_has_no_series() -> None:
    """A connection that loses its limits loses the series, so that no alert remains."""
    shown = Shown()
    names = ("removal_budget_left", "total_size", "total_size_limit")
    shown.configure(scaler(), limits=LIMITS)
    shown.ended(removals_left=1, total=7)
    assert all(shown.series(name) for name in names)
    shown.configure(scaler(), limits=ConnectionLimits(max_total=3))
    assert [name for name in names if shown.series(name)] == ["total_size_limit"]
    shown.configure(scaler())
    shown.ended()
    assert not any(shown.series(name) for name in names)
