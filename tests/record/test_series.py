"""Charts show each decision within `state.detail`, and older changes of size and bounds."""

from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import delete

from autoscaler.model import MetricTarget, MetricType, TargetType
from autoscaler.record import schema
from autoscaler.record.series import SeriesRow
from autoscaler.record.times import to_micros
from tests.decisions import bounds
from tests.record.conftest import Opener, each_database, kept_for
from tests.record.samples import at, count_blocks, decision, keep, scaler
from tests.replaced import replace


def test_a_series_has_bounds_and_metrics(opener: Opener) -> None:
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
    keep(ledger, replace(decision(0), bounds=bounds(3, 7)))
    keep(ledger, replace(decision(15), bounds=None))
    rows = opener.archive().series("web")
    assert [(row.minimum, row.maximum) for row in rows] == [(3, 7), (1, 20)]


@pytest.mark.usefixtures("short_blocks")
@pytest.mark.parametrize(("since", "until"), [(75, None), (None, 75), (15, 75), (105, 105)])
def test_a_span_includes_both_ends(opener: Opener, since: float | None, until: float | None) -> None:
    """A block has more rows than the span."""
    ledger = opener.ledger()
    times = [15 * cycle for cycle in range(8)]
    for seconds in times:
        keep(ledger, decision(seconds))
    rows = opener.archive().series("web", None if since is None else at(since), None if until is None else at(until))
    assert [row.time for row in rows] == [at(each) for each in times if (since or 0) <= each <= (until or 105)]


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
    assert count_blocks(ledger, packed=True) == 3


@each_database
@pytest.mark.usefixtures("short_blocks")
def test_beyond_the_detail_a_series_has_the_changes(opener: Opener) -> None:
    """A chart of a month shows sizes and bounds. The size at its beginning was set by an earlier change."""
    ledger = opener.ledger(kept_for(detail=timedelta(hours=2), retention=timedelta(hours=24)))
    for quarter in range(40):
        keep(ledger, decision(900 * quarter, size=5 + quarter // 8), scalers=[scaler(maximum=20 + quarter // 16)])
    archive = opener.archive()
    begin = archive.detail_since("web")
    assert begin is not None
    rows = archive.series("web", at(900 * 10))
    old = [row for row in rows if row.time < begin]
    assert [(row.time, row.desired, row.maximum) for row in old] == [
        (at(900 * 10), 6, 20),
        (at(900 * 16), 7, 21),
        (at(900 * 24), 8, 21),
    ]
    assert {row.metrics for row in old} == {()}
    recent = rows[len(old) :]
    assert [row.time for row in recent] == [begin + timedelta(minutes=15 * n) for n in range(len(recent))]
    assert all(row.metrics for row in recent)
    assert archive.series("web", begin) == recent


@each_database
def test_a_series_begins_with_the_change_to_the_newest_target(opener: Opener) -> None:
    """The size of a former target is not that of the autoscaler."""
    ledger = opener.ledger()
    keep(ledger, decision(0, target="old", size=5))
    keep(ledger, decision(15, target="new", size=7))
    with ledger._context.database.writing() as connection:
        connection.execute(delete(schema.block))
    (row,) = opener.archive().series("web", at(30))
    assert (row.time, row.desired) == (at(30), 7)
