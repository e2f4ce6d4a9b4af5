"""A replay as a document, and its measures as text."""

import json
from array import array
from functools import cache
from math import nan

import pytest

from autoscaler.errors import PastError
from autoscaler.whatif.compare.document import MAX_FINDINGS, ReplayDocument, ReplayList
from autoscaler.whatif.compare.rows import measure_rows
from autoscaler.whatif.past.past import Finding, FindingKind
from autoscaler.whatif.replay.course import AS_IT_WAS, UNKNOWN
from autoscaler.whatif.replay.replay import Candidate
from tests.decide.build import NOW
from tests.replaced import replace
from tests.whatif.courses import course, curve, made_up, seconds, swinging
from tests.whatif.pasts import Listed, compared, shop, shop_past

LOWER = Candidate("lower.yaml", replace(shop(), max_replicas=5))


@cache
def usual() -> ReplayDocument:
    """Two hours, with a lower maximum."""
    return compared(shop_past(swinging, 480), LOWER)


def rows(found: ReplayDocument) -> dict[str, tuple[str, ...]]:
    """Title -> cells."""
    return {row.title: row.cells for row in measure_rows(found)}


def test_the_recorded_sizes_and_each_candidate_are_side_by_side() -> None:
    document = usual()
    assert [each.label for each in document.candidates] == [AS_IT_WAS, "lower.yaml"]
    was, lower = (each.measures for each in document.candidates)
    assert lower.instance_hours < was.instance_hours
    assert lower.unserved > was.unserved  # type: ignore[operator]  # both are known
    assert (document.same, document.compared) == (480, 480)
    assert document.part.cycles == 480


def test_the_document_is_read_back_from_its_json() -> None:
    found = ReplayList(replays=(usual(),))
    text = found.model_dump_json()
    assert ReplayList.model_validate_json(text) == found
    measures = json.loads(text)["replays"][0]["candidates"][0]["measures"]
    assert measures["coveredSeconds"] == 7200.0
    assert {"changes", "instanceHours", "atMaximumSeconds", "unserved", "worstOverload"} <= measures.keys()


def test_every_series_has_one_item_for_each_time() -> None:
    series = usual().series
    assert {len(series.load), *map(len, series.sizes)} == {len(series.at)}
    assert len(series.sizes) == 2


def test_the_series_has_the_sizes_of_each_course() -> None:
    series = made_up(curve([2, 2]), course([2, 3]), course([2, 2])).series
    assert series.sizes == ((2, 3), (2, 2))


def test_a_gap_is_drawn_as_a_gap() -> None:
    """A line across it would claim knowledge."""
    document = compared(shop_past(swinging, 480, silent=range(100, 200)), LOWER)
    series = document.series
    begin = series.at.index(NOW + seconds(100 * 15))
    assert series.load[begin] is None
    assert all(size[begin] is None for size in series.sizes)
    assert series.at[begin + 1] == NOW + seconds(200 * 15)
    assert [each.kind for each in document.findings] == [FindingKind.GAP]


def test_an_outage_is_unknown_and_not_zero() -> None:
    document = compared(shop_past(swinging, 480, failing=range(100, 110)), LOWER)
    assert document.series.load[document.series.at.index(NOW + seconds(105 * 15))] is None


@pytest.mark.slow
def test_a_week_is_thinned_and_keeps_every_change_of_size() -> None:
    """40,320 cycles would make a file of megabytes, and a chart that no browser can draw."""
    needed = [4.0] * 40_320
    needed[12_345] = 30
    sizes = [4 + number // 2_000 % 3 for number in range(40_320)]
    series = made_up(curve(needed), course(sizes)).series
    assert 1_500 < len(series.at) <= 2_000
    assert {NOW + seconds(15 * number) for number in range(2_000, 40_320, 2_000)} <= set(series.at)
    assert max(each for each in series.load if each is not None) == 30


def test_findings_are_bounded() -> None:
    """A replay by another version may have one in every cycle."""
    findings = [Finding(NOW, NOW, FindingKind.RELOAD, "") for _ in range(MAX_FINDINGS + 7)]
    document = made_up(curve([2, 2]), course([2, 3]), findings=findings)
    assert (len(document.findings), document.more_findings) == (MAX_FINDINGS, 7)


def test_a_past_without_a_cycle_is_an_error() -> None:
    with pytest.raises(PastError, match="'web': no cycle is known from"):
        compared(Listed([]), LOWER)


def test_instance_hours_are_compared_over_the_same_length_of_time() -> None:
    """A size that is unknown for half of the time would seem to cost half."""
    half = course([4, 4, UNKNOWN, UNKNOWN])
    assert rows(made_up(curve([4] * 4), half, course([4] * 4)))["instance-hours"] == ("0.0333", "0.0667 (+0%)")


def test_an_unknown_measure_is_said_to_be_unknown() -> None:
    """A candidate whose metric was never queried would otherwise look as if it had never been above target."""
    demand = replace(curve([2, 2]), needed=array("d", [nan, nan]))
    found = rows(made_up(demand, course([2, 2])))
    assert found["unserved demand"] == found["worst overload"] == ("unknown",)
    assert found["time at maximum"] == ("0s (0.0%)",)


def test_shares_and_hours_are_written_as_such() -> None:
    found = rows(usual())
    assert list(found) == ["changes", "instance-hours", "time at maximum", "unserved demand", "worst overload"]
    assert found["instance-hours"][1].endswith("%)")
    assert found["unserved demand"][1].endswith("%")
    assert found["worst overload"][1].endswith("% of target")
