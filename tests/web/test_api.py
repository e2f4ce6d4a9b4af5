"""What the API answers."""

from datetime import timedelta
from pathlib import Path

import pytest

from autoscaler.model import Direction, Pause, Steering
from tests.replaced import replace
from tests.web.serving import Daemon, Served, serving

WEB = "/api/v1/autoscalers/web"


def test_the_list_holds_every_autoscaler_by_name(served: Served) -> None:
    found = served.data("/api/v1/autoscalers")
    assert [each["name"] for each in found["autoscalers"]] == ["jobs", "web"]
    assert found["total"] == 2
    web = found["autoscalers"][1]
    assert (web["reference"], web["current"], web["minimum"], web["maximum"]) == ("fleet/web", 6, 1, 10)
    assert web["targets"] == "cpu: 60%/60%"


def test_the_list_comes_in_pages(served: Served) -> None:
    found = served.data("/api/v1/autoscalers?limit=1&offset=1")
    assert [each["name"] for each in found["autoscalers"]] == ["web"]
    assert found["total"] == 2


def test_the_list_is_searched_by_name(served: Served) -> None:
    found = served.data("/api/v1/autoscalers?name=job")
    assert [each["name"] for each in found["autoscalers"]] == ["jobs"]
    assert found["total"] == 1


def test_one_autoscaler_comes_with_its_configuration_and_events(served: Served) -> None:
    found = served.data(WEB)
    assert found["summary"]["name"] == "web"
    assert found["spec"]["maximum"] == 10
    assert [event["reason"] for event in found["events"]] == ["SuccessfulRescale"]


def test_a_decision_of_the_past_is_explained(served: Served) -> None:
    """The question is usually asked after the fact."""
    at = served.daemon.clock.now() - timedelta(seconds=15)
    found = served.data(f"{WEB}/explain?at={at.isoformat().replace('+00:00', 'Z')}")
    assert (found["current"], found["written"]) == (3, 6)
    assert served.data(f"{WEB}/explain?at={at.timestamp()}")["at"] == found["at"]
    assert served.data(f"{WEB}/explain")["current"] == 6


def test_before_the_first_decision_there_is_nothing_to_explain(served: Served) -> None:
    answer = served.get(f"{WEB}/explain?at=2000-01-01T00:00:00Z")
    assert answer.status_code == 404
    assert "had no decision" in answer.json()["error"]


def test_history_holds_each_decision_and_the_events(served: Served) -> None:
    found = served.data(f"{WEB}/history")
    assert [(point["current"], point["desired"]) for point in found["points"]] == [(3, 3), (3, 6), (6, 6)]
    assert found["points"][1]["metrics"] == [
        {"name": "cpu", "targetType": "Utilization", "value": 120.0, "target": 60.0}
    ]
    assert [event["reason"] for event in found["events"]] == ["SuccessfulRescale"]


def test_history_of_a_span_holds_nothing_outside_it(served: Served) -> None:
    now = served.daemon.clock.now()
    found = served.data(f"{WEB}/history?since={now.timestamp() - 20}&until={now.timestamp() - 10}")
    assert [point["desired"] for point in found["points"]] == [6]


def test_events_are_counted(served: Served) -> None:
    for path in ("/api/v1/events?name=web", f"{WEB}/events"):
        found = served.data(path)
        assert [(event["autoscaler"], event["count"]) for event in found["events"]] == [("web", 1)]
        assert found["total"] == 1
    assert served.data("/api/v1/events?since=2100-01-01T00:00:00Z")["events"] == []


def test_the_daemon_says_how_it_does(served: Served) -> None:
    """What a monitor or a script asks before it looks at any autoscaler."""
    served.daemon.health.reload_failed(["autoscaler.yaml:1:1: is empty; write it"])

    told = served.data("/api/v1/status/daemon")

    assert (told["version"], told["autoscalers"], told["level"]) == ("1.2.3", 2, "warning")
    assert told["lastReload"]["problem"] == "autoscaler.yaml:1:1: is empty; write it"
    assert told["problems"] == ["the last reload was refused; the previous configuration stays in force"]


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("/api/v1/autoscalers/nobody", "nobody"),
        ("/api/v1/autoscalers/nobody/history", "nobody"),
        ("/api/v1/events?name=nobody", "nobody"),
        ("/api/v1/nothing", "openapi.json"),
    ],
)
def test_what_does_not_exist_is_not_found(served: Served, path: str, told: str) -> None:
    answer = served.get(path)
    assert answer.status_code == 404
    assert (answer.json()["status"], answer.json()["errorType"]) == ("error", "not_found")
    assert told in answer.json()["error"]


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("limit=0", "limit"),
        ("limit=many", "limit"),
        ("offset=-1", "offset"),
        ("limt=5", "known: labelSelector, limit, name, offset"),
        ("limit=5&limit=6", "more than once"),
    ],
)
def test_a_wrong_parameter_is_named(served: Served, query: str, told: str) -> None:
    answer = served.get(f"/api/v1/autoscalers?{query}")
    assert answer.status_code == 400
    assert answer.json()["errorType"] == "bad_data"
    assert told in answer.json()["error"]


@pytest.mark.parametrize("at", ["yesterday", "2026-13-01T00:00:00Z", "2026-01-01", "2026-01-01T00:00:00", "-1"])
def test_a_wrong_time_is_told_with_the_form_expected(served: Served, at: str) -> None:
    answer = served.get(f"{WEB}/explain", params={"at": at})
    assert answer.status_code == 400
    assert "expected a time such as" in answer.json()["error"]


def test_a_method_that_is_not_possible_is_refused(served: Served) -> None:
    answer = served.control.delete(f"http://localhost{WEB}", timeout=10)
    assert answer.status_code == 405
    assert answer.json()["errorType"] == "method_not_allowed"
    assert "GET" in answer.headers["allow"]


def test_a_state_that_fails_is_unavailable(daemon: Daemon, tmp_path: Path) -> None:
    with serving(daemon) as served:
        daemon.state.close()
        (tmp_path / "state" / "state.db").write_bytes(b"not a database" * 400)
        answer = served.get("/api/v1/events")
    assert answer.status_code == 503
    assert answer.json()["errorType"] == "unavailable"
    assert "restore a backup" in answer.json()["error"] or "move it away" in answer.json()["error"]


def test_a_pause_that_is_past_is_not_shown(served: Served) -> None:
    """It ends by itself: nobody takes it back."""
    now = served.daemon.clock.now()
    pause = Pause(Direction.BOTH, "ann", "", now - timedelta(hours=2), now - timedelta(hours=1))
    served.daemon.state.steer("web", Steering(pause))
    assert served.data(WEB)["summary"]["steering"] == {"pause": None, "override": None}


def test_the_list_is_selected_by_labels(served: Served) -> None:
    """As kubectl does; what is remembered without a configuration has none."""
    web, jobs = served.daemon.scalers
    served.daemon.scalers = (replace(web, labels=(("team", "shop"),)), jobs)
    listed = served.data("/api/v1/autoscalers?labelSelector=team%20in%20(shop,mail)&limit=1")
    assert [(each["name"], each["labels"]) for each in listed["autoscalers"]] == [("web", {"team": "shop"})]
    assert listed["total"] == 1
    assert [each["name"] for each in served.data("/api/v1/autoscalers?labelSelector=!team")["autoscalers"]] == ["jobs"]
    assert served.data(WEB)["summary"]["labels"] == {"team": "shop"}
    refused = served.get("/api/v1/autoscalers?labelSelector=team>3")
    assert refused.status_code == 400
    assert "labelSelector: 'team>3' is not a valid label selector; expected terms" in refused.json()["error"]
