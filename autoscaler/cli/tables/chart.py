"""`autoscaler history`: bars over time, in eighths of a line, or rows."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Final

from autoscaler.documents.history import HistoryDocument, Point, PointMetric
from autoscaler.documents.metric import decimal
from autoscaler.layout import BOLD, CYAN, DIM, UNKNOWN, YELLOW, Screen, Table, or_unknown
from autoscaler.model import TargetType
from autoscaler.text import clean

_EIGHTHS: Final = " ▁▂▃▄▅▆▇█"
_HEIGHT: Final = 8
_METRIC_HEIGHT: Final = 4
_NARROWEST: Final = 20
_WIDEST: Final = 160
"""The most columns of bars."""


def plot(history: HistoryDocument, screen: Screen) -> list[str]:
    """Return a chart of the size and below it one of each metric, over the same time."""
    names = dict.fromkeys(metric.name for point in history.points for metric in point.metrics)
    sizes = [(point.at, _size(point)) for point in history.points]
    known = [size for _, size in sizes if size is not None]
    shadows = [(point.at, point.shadow) for point in history.points]
    followed = [size for _, size in shadows if size is not None]
    highest = max([*known, *followed, 1])
    charts: list[tuple[str, Sequence[tuple[datetime, float | None]], float, int, str]] = [
        (_sizes_title(history, known), sizes, highest, _HEIGHT, CYAN)
    ]
    if followed:
        charts.append((_shadow_title(followed), shadows, highest, _HEIGHT, CYAN))
    for name in names:
        known_at = [(point.at, _metric(point, name)) for point in history.points]
        values = [(at, None if metric is None else metric.value) for at, metric in known_at]
        last = next(metric for _, metric in reversed(known_at) if metric is not None)
        top = max([*(value for _, value in values if value is not None), last.target or 0, 0])
        charts.append((_metric_title(last, values), values, top or 1, _METRIC_HEIGHT, YELLOW))
    since = max(history.since, min(point.at for point in history.points))  # the clock may have been set back
    margin = max(len(_label(top)) for _, _, top, _, _ in charts)
    columns = max(_NARROWEST, min(_WIDEST, (screen.width or 80) - margin - 2))
    lines = [screen.paint(BOLD, clean(history.name))]
    for title, series, top, height, colour in charts:
        lines += ["", title]
        bars = _buckets(series, since, history.until, columns)
        for place, row in enumerate(_rows(bars, top, height)):
            label = _label(top) if place == 0 else "0" if place == height - 1 else ""
            lines.append(f"{label.rjust(margin)} {screen.paint(DIM, '┤')}{screen.paint(colour, row.rstrip())}".rstrip())
    begin, end = _clock(since, history), _clock(history.until, history)
    axis = " " * (margin + 2) + begin + end.rjust(columns - len(begin))
    return [*lines, screen.paint(DIM, axis)]


def _buckets(
    series: Sequence[tuple[datetime, float | None]], since: datetime, until: datetime, columns: int
) -> list[float | None]:
    """Return the highest value in the time of each column; without one, the previous column's; None: unknown."""
    span = (until - since) / columns
    found: list[list[float]] = [[] for _ in range(columns)]
    gaps = [False] * columns
    for at, value in series:
        place = min(max((at - since) // span, 0), columns - 1)
        if value is None:
            gaps[place] = True
        else:
            found[place].append(value)
    bars: list[float | None] = []
    last = max(((at - since) // span for at, _ in series), default=0)
    for place, (values, gap) in enumerate(zip(found, gaps, strict=True)):
        held = bars[-1] if bars and not gap and place <= last else None
        bars.append(max(values) if values else held)
    return bars


def _rows(bars: Sequence[float | None], top: float, height: int) -> Iterator[str]:
    """Yield the lines of bars, the highest first. Every value above 0 is visible."""
    for row in range(height - 1, -1, -1):
        line = ""
        for value in bars:
            eighths = 0 if value is None or value <= 0 else max(1, round(min(value / top, 1) * height * 8))
            line += _EIGHTHS[min(max(eighths - row * 8, 0), 8)]
        yield line


def _size(point: Point) -> int | None:
    """Return the size after the decision: the wanted one, unless it was only proposed."""
    return point.current if point.dry_run or point.desired is None else point.desired


def _sizes_title(history: HistoryDocument, known: Sequence[int]) -> str:
    last = history.points[-1]
    text = f"{known[0]} -> {known[-1]}, {min(known)} to {max(known)}" if known else UNKNOWN
    bounds = f"bounds {last.minimum} to {last.maximum}"
    return f"replicas: {text}; {bounds}; {history.decisions} decisions" + (" (dry run)" if last.dry_run else "")


def _shadow_title(sizes: Sequence[int]) -> str:
    return f"shadow (dry run): {sizes[0]} -> {sizes[-1]}, {min(sizes)} to {max(sizes)}"


def _metric_title(last: PointMetric, values: Sequence[tuple[datetime, float | None]]) -> str:
    known = [value for _, value in values if value is not None]
    kind = last.target_type
    failed = len(values) - len(known)
    text = f"{decimal(min(known), kind)} to {decimal(max(known), kind)}" if known else UNKNOWN
    target = "" if last.target is None else f"; target {decimal(last.target, kind)}"
    average = "" if kind is TargetType.VALUE else " (average)"
    return f"{clean(last.name)}{average}: {text}{target}" + (f"; no value in {failed} decisions" if failed else "")


def _label(value: float) -> str:
    """Return the label of an axis."""
    return decimal(value, TargetType.VALUE)


def _metric(point: Point, name: str) -> PointMetric | None:
    return next((metric for metric in point.metrics if metric.name == name), None)


def _clock(at: datetime, history: HistoryDocument) -> str:
    form = "%H:%M:%S" if (history.until - history.since).total_seconds() <= 86_400 else "%Y-%m-%d %H:%M"
    return at.astimezone().strftime(form)


def rows(history: HistoryDocument) -> list[str]:
    """Return a row for each decision, for pipes."""
    shadow = any(point.shadow is not None for point in history.points)
    table = Table(("TIME", "CURRENT", *(["SHADOW"] if shadow else []), "DESIRED", "MIN", "MAX", "METRICS"), Screen())
    return table.lines(
        [
            (
                point.at.astimezone().isoformat(timespec="milliseconds"),
                or_unknown(point.current),
                *([or_unknown(point.shadow)] if shadow else []),
                or_unknown(point.desired),
                str(point.minimum),
                str(point.maximum),
                ", ".join(_metric_text(metric) for metric in point.metrics),
            )
            for point in history.points
        ]
    )


def _metric_text(metric: PointMetric) -> str:
    kind = metric.target_type
    value = UNKNOWN if metric.value is None else decimal(metric.value, kind)
    return f"{clean(metric.name)}: {value}" + ("" if metric.target is None else f"/{decimal(metric.target, kind)}")
