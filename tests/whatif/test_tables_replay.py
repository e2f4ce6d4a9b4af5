"""The text of `replay` and `diff`."""

from autoscaler.layout import Screen
from autoscaler.whatif.compare.comparison import Comparison
from autoscaler.whatif.documents.replay import replay_document
from autoscaler.whatif.past.past import Finding, FindingKind
from autoscaler.whatif.tables.replay import measure_lines, replay_lines
from tests.decide.build import NOW
from tests.whatif.courses import course, curve, seconds


def test_a_finding_about_the_load_stands_before_the_measures() -> None:
    """Also in `diff`, which shows no other findings."""
    queue = Finding(NOW, NOW, FindingKind.LOAD, "External metric jobs looks like a queue")
    gap = Finding(NOW, NOW, FindingKind.GAP, "no cycle is known for 1m")
    found = Comparison("web", NOW, NOW + seconds(30), [], [course([2, 2])], demand=curve([2, 2]), findings=[queue, gap])
    document = replay_document(found)
    measures, whole = (list(lines) for lines in (measure_lines(document, Screen()), replay_lines(document, Screen())))
    assert measures[0] == "  External metric jobs looks like a queue."
    assert "\n".join(whole).count("looks like a queue") == 1
    assert any("no cycle is known" in line for line in whole)
