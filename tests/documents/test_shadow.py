"""How a dry run's shadow is shown."""

from datetime import timedelta

from autoscaler.cli.tables.history import rows as history_rows
from autoscaler.cli.tables.listing import Row
from autoscaler.decide.changed import differs
from autoscaler.documents.conclusion import conclusion
from autoscaler.documents.explain import explanation
from autoscaler.documents.explanation import Explanation
from autoscaler.documents.history import history_document
from autoscaler.documents.summary import Summary, summary
from autoscaler.layout import Screen
from autoscaler.model import Direction, Failure, MetricType, Pause, Steering, TargetType
from autoscaler.record import Record, SeriesRow
from autoscaler.record.times import to_micros
from autoscaler.web.page.words import meaning
from tests.decide.build import NOW, metric, scaler
from tests.decide.shadowing import SimulatedTarget
from tests.replaced import replace

INFLIGHT_10 = metric(MetricType.PODS, TargetType.AVERAGE_VALUE, 10_000, "inflight")


def simulated() -> SimulatedTarget:
    return SimulatedTarget(scaler(INFLIGHT_10, maximum=20), 2)


def record(one: SimulatedTarget, load: int, after: float = 15) -> Record:
    made = one.cycle(load, after=after)
    return Record(one.autoscaler, made, one.observed, one.before)


def explained(one: SimulatedTarget, load: int, after: float = 15) -> Explanation:
    return explanation(record(one, load, after))


def summed(one: SimulatedTarget, load: int, after: float = 15) -> Summary:
    made = one.cycle(load, after=after)
    return summary("web", one.autoscaler, made, Steering(), configured=True)


def test_the_headline_shows_the_change_of_the_shadow() -> None:
    one = simulated()
    assert conclusion(record(one, 60_000)) == (
        "would go from 2 to 4, but a dry run writes nothing: pods metric inflight above target"
    )
    assert conclusion(record(one, 60_000)) == (
        "the target's size is 2; its shadow went from 4 to 6: pods metric inflight above target"
    )
    assert conclusion(record(one, 60_000, after=60)) == (
        "the target's size is 2; its shadow stays at 6: inflight asks for 6 (ratio within tolerance)"
    )


def test_a_paused_shadow_stays() -> None:
    one = simulated()
    one.history = replace(one.history, steering=Steering(Pause(Direction.OUT, "ann", "sale", NOW, None)))
    said = conclusion(record(one, 60_000))
    assert said.startswith("the target's size is 2; its shadow stays at 2, although 4 is wanted: paused by ann")


def test_the_first_sentence_shows_both_sizes() -> None:
    one = simulated()
    assert explained(one, 60_000).lines[0] == "The target's size is 2; its shadow's was 2 and is 4 now. (dry run)"
    one.cycle(60_000)
    assert explained(one, 60_000, after=60).lines[0] == "The target's size is 2; its shadow's is 6 and stays. (dry run)"


def test_a_shadow_stays_while_its_metric_fails() -> None:
    one = simulated()
    made = one.cycle({0: Failure("no answer")})
    first, *_ = explanation(Record(one.autoscaler, made, one.observed, one.before)).lines
    assert first == "The target's size is 2; its shadow's is 2 and stays, as its metric has no value. (dry run)"


def test_thresholds_are_for_the_size_of_the_shadow() -> None:
    """They are for four instances, not for two."""
    one = simulated()
    one.cycle(40_000)
    document = explained(one, 40_000, after=60)
    (found,) = document.metrics
    assert (document.current, document.shadow, found.proposal) == (2, 4, 4)
    assert found.thresholds is not None
    assert (found.thresholds.above, found.thresholds.below) == (11.0, 7.501)


def test_the_next_change_of_a_shadow_is_predicted() -> None:
    one = simulated()
    one.cycle(40_000)
    out, _ = explained(one, 40_000, after=60).ways
    assert out.text == "To scale out it takes average inflight above 11; at the earliest to 5 in 15s."


def test_samples_are_those_of_the_target() -> None:
    one = simulated()
    one.cycle(40_000)
    (found,) = explained(one, 40_000, after=60).metrics
    assert (found.samples.read, found.samples.ready) == (2, 4)


def test_the_list_shows_both_sizes() -> None:
    one = simulated()
    one.cycle(40_000)
    found = summed(one, 40_000, after=60)
    assert (found.current, found.shadow, found.desired, found.direction) == (2, 4, 4, None)
    assert Row.of(found).cells[5] == "2 (shadow 4)"


def test_the_direction_is_that_of_the_shadow() -> None:
    """The target is larger than both sizes."""
    one = simulated()
    one.cycle(60_000)
    one.resize(9)
    assert summed(one, 90_000).direction is Direction.OUT


def test_a_dry_run_without_a_shadow_shows_none() -> None:
    one = simulated()
    one.autoscaler = replace(one.autoscaler, options=replace(one.autoscaler.options, shadow=False))
    found = summed(one, 60_000)
    assert (found.shadow, found.saturated) == (None, False)
    assert Row.of(found).cells[5] == "2"


def test_the_page_says_that_a_dry_run_writes_nothing() -> None:
    found = summed(simulated(), 60_000)
    assert meaning(found) == "It would have changed the size just now; a dry run writes nothing"


def test_a_target_that_may_hide_demand_is_marked() -> None:
    one = simulated()
    one.cycle(60_000)
    found = summed(one, 60_000, after=60)
    assert found.saturated
    assert "more may be asked for than shows" in str(found.problem)


def test_the_event_of_a_dry_run_has_a_direction() -> None:
    (happened,) = simulated().cycle(60_000).events
    assert happened.direction is Direction.OUT


def test_a_chart_shows_the_shadow_beside_the_target() -> None:
    rows = [
        SeriesRow(to_micros(NOW + timedelta(seconds=15 * place)), 2, size, 1, 9, True, (), (), shadow)
        for place, (shadow, size) in enumerate([(2, 4), (4, 6), (6, 6)])
    ]
    document = history_document("web", NOW, NOW + timedelta(seconds=60), rows, [], 100)
    header, first, *_ = history_rows(document, Screen())
    assert header.split()[:4] == ["TIME", "CURRENT", "SHADOW", "DESIRED"]
    assert first.split()[1:4] == ["2", "2", "4"]


def test_a_thinned_chart_keeps_the_changes_of_the_shadow() -> None:
    rows = [
        SeriesRow(to_micros(NOW + timedelta(seconds=place)), 2, 6, 1, 9, True, (), (), 2 if place < 31 else 6)
        for place in range(100)
    ]
    document = history_document("web", NOW, NOW + timedelta(seconds=100), rows, [], 3)
    assert [point.shadow for point in document.points] == [2, 6, 6]
    assert document.points[1].at == NOW + timedelta(seconds=31)


def test_a_change_of_the_shadow_is_logged() -> None:
    one = simulated()
    before = one.cycle(20_000)
    assert not differs(before, one.cycle(20_000))
    assert differs(before, replace(before, shadow=7))
