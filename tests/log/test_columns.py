"""The log on a terminal."""

import io
import time
from collections.abc import Iterator
from typing import Any

import pytest

from autoscaler.errors import TargetUnavailable
from autoscaler.log import line
from autoscaler.log.columns import Columns
from autoscaler.model import Decision, Proposed, Written
from tests.decisions import cpu, decision, rescale


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("COLUMNS", "100")
    yield
    monkeypatch.undo()
    time.tzset()


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
    assert first.index("no metric was read") == second.index("no metric was read")


def test_a_steady_decision_fits_the_terminal() -> None:
    """Its message is cut, because a wrapped line breaks the columns."""
    columns = Columns(io.StringIO())
    assert len(rendered(columns, decision("a-rather-long-name-that-takes-space"))) <= 100


def test_a_change_leads_with_its_cause() -> None:
    text = rendered(Columns(io.StringIO()), rescale(outcome=Written(5)))
    assert "▲ 3 " in text
    assert text.endswith(" -> 5")


def test_a_proposal_differs_from_a_write() -> None:
    """A dry run writes nothing."""
    text = rendered(Columns(io.StringIO()), rescale(dry_run=True, outcome=Proposed(5)))
    assert "△ 3" in text
    assert "(dry run)" in text
    assert text.endswith(" -> 5")


def test_a_time_in_a_sentence_is_local(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside it stands the line's own time, which is local, too."""
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    told = line.keys(decision()) | {"why": "paused by ann until 2026-05-04T14:00:00+00:00: sale"}
    text = shown(Columns(io.StringIO()), line.EVENT, **told)
    assert text.startswith("21:00:00")
    assert "until 23:00:00 (in 120m): sale" in text


def test_a_failure_is_marked_and_its_message_complete() -> None:
    """The message ends with the remedy."""
    made = decision(current=None, desired=None, metrics=(cpu(None),), error="x", outcome=TargetUnavailable("x"))
    told = line.keys(made) | {"why": "no answer " * 20}
    text = shown(Columns(io.StringIO()), line.EVENT, "warning", **told)
    assert "! ?" in text
    assert " ".join(text.split()).count("no answer") == 20


def test_a_long_message_is_wrapped_under_its_column(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    told = line.keys(decision(error="x")) | {"why": "refused " * 30}
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
    assert "(40 times) no metric was read" in text
