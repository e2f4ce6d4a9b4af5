from typing import Any

import pytest

from demo.show import Moment, Summary
from tests.replaced import replace

LINE: dict[str, Any] = {
    "current": 2,
    "desired": 3,
    "written": 3,
    "reason": "SucceededRescale",
    "message": "the target's size was set to 3",
    "metrics": [{"name": "inflight", "type": "Pods", "value": "12500m", "target": "10"}],
}
OUT = Moment.of(LINE, 65, 25)
IN = replace(OUT, current=2, desired=1, written=1)
REST = replace(OUT, current=1, desired=1, written=None)


def test_a_decision_is_one_line_with_its_change() -> None:
    """The line shows the time, the load, both sizes and the reason."""
    words = str(OUT).split()
    assert words[:4] == ["1:05", "25", "●●", "12.5"]
    assert "2 → 3" in str(OUT)
    assert str(OUT).endswith("SucceededRescale: the target's size was set to 3")


def test_workers_without_a_sample_are_part_of_the_reason() -> None:
    """The number of requests is that of the others."""
    line = {**LINE, "metrics": [{**LINE["metrics"][0], "missing": 2}]}
    assert str(Moment.of(line, 65, 25)).endswith("the target's size was set to 3; 2 without a sample")


def test_a_failed_metric_and_an_unread_target_are_marked() -> None:
    """An outage must not look like zero load."""
    failed = {**LINE, "current": None, "written": None, "metrics": [{**LINE["metrics"][0], "value": None}]}
    words = str(Moment.of(failed, 5, 25)).split()
    assert words[:4] == ["0:05", "25", "-", "?"]


def test_scaling_out_and_in_is_a_success() -> None:
    summary = Summary([OUT, IN, REST], most_seen=3, seen_last=1)
    assert summary.went_out_and_back
    assert "2 → 1" in str(summary)
    assert "Scale-outs, scale-ins: 1, 1" in str(summary)


@pytest.mark.parametrize(
    "summary",
    [
        Summary([OUT, IN, REST], most_seen=1, seen_last=1),
        Summary([OUT, replace(REST, current=3)], most_seen=3, seen_last=3),
    ],
    ids=["Prometheus did not see the workers", "no scale-in"],
)
def test_a_demo_that_does_not_scale_out_and_in_is_no_success(summary: Summary) -> None:
    assert not summary.went_out_and_back


def test_a_demo_without_decisions_is_no_success() -> None:
    summary = Summary([], most_seen=0, seen_last=0)
    assert not summary.went_out_and_back
    assert "none read" in str(summary)
