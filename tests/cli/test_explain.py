"""`autoscaler explain`."""

import json
import re
from datetime import UTC, datetime
from urllib.parse import quote, unquote

import pytest

from autoscaler.cli.explain import explanation
from autoscaler.layout import Screen
from autoscaler.view.explanation import Explanation
from autoscaler.view.story import Kind
from tests.cli.scene import Scene, ServedScene


def test_explain_leads_with_the_cause_and_numbers_the_steps(online: ServedScene) -> None:
    """A reader sees what happened in one sentence, then how, then what would change it."""
    said = online.run("explain", "web")
    assert said.code == 0
    assert said.lines[0].startswith("web (fleet/web), ")
    assert said.lines[2] == "cpu 60% of 60% asks for 6"
    assert "1.  cpu: within the tolerance of 10 % -> 6" in said.lines
    ahead = said.lines[said.lines.index("What would change it:") + 1 :]
    assert ahead[0].startswith("- To scale out it takes average cpu above 66%")


def test_a_failed_metric_shows_its_error(online: ServedScene) -> None:
    out = online.run("explain", "broken").out
    assert "queue has no value: no answer\n" in out
    assert out.count("no answer") == 1
    assert "- The size stays until queue has a value." in out


def test_at_selects_the_decision_that_was_in_force(online: ServedScene) -> None:
    """The size was set to 6 half a minute ago."""
    at = online.web.now.isoformat()
    assert "asks for" in online.run("explain", "web", "--at", at).lines[2]
    ago = int((datetime.now(UTC) - online.web.now).total_seconds()) + 29
    assert online.run("explain", "web", "--at", f"{ago}s").lines[2] == "cpu 120% of 60% -> 6"


def test_nothing_is_said_to_change_a_size_that_nothing_is_known_to_change(online: ServedScene) -> None:
    found = Explanation.model_validate_json(online.run("explain", "web", "-o", "json").out)
    told = tuple([line for line in found.story if line.kind is not Kind.AHEAD])
    lines = explanation(found.model_copy(update={"story": told}), online.web.now, Screen())
    assert "1.  cpu: within the tolerance of 10 % -> 6" in lines
    assert "What would change it:" not in lines


def times_of(scene: ServedScene) -> dict[str, str]:
    """Return each notation of a decision's time in any output, and the time as the API writes it."""
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
    for command, pattern in (("describe", r"Last decision: +(.*) \("), ("explain", r"\), (.*) \(")):
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


def test_at_accepts_the_time_of_a_decision_in_every_notation(online: ServedScene) -> None:
    """A time cut to seconds is before the decision, and must not select the previous one."""
    times = times_of(online)
    assert len(set(times.values())) == 4
    assert any(text.endswith(" UTC") for text in times)
    for text, at in times.items():
        assert json.loads(online.run("explain", "web", "--at", text, "-o", "json").out)["at"] == at, text


def test_a_time_before_the_first_decision_is_refused(online: ServedScene, offline: Scene) -> None:
    for scene in (online, offline):
        said = scene.run("explain", "web", "--at", "2020-01-01T00:00:00Z")
        assert said.code == 1
        assert "autoscaler 'web' had no decision at 2020-01-01 00:00:00 (" in said.err
        assert "; use a later time" in said.err


@pytest.mark.parametrize("time", ["yesterday", "25:00", "2026-13-01", "1h ago", "99999999999y", ""])
def test_an_invalid_time_is_refused_with_the_accepted_forms(online: ServedScene, time: str) -> None:
    said = online.run("explain", "web", "--at", time)
    assert said.code == 2
    assert "Invalid value for --at: " in said.err
    assert "is not a valid time" in said.err
    assert "14:30" in said.err


def test_queries_and_the_values_of_each_instance_are_shown(online: ServedScene) -> None:
    """An average hides a single instance in trouble."""
    out = online.run("explain", "web").out
    assert re.search(r"^    vector\(0\)$", out, re.MULTILINE)
    assert re.search(r"^Instances:\n  Name +State +Age +cpu +Detail\n", out, re.MULTILINE)
    assert re.search(r"^  i-0 +ready +\d+\w+ +60%$", out, re.MULTILINE)
