"""Charts read small rows, which are the same in the journal and in blocks."""

from typing import Any

import pytest

from autoscaler.model import MetricTarget, MetricType, TargetType
from autoscaler.record import SeriesRow
from autoscaler.record.times import to_micros
from tests.record.conftest import Opener
from tests.record.samples import at, count_rows, decision, keep, scaler
from tests.replaced import replace


def test_a_series_has_bounds_and_metrics(opener: Opener) -> None:
    """A chart of a month must not need every whole decision."""
    ledger = opener.ledger()
    keep(ledger, decision(0, size=5))
    (metric,) = decision().metrics
    blind = replace(decision(15), current=None, desired=None, metrics=(replace(metric, average_utilization=None),))
    keep(ledger, blind)
    metrics = (("cpu", TargetType.UTILIZATION, 60),)
    row = SeriesRow(to_micros(at(0)), 5, 5, 1, 20, dry_run=False, metrics=metrics, values=(65,))
    failed = row._replace(at=to_micros(at(15)), current=None, desired=None, values=(None,))
    assert opener.archive().series("web") == [row, failed]


def test_a_series_has_the_bounds_in_force(opener: Opener) -> None:
    """They are those of an override or a schedule if the decision has them, otherwise the configuration's."""
    ledger = opener.ledger()
    keep(ledger, replace(decision(0), minimum=3, maximum=7))
    keep(ledger, replace(decision(15), minimum=None, maximum=None))
    rows = opener.archive().series("web")
    assert [(row.minimum, row.maximum) for row in rows] == [(3, 7), (1, 20)]


@pytest.mark.parametrize(("since", "until", "found"), [(15, None, [15, 30]), (None, 15, [0, 15]), (15, 15, [15])])
def test_a_span_includes_both_ends(
    opener: Opener, since: float | None, until: float | None, found: list[float]
) -> None:
    ledger = opener.ledger()
    for seconds in (0, 15, 30):
        keep(ledger, decision(seconds))
    rows = opener.archive().series("web", None if since is None else at(since), None if until is None else at(until))
    assert [row.time for row in rows] == [at(seconds) for seconds in found]


@pytest.mark.parametrize(
    ("type_", "outcome"),
    [
        (TargetType.UTILIZATION, {"average_utilization": 71, "average_value": 2}),
        (TargetType.AVERAGE_VALUE, {"average_value": 71, "value": 2}),
        (TargetType.VALUE, {"value": 71}),
    ],
)
def test_a_metric_is_shown_in_the_unit_of_its_target(
    opener: Opener, type_: TargetType, outcome: dict[str, Any]
) -> None:
    (metric,) = decision().metrics
    metric = replace(metric, type=MetricType.OBJECT, target=MetricTarget(type_, 60), average_utilization=None)
    keep(opener.ledger(), replace(decision(), metrics=(replace(metric, **outcome),)))
    (row,) = opener.archive().series("web")
    assert (row.metrics, row.values) == ((("cpu", type_, 60),), (71,))


@pytest.mark.usefixtures("short_blocks")
def test_packing_does_not_change_a_series(opener: Opener) -> None:
    """A chart shows a packed hour as before."""
    ledger = opener.ledger()
    (metric,) = decision().metrics
    seen: list[SeriesRow] = []
    for cycle in range(14):
        values = replace(metric, average_utilization=None if cycle % 5 == 3 else 60 + cycle * cycle)
        metrics = (values,) if cycle < 8 else (values, replace(metric, name="memory", average_utilization=cycle))
        made = replace(decision(15 * cycle, size=5 + cycle % 3), metrics=metrics, dry_run=cycle in (6, 7))
        keep(ledger, made, scalers=[scaler(maximum=20 if cycle < 10 else 30)])
        rows = opener.archive().series("web")
        assert rows[:-1] == seen
        seen = list(rows)
    assert count_rows(ledger, "series") == 3


@pytest.mark.usefixtures("short_blocks")
def test_a_span_can_begin_and_end_within_a_block(opener: Opener) -> None:
    """The block has more rows than the span."""
    ledger = opener.ledger()
    for cycle in range(10):
        keep(ledger, decision(15 * cycle))
    rows = opener.archive().series("web", at(15), at(75))
    assert [row.time for row in rows] == [at(seconds) for seconds in (15, 30, 45, 60, 75)]
