"""A replay as a document, and its measures as text."""

import json
from array import array
from datetime import timedelta
from functools import cache
from math import nan

from autoscaler.whatif.compare.comparison import Comparison
from autoscaler.whatif.compare.inferred_past import agreement
from autoscaler.whatif.documents.measured import instance_times_text, measure_rows
from autoscaler.whatif.documents.replay import MOST_CHANGES, MOST_FINDINGS, ReplayList, explanations, replay_document
from autoscaler.whatif.past.past import Finding, FindingKind
from autoscaler.whatif.replay.course import AS_IT_WAS, UNKNOWN, Change, Course
from autoscaler.whatif.replay.demand import Demand
from autoscaler.whatif.replay.instance_times import InstanceTime, TimeSource
from autoscaler.whatif.replay.replay import Candidate, Load, replay
from tests.decide.build import NOW
from tests.replaced import replace
from tests.whatif.courses import course, curve, seconds
from tests.whatif.pasts import Listed, compared, shop, shop_past

LOWER = Candidate("lower.yaml", replace(shop(), max_replicas=5))


def swinging(minutes: float) -> float:
    """From 2 to 8 and back in twenty minutes."""
    return 2 + 6 * abs((minutes % 20) / 10 - 1)


@cache
def usual() -> Comparison:
    """Two hours, with a lower maximum."""
    return compared(shop_past(swinging, 480), LOWER)


def made_up(demand: Demand, *courses: Course, findings: list[Finding] | None = None) -> Comparison:
    return Comparison("web", NOW, NOW + seconds(60), [], courses, demand=demand, findings=findings or [])


def rows(found: Comparison) -> dict[str, tuple[str, ...]]:
    """Title -> cells."""
    return {row.title: row.cells for row in measure_rows(replay_document(found))}


def test_the_recorded_sizes_and_each_candidate_are_side_by_side() -> None:
    document = replay_document(usual())
    assert [each.label for each in document.candidates] == [AS_IT_WAS, "lower.yaml"]
    was, lower = (each.measures for each in document.candidates)
    assert (was.largest, lower.largest) == (8, 5)
    assert lower.instance_hours < was.instance_hours
    assert lower.accuracy_under > was.accuracy_under  # type: ignore[operator]  # both are known
    assert (document.same, document.compared, document.cycles) == (480, 480, 480)
    assert (document.load, document.reference) == (Load.CONSERVED, "lower.yaml")


def test_the_document_is_read_back_from_its_json() -> None:
    found = ReplayList(replays=(replay_document(usual()),))
    text = found.model_dump_json()
    assert ReplayList.model_validate_json(text) == found
    measures = json.loads(text)["replays"][0]["candidates"][0]["measures"]
    assert measures["coveredSeconds"] == 7200.0
    assert {"instanceHours", "aboveTargetSeconds", "timeshareUnder", "instability"} <= measures.keys()


def test_every_series_has_one_item_for_each_time() -> None:
    series = replay_document(usual()).series
    assert len(series.needed) == len(series.at)
    for each in series.courses:
        assert {len(each.size), len(each.overload)} == {len(series.at)}


def test_a_gap_is_drawn_as_a_gap() -> None:
    """A line across it would claim knowledge."""
    document = replay_document(compared(shop_past(swinging, 480, silent=range(100, 200)), LOWER))
    series = document.series
    begin = series.at.index(NOW + seconds(100 * 15))
    assert series.needed[begin] is None
    assert all(each.size[begin] is each.overload[begin] is None for each in series.courses)
    assert series.at[begin + 1] == NOW + seconds(200 * 15)
    assert [each.kind for each in document.findings] == [FindingKind.GAP]


def test_an_outage_is_unknown_and_not_zero() -> None:
    document = replay_document(compared(shop_past(swinging, 480, failing=range(100, 110)), LOWER))
    assert document.series.needed[document.series.at.index(NOW + seconds(105 * 15))] is None
    assert document.candidates[0].measures.compared_seconds == 470 * 15


def test_a_week_is_thinned_and_keeps_every_change_of_size() -> None:
    """40,320 cycles would make a file of megabytes, and a chart that no browser can draw."""
    needed = [4.0] * 40_320
    needed[12_345] = 30
    sizes = [4 + number // 2_000 % 3 for number in range(40_320)]
    series = replay_document(made_up(curve(needed), course(sizes))).series
    assert 1_500 < len(series.at) <= 2_000
    assert {NOW + seconds(15 * number) for number in range(2_000, 40_320, 2_000)} <= set(series.at)
    assert max(each for each in series.needed if each is not None) == 30


def test_lists_are_bounded() -> None:
    """A flapping autoscaler, or a replay by another version, has an item in every cycle."""
    flapping = course([2, 3])
    flapping.changes = [Change(NOW, 2, 3, "SucceededRescale", "") for _ in range(MOST_CHANGES + 5)]
    findings = [Finding(NOW, NOW, FindingKind.CLOCK, "") for _ in range(MOST_FINDINGS + 7)]
    document = replay_document(made_up(curve([2, 2]), flapping, findings=findings))
    assert len(document.candidates[0].changes) == MOST_CHANGES
    assert document.candidates[0].measures.changes == MOST_CHANGES + 5
    assert (len(document.findings), document.more_findings) == (MOST_FINDINGS, 7)


def test_a_past_without_a_cycle_has_no_figures() -> None:
    document = replay_document(compared(Listed([]), LOWER))
    assert document.series.at == ()
    assert {each.measures.accuracy_under for each in document.candidates} == {None}
    assert {cell for row in measure_rows(document) for cell in row.cells} >= {"-", "0"}


def test_instance_hours_are_compared_over_the_same_length_of_time() -> None:
    """A size that is unknown for half of the time would seem to cost half."""
    half = course([4, 4, UNKNOWN, UNKNOWN])
    assert rows(made_up(curve([4] * 4), half, course([4] * 4)))["instance-hours"] == ("0.0333", "0.0667 (+0%)")


def test_leaving_instances_are_paid_for_and_in_no_size() -> None:
    found = made_up(curve([2] * 4), course([4, 2, 2, 2]))
    found.termination = InstanceTime(seconds(45), TimeSource.GIVEN)
    assert rows(found)["instance-hours"] == ("0.0667",)
    assert rows(found)["size"] == ("2 to 4, mean 2.5",)


def test_an_unknown_measure_is_a_dash_and_not_zero() -> None:
    """A candidate whose metric was never queried would otherwise look as if it had never been above target."""
    demand = replace(curve([2, 2]), needed=array("d", [nan, nan]))
    found = rows(made_up(demand, course([2, 2])))
    assert found["time above target"] == found["demand may be hidden"] == ("-",)
    assert found["time at maximum"] == ("0s (0.0%)",)


def test_shares_and_times_are_written_as_such() -> None:
    found = rows(usual())
    assert found["time measured"] == ("2h", "2h")
    assert found["size"][1].startswith("3 to 5, mean ")
    assert found["instance-hours"][1].endswith("%)")
    assert found["under-provisioning, time share"][0].endswith("%")


def test_each_change_is_explained_as_it_was_decided() -> None:
    found = usual()
    explained = explanations(found)
    for each, candidate in zip(explained, replay_document(found).candidates, strict=True):
        assert [one.at for one in each] == [one.at for one in candidate.changes]
        assert all(one.detailed for one in each)
    assert explained[0][0].lines[0] == "The size was 3 and was set to 5."


def test_the_agreement_of_an_inferred_past_is_in_the_document() -> None:
    """It shows how far a replay from Prometheus can be trusted."""
    recorded = list(shop_past(swinging, 240).cycles())
    other = list(shop_past(lambda minutes: swinging(minutes) / 2, 240).cycles())
    inferred = [*recorded[:100], *other[100:140], *recorded[140:]]
    found = compared(recorded, LOWER)
    found.agreement = agreement(recorded, replay(inferred, Candidate("recorded", shop(), Load.RECORDED)))
    document = replay_document(found).agreement
    assert document is not None
    assert 0 < document.same < document.cycles == 240


def time(length: float, source: TimeSource) -> InstanceTime:
    return InstanceTime(seconds=timedelta(seconds=length), source=source)


def test_times_of_instances_are_one_sentence_with_their_sources() -> None:
    """Candidates with different times are named; without a start-up time there is none."""
    gone, learnt = time(12.4, TimeSource.GIVEN), time(2.5, TimeSource.INSTANCES)
    both = instance_times_text([("as it was", None), ("new", learnt), ("old", learnt)], gone)
    assert both == "Instances: start-up time 2s500ms (learnt from instances), termination time 12s (given)."
    different = instance_times_text([("old", time(60, TimeSource.CONFIGURATION)), ("new", learnt)], gone)
    assert "start-up time of old 1m (controller.startUpSeconds), start-up time of new 2s500ms" in different
    assert instance_times_text([("new", None)], gone).startswith("Instances: termination time 12s")
