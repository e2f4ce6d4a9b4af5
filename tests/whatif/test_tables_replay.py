"""The text of `replay`."""

from autoscaler.layout import Screen
from autoscaler.whatif.compare.fit import Fit
from autoscaler.whatif.past.past import Finding, FindingKind
from autoscaler.whatif.tables.replay import replay_lines
from tests.decide.build import NOW
from tests.whatif.courses import course, curve, made_up


def text(*findings: Finding, fit: Fit | None = None) -> str:
    found = made_up(curve([2, 2]), course([2, 2]), findings=findings, fit=fit)
    return "\n".join(replay_lines(found, Screen()))


def fit(*, holds: bool) -> Fit:
    hours = {"instance_hours": 8.0, "simulated_instance_hours": 8.1}
    return Fit(seconds=30, unserved=0.034, simulated_unserved=0.769, holds=holds, **hours)


def test_a_finding_about_the_load_stands_before_the_measures() -> None:
    queue = Finding(NOW, NOW, FindingKind.LOAD, "External metric jobs is a queue")
    gap = Finding(NOW, NOW, FindingKind.GAP, "no cycle is known for 1m")
    said = text(queue, gap)
    assert said.index("jobs is a queue.") < said.index("MEASURE") < said.index("no cycle is known")
    assert said.count("jobs is a queue") == 1


def test_a_simulation_that_does_not_fit_is_said_so_and_nothing_is_compared() -> None:
    said = text(fit=fit(holds=False))
    assert "comes to 76.9% of unserved demand and 8.1 instance-hours; it was 3.4% of unserved demand and 8 " in said
    assert "does not fit this past, so nothing is compared" in said
    assert "MEASURE" not in said
    assert "as it was" not in said
    assert "MEASURE" in text(fit=fit(holds=True))


def test_a_simulation_that_cannot_be_checked_says_so() -> None:
    """Before a daemon is installed nothing ran that could be simulated."""
    assert "Nothing shows whether the simulation fits" in text()
