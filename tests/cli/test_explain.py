"""`autoscaler explain`."""

import json
import re
from datetime import datetime
from urllib.parse import quote, unquote

import pytest

from tests.cli.scene import Scene, ServedScene


def test_metrics_stand_in_a_table_and_the_rest_in_sentences(online: ServedScene) -> None:
    """Read, ratio, proposal, which one won; then what became of the number."""
    said = online.run("explain", "web")
    assert said.code == 0
    assert said.lines[0].startswith("web (fleet/web), decided ")
    assert said.lines[2].split() == ["METRIC", "CURRENT", "TARGET", "RATIO", "ASKS", "FOR", "SAMPLES"]
    assert re.fullmatch(r"cpu +60% \(avg\) +60% +1\.000 +6 +6 read, 6 counted", said.lines[3])
    assert "The size is 6 and stays." in said.lines
    assert any(line.startswith("To scale out it takes average cpu above 66%") for line in said.lines)


def test_a_failed_metric_says_why(online: ServedScene) -> None:
    """The first thing to repair."""
    out = online.run("explain", "broken").out
    assert re.search(r"^queue +<unknown> +15 +- +<unknown> ", out, re.MULTILINE)
    assert "queue has no value: " in out


def test_a_decision_of_the_past(online: ServedScene) -> None:
    """The one in force then: the size was set to 6 half a minute ago."""
    at = online.web.now.isoformat()
    assert "The size is 6 and stays." in online.run("explain", "web", "--at", at).out
    said = online.run("explain", "web", "--at", "30s")
    assert "The size was 3 and was set to 6." in said.out


def times_of(scene: ServedScene) -> dict[str, str]:
    """Every time that is written of a decision: it -> when the decision was made, as the API says."""
    found: dict[str, str] = {}
    points = json.loads(scene.run("history", "web", "-o", "json").out)["points"]
    rows = [line.split()[0] for line in scene.run("history", "web").lines[1:]]
    page = scene.served.get("/autoscalers/web").text
    for point, row in zip(points, rows, strict=True):
        at = datetime.fromisoformat(point["at"])
        shown = re.search(rf"<time datetime=\"{point['at']}\" data-local=\"full\">(.*?)</time>", page)
        assert shown is not None
        link = re.search(rf"at=({re.escape(quote(point['at']))})", page)
        assert link is not None
        local = at.astimezone()
        for text in (point["at"], row, shown[1], unquote(link[1]), f"{local:%H:%M:%S}", f"{local:%H:%M:%S} local"):
            found[text] = point["at"]
    for command, pattern in (("describe", r"Last decision: +(.*) \("), ("explain", r", decided (.*), .* ago")):
        shown = re.search(pattern, scene.run(command, "web").out)
        assert shown is not None
        found[shown[1]] = points[-1]["at"]
    clock = re.search(r"as read at <time [^>]*>(.*?)</time>", page)
    assert clock is not None
    found[clock[1]] = points[-1]["at"]
    events = json.loads(scene.run("events", "web", "-o", "json").out)["events"]
    assert events
    for event in events:
        found[event["last"]] = event["last"]
        found[f"{datetime.fromisoformat(event['last']).astimezone():%Y-%m-%d %H:%M:%S}"] = event["last"]
    return found


def test_a_time_that_is_written_of_a_decision_leads_to_it(online: ServedScene) -> None:
    """Cut to seconds, it is before the decision, and the one before that was explained."""
    times = times_of(online)
    assert len(set(times.values())) == 4
    assert any(text.endswith(" UTC") for text in times)
    for text, at in times.items():
        assert json.loads(online.run("explain", "web", "--at", text, "-o", "json").out)["at"] == at, text


def test_before_the_first_decision(online: ServedScene, offline: Scene) -> None:
    """The name is right, the time is not."""
    for scene in (online, offline):
        said = scene.run("explain", "web", "--at", "2020-01-01T00:00:00Z")
        assert said.code == 1
        assert "autoscaler 'web' had no decision at 2020-01-01T00:00:00+00:00; use a later time" in said.err


@pytest.mark.parametrize("time", ["yesterday", "25:00", "2026-13-01", "1h ago", "99999999999y", ""])
def test_what_is_no_time_names_the_forms(online: ServedScene, time: str) -> None:
    """Wrong arguments: 2."""
    said = online.run("explain", "web", "--at", time)
    assert said.code == 2
    assert "is not a valid time" in said.err
    assert "14:30" in said.err


def test_json_is_what_the_daemon_says(online: ServedScene) -> None:
    """The whole trace."""
    said = online.run("explain", "web", "-o", "json")
    assert json.loads(said.out) == online.served.data("/api/v1/autoscalers/web/explain")


def test_without_a_daemon_the_state_is_read(offline: Scene) -> None:
    """It holds everything that decisions were made from."""
    assert "The size is 6 and stays." in offline.run("explain", "web").out


def test_queries_and_what_each_instance_measured(online: ServedScene) -> None:
    """Of that moment: an average hides the one instance that is in trouble."""
    out = online.run("explain", "web").out
    assert re.search(r"^cpu  vector\(0\)$", out, re.MULTILINE)
    assert re.search(r"^Instances:\n  Name +State +Age +cpu +Detail\n", out, re.MULTILINE)
    assert re.search(r"^  i-0 +ready +\d+\w+ +60%$", out, re.MULTILINE)
