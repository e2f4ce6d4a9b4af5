"""The log on a terminal."""

import io
from typing import Any

import pytest

from autoscaler.errors import TargetUnavailable
from autoscaler.log import line
from autoscaler.log.columns import Columns
from autoscaler.model import Decision, MetricOutcome, MetricTarget, MetricType, Proposed, TargetType, Written
from tests.decisions import cpu, decision, rescale
from tests.replaced import replace


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")


def rendered(columns: Columns, made: Decision) -> str:
    level = "warning" if made.error is not None else "info"
    return shown(columns, line.EVENT, level, **line.keys(made))


def shown(columns: Columns, event: str, level: str = "info", **keys: Any) -> str:
    return columns(None, level, {"timestamp": "2026-05-04T12:00:00Z", "level": level, "event": event, **keys})


def test_columns_stay_aligned() -> None:
    """A column is as wide as the longest value so far."""
    columns = Columns(io.StringIO())
    first = rendered(columns, decision("a-rather-long-name"))
    second = rendered(columns, decision("web"))
    assert first.index("cpu 63%/60%") == second.index("cpu 63%/60%")
    assert first.index("ReadyForNewScale") == second.index("ReadyForNewScale")


def test_a_steady_decision_fits_the_terminal() -> None:
    """Its message is cut, because a wrapped line breaks the columns."""
    columns = Columns(io.StringIO())
    assert len(rendered(columns, decision("a-rather-long-name-that-takes-space"))) <= 100


def test_a_change_shows_both_sizes() -> None:
    text = rendered(Columns(io.StringIO()), rescale(outcome=Written(5)))
    assert "▲ 3 → 5" in text


def test_values_have_the_notation_of_explain() -> None:
    """The JSON line keeps kubectl's `9333m`."""
    queue = MetricOutcome("queue", MetricType.PODS, MetricTarget(TargetType.AVERAGE_VALUE, 500), average_value=9_333)
    text = rendered(Columns(io.StringIO()), decision("web", metrics=(queue,)))
    assert "queue 9.33/0.5" in text


def test_instances_without_a_sample_are_counted_beside_the_value() -> None:
    """Otherwise the value of one instance looks like that of all."""
    text = rendered(Columns(io.StringIO()), decision(metrics=(replace(cpu(), ready=1, missing=("i-2", "i-3")),)))
    assert "cpu 63%/60% (2 missing)" in text


def test_a_proposal_differs_from_a_write() -> None:
    """A dry run writes nothing."""
    text = rendered(Columns(io.StringIO()), rescale(dry_run=True, outcome=Proposed(5)))
    assert "△ 3 → 5" in text
    assert "(dry run)" in text


def test_a_dry_run_shows_the_size_that_it_would_write() -> None:
    text = rendered(Columns(io.StringIO()), rescale(dry_run=True, current=2, outcome=Proposed(5)))
    assert "△ 2 → " in text


def test_a_failure_is_marked_and_its_message_complete() -> None:
    """The message ends with the remedy."""
    made = decision(current=None, desired=None, metrics=(cpu(None),), error="x", outcome=TargetUnavailable("x"))
    told = line.keys(made) | {"message": "no answer " * 20}
    text = shown(Columns(io.StringIO()), line.EVENT, "warning", **told)
    assert "! ?" in text
    assert "cpu <unknown>/60%" in text
    assert " ".join(text.split()).count("no answer") == 20


def test_a_long_message_is_wrapped_under_its_column(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    told = line.keys(decision(error="x")) | {"message": "refused " * 30}
    lines = shown(Columns(io.StringIO()), line.EVENT, "warning", **told).splitlines()
    assert len(lines) > 1
    assert len({text.index("refused") for text in lines}) == 1
    assert max(map(len, lines)) <= 160


def test_without_a_terminal_there_are_no_colours() -> None:
    """`--log.format=console` may be written to a file."""
    assert "\033" not in rendered(Columns(io.StringIO()), rescale(outcome=Written(5)))


def test_other_events_show_their_keys() -> None:
    """The columns are for decisions."""
    text = shown(Columns(io.StringIO()), "starting", version="0.1.0", adapters=["fleet", "swarm"], broken=[])
    assert text.endswith("starting  version=0.1.0  adapters=fleet,swarm  broken=-")


def test_a_repeated_decision_shows_its_count() -> None:
    text = shown(Columns(io.StringIO()), line.EVENT, **line.keys(decision(conditions=())), repeated=40)
    assert text.endswith("(40 times)")
