"""`autoscaler history`, without a terminal."""

import json
import re

from autoscaler.cli.history import rows
from autoscaler.layout import Screen
from autoscaler.model import TargetType
from autoscaler.view.history import HistoryDocument, Point, PointMetric
from tests.cli.scene import Scene, ServedScene
from tests.decisions import NOW


def test_each_decision_has_a_row(online: ServedScene) -> None:
    said = online.run("history", "web")
    assert said.code == 0
    rows = [re.sub(r"\(\w+ ago\)", "", line).split(maxsplit=5) for line in said.lines]
    assert rows[0] == ["TIME", "CURRENT", "DESIRED", "MIN", "MAX", "METRICS"]
    assert [row[1:] for row in rows[1:]] == [
        ["3", "3", "2", "10", "cpu: 60%/60%"],
        ["3", "6", "2", "10", "cpu: 120%/60%"],
        ["6", "6", "2", "10", "cpu: 60%/60%"],
        ["6", "6", "2", "10", "cpu: 60%/60%"],
    ]


def test_json_has_the_points_also_without_a_daemon(offline: Scene) -> None:
    found = json.loads(offline.run("history", "web", "--since", "10m", "-o", "json").out)
    assert [point["desired"] for point in found["points"]] == [3, 6, 6, 6]


def test_without_decisions_the_command_suggests_since(online: ServedScene) -> None:
    """Standard output stays empty for scripts."""
    said = online.run("history", "web", "--since", "2h", "--until", "1h")
    assert (said.code, said.out) == (0, "")
    assert said.err == "no decisions in this time; --since looks further back\n"


def test_a_metric_that_was_not_read_is_no_failure() -> None:
    """Outside the bounds no metric is read."""
    fine = PointMetric(name="queue", target_type=TargetType.VALUE, value=5.0, target=10.0)
    failed = fine.model_copy(update={"value": None})
    points = [
        Point(at=NOW, current=2, desired=2, minimum=1, maximum=9, dry_run=False, metrics=metrics)
        for metrics in ((fine,), (failed,), ())
    ]
    found = HistoryDocument(name="web", since=NOW, until=NOW, points=tuple(points), decisions=3, events=())
    assert [line.split("   ")[-1].strip() for line in rows(found, NOW, Screen())[1:]] == [
        "queue: 5/10",
        "queue: <unknown>/10",
        "queue: <not read>",
    ]
