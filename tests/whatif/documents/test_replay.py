"""A replay as a document."""

import json
from array import array
from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import cache
from itertools import pairwise
from math import nan

from autoscaler.model import InstanceReading, Observation
from autoscaler.whatif.compare.agreement import Why, agreement
from autoscaler.whatif.compare.comparison import AS_IT_WAS, Candidate, Comparison, compare
from autoscaler.whatif.documents.measured import measure_rows
from autoscaler.whatif.documents.replay import (
    MOST_CHANGES,
    MOST_FINDINGS,
    ReplayList,
    explanations,
    replay_document,
)
from autoscaler.whatif.past.past import Finding, FindingKind, Moment
from autoscaler.whatif.replay.course import UNKNOWN, Change
from autoscaler.whatif.replay.instance_times import InstanceTime, TimeSource
from autoscaler.whatif.replay.kept import KeptChanges
from autoscaler.whatif.replay.replay import Load, replay
from tests.decide.build import NOW
from tests.replaced import replace
from tests.whatif.courses import course, curve, seconds
from tests.whatif.lived import LivedPast, shop


def swinging(minutes: float) -> float:
    """From 2 to 8 and back in twenty minutes."""
    return 2 + 6 * abs((minutes % 20) / 10 - 1)


@cache
def usual() -> Comparison:
    """Two hours."""
    return compared(LivedPast(shop(), swinging, 480))


def compared(lived: LivedPast) -> Comparison:
    """As it was, and with a lower maximum."""
    lower = replace(shop(), max_replicas=5)
    return compare(lived, [Candidate("lower.yaml", lower, Load.CONSERVED)], NOW, NOW + lived.until)


def at(moments: Sequence[datetime], after: float) -> int:
    return moments.index(NOW + seconds(after))


def test_it_has_the_sizes_as_they_were_and_each_candidate_side_by_side() -> None:
    document = replay_document(usual())

    assert [each.label for each in document.candidates] == [AS_IT_WAS, "lower.yaml"]
    assert [each.measures.largest for each in document.candidates] == [8, 5]
    assert document.candidates[1].measures.instance_hours < document.candidates[0].measures.instance_hours
    assert document.candidates[1].measures.accuracy_under > document.candidates[0].measures.accuracy_under  # type: ignore[operator]
    assert (document.same, document.compared, document.cycles) == (480, 480, 480)
    assert (document.load, document.reference) == (Load.CONSERVED, "lower.yaml")


def test_it_is_read_back_from_its_json() -> None:
    found = ReplayList(replays=(replay_document(usual()),))

    text = found.model_dump_json()

    assert ReplayList.model_validate_json(text) == found
    measures = json.loads(text)["replays"][0]["candidates"][0]["measures"]
    assert measures["coveredSeconds"] == 7200.0
    assert {"instanceHours", "aboveTargetSeconds", "timeshareUnder", "instability"} <= measures.keys()


def test_every_series_has_one_entry_for_each_time() -> None:
    series = replay_document(usual()).series

    count = len(series.at)
    assert len(series.needed) == count
    for each in series.courses:
        assert {len(each.size), len(each.ready), len(each.maximum), len(each.overload)} == {count}


def test_a_gap_is_drawn_as_one() -> None:
    """A line across it would say that somebody knew."""
    document = replay_document(compared(LivedPast(shop(), swinging, 480, silent=[range(100, 200)])))
    series = document.series

    begin = at(series.at, 100 * 15)
    assert series.needed[begin] is None
    assert all(each.size[begin] is each.overload[begin] is None for each in series.courses)
    assert series.at[begin + 1] == NOW + seconds(200 * 15)
    assert [each.kind for each in document.findings] == [FindingKind.GAP]


def test_an_outage_is_unknown_and_not_zero() -> None:
    document = replay_document(compared(LivedPast(shop(), swinging, 480, failing=[range(100, 110)])))

    assert document.series.needed[at(document.series.at, 105 * 15)] is None
    assert document.candidates[0].measures.compared_seconds == 470 * 15


def test_a_week_is_thinned_and_keeps_every_change_of_size() -> None:
    """40,320 cycles would make a file of megabytes, and a chart that nobody's browser draws."""
    needed = [4.0] * 40_320
    needed[12_345] = 30
    sizes = [4 + number // 2_000 % 3 for number in range(40_320)]
    found = Comparison("web", NOW, NOW + timedelta(days=7), [], [course(sizes)], demand=curve(needed))

    series = replay_document(found).series

    assert 1_500 < len(series.at) <= 2_000
    changed = {NOW + seconds(15 * number) for number in range(2_000, 40_320, 2_000)}
    assert changed <= set(series.at)
    assert max(each for each in series.needed if each is not None) == 30


def test_what_is_listed_is_bounded() -> None:
    """A flapping autoscaler, or a replay by another version, has one in every cycle."""
    flapping = course([2, 3])
    flapping.changes = [Change(NOW, 2, 3, "SucceededRescale", "") for _ in range(MOST_CHANGES + 5)]
    findings = [Finding(NOW, NOW, FindingKind.CLOCK, "") for _ in range(MOST_FINDINGS + 7)]
    found = Comparison("web", NOW, NOW + seconds(30), [], [flapping], demand=curve([2, 2]), findings=findings)

    document = replay_document(found)

    assert len(document.candidates[0].changes) == MOST_CHANGES
    assert document.candidates[0].measures.changes == MOST_CHANGES + 5
    assert (len(document.findings), document.more_findings) == (MOST_FINDINGS, 7)


def test_a_past_without_a_cycle_is_a_document_without_figures() -> None:
    lived = LivedPast(shop(), swinging, 0)

    document = replay_document(compared(lived))

    assert document.series.at == ()
    assert {each.measures.accuracy_under for each in document.candidates} == {None}
    assert {cell for row in measure_rows(document) for cell in row.cells} >= {"-", "0"}


def test_what_is_paid_is_set_against_the_same_length_of_time() -> None:
    """A size that is unknown for half of the time would seem to cost half."""
    half = course([4, 4, UNKNOWN, UNKNOWN])
    found = Comparison("web", NOW, NOW + seconds(60), [], [half, course([4] * 4)], demand=curve([4] * 4))

    hours = next(row for row in measure_rows(replay_document(found)) if row.title == "instance-hours")

    assert hours.cells == ("0.0333", "0.0667 (+0%)")


def test_what_leaves_is_paid_for_and_in_no_size() -> None:
    leaving = course([4, 2, 2, 2])
    found = Comparison("web", NOW, NOW + seconds(60), [], [leaving], demand=curve([2] * 4))
    found.termination = InstanceTime(seconds(45), TimeSource.GIVEN)

    rows = {row.title: row.cells for row in measure_rows(replay_document(found))}

    assert rows["instance-hours"] == ("0.0667",)
    assert rows["size"] == ("2 to 4, mean 2.5",)


def test_what_is_not_known_reads_as_a_dash_and_not_as_no_time_at_all() -> None:
    """A candidate whose metric was never asked for would otherwise look as if it had never been above its target."""
    unknown = array("d", [nan, nan])
    blind, demand = course([2, 2]), replace(curve([2, 2]), needed=unknown)
    found = Comparison("web", NOW, NOW + seconds(30), [], [blind], demand=demand)

    rows = {row.title: row.cells for row in measure_rows(replay_document(found))}

    assert rows["time above target"] == rows["demand may be hidden"] == ("-",)
    assert rows["time at maximum"] == ("0s (0.0%)",)


def test_each_change_is_explained_as_it_was_decided() -> None:
    found = usual()

    of_all = explanations(found)

    assert [len(each) for each in of_all] == [len(each.changes) for each in found.courses]
    for explained, candidate in zip(of_all, replay_document(found).candidates, strict=True):
        assert [each.at for each in explained] == [each.at for each in candidate.changes]
        assert all(each.detailed for each in explained)
    assert of_all[0][0].lines[0] == "The size was 3 and was set to 5."


def test_of_many_changes_those_that_can_be_explained_are_spread_over_all() -> None:
    """The first hundred of a restless week would explain its Monday alone."""
    moving = course([2])
    kept = KeptChanges(moving, most=10)
    cycle = next(replay(LivedPast(shop(), swinging, 1).moments(), None, Load.RECORDED))
    for number in range(1000):
        moving.changes.append(Change(NOW, 2, 3, "", ""))
        kept.see(cycle._replace(moment=replace(cycle.moment, at=NOW + seconds(number))))

    places = [(each.moment.at - NOW).total_seconds() for each in kept.cycles]

    assert 10 <= len(places) < 20
    assert places[0] == 0
    assert places[-1] > 900
    assert len({later - earlier for earlier, later in pairwise(places)}) == 1


def test_the_rows_say_shares_as_shares_and_times_as_times() -> None:
    rows = {row.title: row.cells for row in measure_rows(replay_document(usual()))}

    assert rows["time measured"] == ("2h", "2h")
    assert rows["size"][1].startswith("3 to 5, mean ")
    assert rows["instance-hours"][1].endswith("%)")
    assert rows["under-provisioning, time share"][0].endswith("%")


def test_how_far_an_inferred_past_agrees_is_said_with_each_reason() -> None:
    """Or nobody could tell how much of a replay from Prometheus alone to believe."""
    lived = LivedPast(shop(), swinging, 240)
    recorded = list(lived.moments())
    halved = [replace(each, observation=_with_half(each)) if 100 <= place < 140 else each
              for place, each in enumerate(recorded)]  # fmt: skip
    found = compared(lived)
    found.agreement = agreement(recorded, replay(halved, shop(), Load.RECORDED))

    document = replay_document(found).agreement

    assert document is not None
    assert document.cycles == 240
    assert document.same < 240
    assert document.summary.startswith(f"{document.same} of 240 cycles have the size that the state has")
    assert {Why.READING} <= {each.why for each in document.differences}
    assert sum(each.cycles for each in document.differences) == 240 - document.same


def _with_half(moment: Moment) -> Observation:
    """Half the load."""
    seen = moment.observation
    cpu, queue = seen.readings
    assert isinstance(cpu, InstanceReading)
    halves = {name: replace(each, value=each.value // 2) for name, each in cpu.samples.items()}
    return replace(seen, readings=(replace(cpu, samples=halves), queue))
