from typing import Any

import pytest

from demo.show import Moment, Summary
from tests.replaced import replace

LINE: dict[str, Any] = {
    "level": "info",
    "current": 2,
    "desired": 3,
    "written": 3,
    "why": "inflight 12.5 of 10 -> 3",
}
OUT = Moment.of(LINE, 65, 25)
IN = replace(OUT, current=2, desired=1, written=1)
REST = replace(OUT, current=1, desired=1, written=None)


def test_a_decision_is_one_line_with_its_cause() -> None:
    """The line shows the time, the load, the size before, and why."""
    assert str(OUT).split()[:4] == ["1:05", "25", "●●", "2"]
    assert str(OUT).endswith("  inflight 12.5 of 10 -> 3")


def test_a_failed_decision_is_marked() -> None:
    """An outage must not look like zero load."""
    failed = {**LINE, "level": "warning", "current": None, "written": None, "why": "the size could not be read: no"}
    assert Moment.of(failed, 5, 25).failed
    assert str(Moment.of(failed, 5, 25)).split()[:3] == ["0:05", "25", "?"]


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
