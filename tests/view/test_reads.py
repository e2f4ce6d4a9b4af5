"""Documents that are made from a real state."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from autoscaler.model import DEFAULT_SCALE_DOWN, Behavior, Decision, Failure, PolicyType, ScalingPolicy, TargetRef
from autoscaler.record.archive import Archive
from autoscaler.record.series import SeriesRow
from autoscaler.record.state import State
from autoscaler.record.times import to_micros
from autoscaler.view.history import thinned
from autoscaler.view.parameters import EventParameters, ExplainParameters, HistoryParameters
from autoscaler.view.reads import NoDecision, UnknownAutoscaler
from tests.decide.build import CPU_60, NOW, QUEUE_15, samples, scaler, value
from tests.replaced import replace
from tests.view.lives import Recorded, open_state, reads_of

BEHAVIOR = Behavior(
    scale_down=replace(
        DEFAULT_SCALE_DOWN,
        stabilization_window=timedelta(seconds=60),
        policies=(ScalingPolicy(PolicyType.PODS, 1, timedelta(seconds=30)),),
    )
)


@pytest.fixture
def state(tmp_path: Path) -> Iterator[State]:
    with open_state(tmp_path) as state:
        yield state


def lived(state: State) -> Recorded:
    life = Recorded(state.ledger("fleet"), scaler(CPU_60, maximum=10, behavior=BEHAVIOR))
    for percent in (60, 120, 90, 30, 30, 30, 30, 30, 30, 80, 20, 20):
        life.cpu(percent)
    return life


def test_an_explanation_is_the_same_with_and_without_a_daemon(state: State, tmp_path: Path) -> None:
    life = lived(state)
    told = reads_of(state.archive, [life.autoscaler]).explain_autoscaler("web", ExplainParameters())
    with Archive.open_archive(None, tmp_path) as archive:
        assert reads_of(archive, None).explain_autoscaler("web", ExplainParameters()) == told


def test_a_new_target_starts_without_history(state: State) -> None:
    """The windows and policies of the old target do not apply to it."""
    life = lived(state)
    life.autoscaler = replace(life.autoscaler, target=TargetRef("fleet", "other"))
    life.size = 2
    life.cpu(60)
    told = reads_of(state.archive, [life.autoscaler]).explain_autoscaler("web", ExplainParameters())
    assert told.stabilization is None
    inward = told.policies[1]
    assert (inward.size, inward.next_size) == (1, None)


def test_a_configured_autoscaler_without_decisions_is_known(state: State) -> None:
    documents = reads_of(state.archive, [scaler(CPU_60)])
    assert documents.get_autoscaler("web").summary.last_decision is None
    assert documents.get_history("web", HistoryParameters(since=NOW, until=NOW)).points == ()
    with pytest.raises(NoDecision, match="had no decision yet"):
        documents.explain_autoscaler("web", ExplainParameters())


def test_a_removed_autoscaler_shows_its_last_configuration(state: State) -> None:
    life = lived(state)
    found = reads_of(state.archive, [], life.now).get_autoscaler("web")
    assert not found.summary.configured
    assert found.spec.maximum == 10


def test_an_unknown_name_is_an_error(state: State) -> None:
    documents = reads_of(state.archive, [])
    with pytest.raises(UnknownAutoscaler, match="'other'"):
        documents.get_autoscaler("other")
    with pytest.raises(UnknownAutoscaler):
        documents.explain_autoscaler("other", ExplainParameters())
    with pytest.raises(UnknownAutoscaler):
        documents.list_events(EventParameters(name="other"))
    assert documents.list_events(EventParameters()).events == ()


def test_pages_of_events_begin_with_the_newest(state: State) -> None:
    life = lived(state)
    documents = reads_of(state.archive, [life.autoscaler])
    everything = documents.list_events(EventParameters(name="web")).events
    assert len(everything) > 2
    assert documents.list_events(EventParameters(name="web", limit=1)).events == everything[-1:]
    assert documents.list_events(EventParameters(name="web", offset=1, limit=1)).events == everything[-2:-1]
    assert documents.list_events(EventParameters(name="web", offset=1000, limit=5)).events == ()


def row(minute: int, size: int) -> SeriesRow:
    return SeriesRow(to_micros(NOW + timedelta(minutes=minute)), size, size, 1, 10, False, (), ())


def test_a_thinned_history_keeps_every_change_of_size() -> None:
    """A peak of one cycle is kept."""
    rows = [row(minute, 9 if minute == 777 else 3) for minute in range(2000)]
    kept = thinned(rows, 50)
    assert len(kept) == 50
    assert (kept[0], kept[-1]) == (rows[0], rows[-1])
    assert [each.current for each in kept].count(9) == 1
    assert list(kept) == sorted(kept, key=lambda each: each.at)


@pytest.mark.parametrize("most", [2, 3, 10, 99, 100, 101])
def test_a_history_has_at_most_the_requested_points(most: int) -> None:
    rows = [row(minute, minute % 7) for minute in range(100)]
    kept = thinned(rows, most)
    assert len(kept) == min(most, 100)
    assert (kept[0], kept[-1]) == (rows[0], rows[-1])


def test_an_explanation_uses_only_earlier_decisions(state: State) -> None:
    life = lived(state)
    documents = reads_of(state.archive, [life.autoscaler])
    first: Decision = next(state.archive.records("web")).decision
    told = documents.explain_autoscaler("web", ExplainParameters(at=first.now))
    assert told.at == first.now
    assert told.if_unchanged is None


def outage(state: State, cycles: int) -> Recorded:
    """Return an autoscaler with a queue of 25 on 3 instances, then this many cycles of 15 s without an answer."""
    life = Recorded(state.ledger("fleet"), scaler(QUEUE_15, CPU_60))
    life.step(value(25_000), samples([600] * 3, life.now))
    for _ in range(cycles):
        life.step(Failure("no answer"), Failure("no answer"))
    return life


def test_in_an_outage_the_last_value_and_its_age_are_shown(state: State) -> None:
    life = outage(state, 20)
    told = reads_of(state.archive, [life.autoscaler]).explain_autoscaler("web", ExplainParameters())
    queue, cpu = (metric.last for metric in told.metrics)
    assert queue is not None
    assert (queue.text, queue.value, queue.age_seconds) == ("8.33", 8.334, timedelta(minutes=5))
    assert queue.at == life.now - timedelta(minutes=5)
    assert cpu is not None
    assert cpu.text == "60%"
    assert "queue has no value; its last value was 8.33, 5m earlier" in told.lines
    assert (
        reads_of(state.archive, [life.autoscaler])
        .explain_autoscaler("web", ExplainParameters(at=queue.at))
        .metrics[0]
        .last
        is None
    )


def test_the_last_value_is_found_after_weeks(state: State) -> None:
    """The search begins at the start of the outage; beside a working metric it covers one day."""
    life = outage(state, 1)
    life.step(Failure("no answer"), Failure("no answer"), after=86_400 * 20)
    told = reads_of(state.archive, [life.autoscaler]).explain_autoscaler("web", ExplainParameters())
    assert [metric.last and metric.last.age_seconds for metric in told.metrics] == [timedelta(days=20, seconds=15)] * 2
    life.step(Failure("no answer"), samples([1_200] * life.size, life.now))
    told = reads_of(state.archive, [life.autoscaler]).explain_autoscaler("web", ExplainParameters())
    assert told.metrics[0].last is None


def test_a_metric_without_any_value_has_no_last_value(state: State) -> None:
    life = Recorded(state.ledger("fleet"), scaler(QUEUE_15))
    life.step(Failure("no answer"))
    told = reads_of(state.archive, [life.autoscaler]).explain_autoscaler("web", ExplainParameters())
    assert told.metrics[0].last is None
    assert told.lines[:2] == ("queue has no value: no answer", "queue has no value")
