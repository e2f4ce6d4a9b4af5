from typing import Any

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


def test_a_decision_is_one_line_with_the_change_in_it() -> None:
    """What a viewer follows: when, under which load, from which size to which, and why."""
    words = str(OUT).split()
    assert words[:4] == ["1:05", "25", "●●", "12.5"]
    assert "2 → 3" in str(OUT)
    assert str(OUT).endswith("SucceededRescale: the target's size was set to 3")


def test_workers_without_a_sample_are_part_of_the_reason() -> None:
    """The number of requests in flight is that of the others alone."""
    line = {**LINE, "metrics": [{**LINE["metrics"][0], "missing": 2}]}
    assert str(Moment.of(line, 65, 25)).endswith("the target's size was set to 3; 2 without a sample")


def test_a_failed_metric_and_an_unread_target_are_shown_as_such() -> None:
    """An outage must not look like zero load."""
    failed = {**LINE, "current": None, "written": None, "metrics": [{**LINE["metrics"][0], "value": None}]}
    words = str(Moment.of(failed, 5, 25)).split()
    assert words[:4] == ["0:05", "25", "-", "?"]


def test_out_and_back_counts() -> None:
    """The one way to exit 0."""
    summary = Summary([OUT, IN, REST], most_seen=3, seen_last=1)
    assert summary.went_out_and_back
    assert "2 → 1" in str(summary)
    assert "Scale-outs, scale-ins: 1, 1" in str(summary)


def test_what_prometheus_did_not_see_does_not_count() -> None:
    """The daemon's word alone does not prove that workers ran."""
    assert not Summary([OUT, IN, REST], most_seen=1, seen_last=1).went_out_and_back


def test_staying_scaled_out_does_not_count() -> None:
    """Half of the way is not a success."""
    assert not Summary([OUT, replace(REST, current=3)], most_seen=3, seen_last=3).went_out_and_back


def test_no_decision_at_all_does_not_count() -> None:
    """A daemon that never decided must not pass, nor break the summary."""
    summary = Summary([], most_seen=0, seen_last=0)
    assert not summary.went_out_and_back
    assert "none read" in str(summary)
