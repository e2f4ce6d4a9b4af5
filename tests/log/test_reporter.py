"""What is said of a cycle."""

from typing import Any

import pytest

from autoscaler.clock import SystemClock
from autoscaler.log.reporter import Reporter
from autoscaler.target.contract.harness import RecordingLogger
from tests.decisions import decision


@pytest.mark.parametrize("odd", [{"conditions": (None,)}, {"metrics": (None,)}, {"warnings": None}])
def test_a_decision_that_cannot_be_said_silences_no_other(odd: dict[str, Any]) -> None:
    """Its own autoscaler counts as failing, and the log says which."""
    log = RecordingLogger()
    reporter = Reporter(log, SystemClock())
    reporter.cycle_ended([decision("first"), decision("odd", **odd), decision("last")], ())
    said = [keys["autoscaler"] for _, event, keys in log.lines if event == "decision"]
    assert said in (["first", "last"], ["first", "odd", "last"])
    (failure,) = [keys for _, event, keys in log.lines if event == "report_failed"]
    assert failure["autoscaler"] == "odd"
    assert "please report it" in failure["error"]
    assert reporter.failed_names == ["odd"]
