"""`autoscaler events`."""

import json
import re

from tests.cli.scene import Scene, ServedScene


def test_all_events_with_their_autoscalers(online: ServedScene) -> None:
    """The newest last, where a terminal ends."""
    said = online.run("events")
    assert said.code == 0
    assert said.lines[0].split() == ["LAST", "SEEN", "TYPE", "REASON", "AUTOSCALER", "MESSAGE"]
    assert any(re.match(r"\d+s +Normal +SuccessfulRescale +web +New size: 6; ", line) for line in said.lines)
    assert any(
        re.match(r"\d+s \(x4 over \d+s\) +Warning +FailedGetExternalMetric +broken ", line) for line in said.lines
    )


def test_those_of_one(online: ServedScene) -> None:
    """Without a column that would say the same in every row."""
    said = online.run("events", "web")
    assert said.lines[0].split() == ["LAST", "SEEN", "TYPE", "REASON", "MESSAGE"]
    assert len(said.lines) == 2


def test_a_time_without_events_says_how_to_look_further(online: ServedScene) -> None:
    """Nothing on stdout."""
    said = online.run("events", "jobs")
    assert (said.code, said.out) == (0, "")
    assert said.err == "no events in this time; --since looks further back\n"


def test_since_leaves_out_what_was_before(online: ServedScene) -> None:
    """An event of half a minute ago is not of the last second."""
    assert online.run("events", "web", "--since", "1s").out == ""


def test_json_holds_times_and_counts(online: ServedScene) -> None:
    """For scripts."""
    (event,) = json.loads(online.run("events", "web", "-o", "json").out)["events"]
    assert (event["reason"], event["count"]) == ("SuccessfulRescale", 1)


def test_without_a_daemon_the_state_is_read(offline: Scene) -> None:
    """Events outlive it."""
    assert "New size: 6" in offline.run("events").out


def test_an_unknown_name_brings_the_nearest(online: ServedScene) -> None:
    """As everywhere."""
    assert online.run("events", "brokn").err == "there is no autoscaler 'brokn'; did you mean broken?\n"
