"""`autoscaler events`."""

import re
from datetime import timedelta

import pytest

from autoscaler.cli.events import EventTable
from autoscaler.layout import Screen
from autoscaler.model import EventType
from autoscaler.view.events import EventDocument
from tests.cli.scene import ServedScene
from tests.decide.build import NOW


def test_events_of_all_autoscalers_have_a_name_column(online: ServedScene) -> None:
    said = online.run("events")
    assert said.code == 0
    assert said.lines[0].split() == ["LAST", "SEEN", "TYPE", "REASON", "AUTOSCALER", "MESSAGE"]
    assert any(re.match(r"\d+s +Normal +SuccessfulRescale +web +New size: 6; ", line) for line in said.lines)
    assert any(
        re.match(r"\d+s \(x4 over \d+s\) +Warning +FailedGetExternalMetric +broken ", line) for line in said.lines
    )


def test_events_of_one_autoscaler_have_no_name_column(online: ServedScene) -> None:
    said = online.run("events", "web")
    assert said.lines[0].split() == ["LAST", "SEEN", "TYPE", "REASON", "MESSAGE"]
    assert len(said.lines) == 2


def test_without_events_the_command_suggests_since(online: ServedScene) -> None:
    """Standard output stays empty for scripts."""
    said = online.run("events", "jobs")
    assert (said.code, said.out) == (0, "")
    assert said.err == "no events in this time; --since looks further back\n"


def test_since_omits_earlier_events(online: ServedScene) -> None:
    assert online.run("events", "web", "--since", "1s").out == ""


def test_a_cut_list_says_since_when_it_has_all_events(online: ServedScene, monkeypatch: pytest.MonkeyPatch) -> None:
    """An operator must not take the counts of an outage for all of them."""
    monkeypatch.setattr("autoscaler.record.events._MOST_MERGED", 2)
    said = online.run("events", "broken")
    assert re.match(r"\d+s \(x3 over \d+s\) +Warning ", said.lines[1]), said.out
    assert re.fullmatch(
        r"there are too many events to count them all; these are the newest, since [\d:]+\n", said.err
    ), said.err
    monkeypatch.undo()
    assert online.run("events", "broken").err == ""


def test_times_in_messages_are_local_with_their_distance() -> None:
    """The log and the API have them in UTC."""
    until = (NOW + timedelta(seconds=50)).isoformat(timespec="seconds")
    message = f"ann paused scaling until {until}: deploying"
    paused = EventDocument(
        autoscaler="web",
        type=EventType.NORMAL,
        reason="Paused",
        message=message,
        count=1,
        first=NOW,
        last=NOW,
        dry_run=False,
    )
    (line,) = EventTable(Screen(None, colours=False), with_name=False).rows([paused], NOW)
    assert re.search(r"paused scaling until [\d:]+ \(in \d+s\): deploying$", line), line
