"""What is logged of a cycle."""

from typing import Any

import pytest

from autoscaler.clock import SystemClock
from autoscaler.cycle import CycleResult
from autoscaler.errors import Problem
from autoscaler.log.reporter import Reporter
from autoscaler.model import Event, EventType, Reason
from autoscaler.rules.manual import PAUSE_ENDED
from autoscaler.target.contract.harness import RecordingLogger
from tests.decisions import decision


@pytest.mark.parametrize("odd", [{"conditions": (None,)}, {"metrics": (None,)}, {"events": None}])
def test_a_decision_that_cannot_be_logged_does_not_affect_the_others(odd: dict[str, Any]) -> None:
    """Its autoscaler counts as failing, and the log names it."""
    log = RecordingLogger()
    reporter = Reporter(log, SystemClock())
    reporter.cycle_ended(CycleResult([decision("first"), decision("odd", **odd), decision("last")]))
    said = [keys["autoscaler"] for _, event, keys in log.lines if event == "decision"]
    assert said in (["first", "last"], ["first", "odd", "last"])
    (failure,) = [keys for _, event, keys in log.lines if event == "report_failed"]
    assert failure["autoscaler"] == "odd"
    assert "please report it" in failure["error"]
    assert reporter.failed_names == ["odd"]


def test_the_end_of_a_pause_is_logged() -> None:
    """The end by an operator is logged, too; other events are not."""
    log = RecordingLogger()
    ended = Event(EventType.NORMAL, PAUSE_ENDED, "the pause by ann ended by itself")
    rescaled = Event(EventType.NORMAL, Reason.SUCCESSFUL_RESCALE, "New size: 8")
    Reporter(log, SystemClock()).cycle_ended(CycleResult([decision("web", events=(rescaled, ended))]))
    (line,) = [(level, event, keys) for level, event, keys in log.lines if event not in ("decision", "cycle_ended")]
    assert line == ("info", "pause_ended", {"autoscaler": "web", "message": "the pause by ann ended by itself"})


def test_a_team_s_mistakes_are_one_line_each_time_they_change() -> None:
    """A team that writes a thousand wrong autoscalers must not fill the log."""
    log = RecordingLogger()
    reporter = Reporter(log, SystemClock())
    wrong = [Problem("web.yaml", line, 1, "", "it is wrong") for line in range(1, 1001)]
    for problems in ({"shop": wrong}, {"shop": wrong}, {"shop": wrong[:1]}, {}, {"shop": wrong[1:2]}):
        reporter.refused(problems)
    assert [(event, keys["error"], keys["problems"]) for _, event, keys in log.lines] == [
        ("team_file_refused", "web.yaml:1:1: it is wrong", 1000),
        ("team_file_refused", "web.yaml:2:1: it is wrong", 1),
    ]


def test_a_warning_of_a_target_is_logged_when_it_begins() -> None:
    """`target_warning` names the target and the remedy."""
    log = RecordingLogger()
    began = Event(EventType.WARNING, Reason.TARGET_WARNING, "workers end; see the log")
    reporter = Reporter(log, SystemClock())
    reporter.cycle_ended(CycleResult([decision("web", events=(began,), warnings=(began.message,))]))
    reporter.cycle_ended(CycleResult([decision("web", warnings=(began.message,))]))
    (line,) = [keys for _, event, keys in log.lines if event == "target_warning"]
    assert (line["autoscaler"], line["message"]) == ("web", "workers end; see the log")
