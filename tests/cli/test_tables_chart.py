"""The plot of `autoscaler history`."""

from datetime import UTC, datetime, timedelta

from autoscaler.cli.tables.chart import plot, rows
from autoscaler.documents.history import HistoryDocument, Point, PointMetric
from autoscaler.layout import Screen
from autoscaler.model import TargetType

START = datetime(2026, 1, 1, 12, tzinfo=UTC)
WIDTH = 24  # 20 columns of bars


def history(*sizes: int | None, until: float | None = None, dry_run: bool = False) -> HistoryDocument:
    """A decision a second; a size of None could not be read."""
    points = [
        Point(
            at=START + timedelta(seconds=number),
            current=size,
            desired=size,
            minimum=1,
            maximum=10,
            dry_run=dry_run,
            metrics=(PointMetric(name="queue", target_type=TargetType.VALUE, value=size and size * 2.5, target=10.0),),
        )
        for number, size in enumerate(sizes)
    ]
    end = START + timedelta(seconds=len(sizes) if until is None else until)
    return HistoryDocument(name="web", since=START, until=end, points=tuple(points), decisions=len(points), events=())


def bars(document: HistoryDocument) -> list[str]:
    """The size's chart, the highest line first."""
    lines = plot(document, Screen(width=WIDTH))
    start = next(number for number, line in enumerate(lines) if line.startswith("replicas"))
    return [line.partition("┤")[2] for line in lines[start + 1 : start + 9]]


def test_heights_are_proportional() -> None:
    drawn = bars(history(4, 8))
    assert drawn[0] == " " * 10 + "█"
    assert drawn[4] == "█" * 11


def test_an_unknown_size_is_a_gap() -> None:
    """It is neither zero nor the previous size."""
    assert bars(history(8, None, 8, 8))[7] == "█" * 5 + " " * 5 + "█" * 6


def test_a_size_above_zero_is_visible() -> None:
    assert bars(history(1, 100))[7][0] == "▁"


def test_after_the_last_decision_nothing_is_drawn() -> None:
    """A daemon that does not run decides nothing."""
    assert bars(history(8, 8, until=4))[7].rstrip() == "█" * 6


def test_a_history_of_zeros_is_empty() -> None:
    """The scale must not divide by zero."""
    assert "".join(bars(history(0, 0))).strip() == ""


def test_unknown_sizes_are_reported() -> None:
    """The target was never read."""
    assert "replicas: <unknown>; bounds 1 to 10; 2 decisions" in plot(history(None, None), Screen(width=WIDTH))


def test_each_metric_has_its_own_chart_and_a_dry_run_is_marked() -> None:
    """Metrics have different scales."""
    lines = plot(history(2, 4, dry_run=True), Screen(width=WIDTH))
    assert "replicas: 2 -> 4, 2 to 4; bounds 1 to 10; 2 decisions (dry run)" in lines
    assert "queue: 5 to 10; target 10" in lines


def test_values_have_the_notation_of_explain() -> None:
    """The scale, the title and the rows show 9.33, not 9.3 or 9.333."""
    document = history(1)
    metric = PointMetric(name="queue", target_type=TargetType.VALUE, value=9.3333, target=2.0)
    document = document.model_copy(update={"points": (document.points[0].model_copy(update={"metrics": (metric,)}),)})
    lines = plot(document, Screen(width=WIDTH))
    assert "queue: 9.33 to 9.33; target 2" in lines
    assert any(line.startswith("9.33 ┤") for line in lines)
    assert rows(document)[1].endswith("queue: 9.33/2")


def test_decisions_from_before_a_clock_step_back_are_drawn() -> None:
    """They come first and have later times than the others."""
    document = history(8, 8, 8)
    times = [START + timedelta(seconds=seconds) for seconds in (20, 0, 10)]
    points = [point.model_copy(update={"at": at}) for point, at in zip(document.points, times, strict=True)]
    asked = document.model_copy(
        update={"points": tuple(points), "since": START - timedelta(hours=1), "until": START + timedelta(seconds=20)}
    )
    assert bars(asked)[7].rstrip() == "█" * 20
