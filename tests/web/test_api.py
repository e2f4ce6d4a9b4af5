"""The answers of the API."""

from pathlib import Path

import pytest

from autoscaler.view.verdict import AutoscalerState
from tests.web.serving import Daemon, Served, serving

WEB = "/api/v1/autoscalers/web"


@pytest.mark.parametrize(("query", "name", "total"), [("limit=1&offset=1", "web", 2), ("name=job", "jobs", 1)])
def test_a_query_returns_a_part_of_the_list_and_the_total(served: Served, query: str, name: str, total: int) -> None:
    found = served.data(f"/api/v1/autoscalers?{query}")
    assert [each["name"] for each in found["autoscalers"]] == [name]
    assert found["total"] == total


def test_history_is_limited_to_the_given_times(served: Served) -> None:
    now = served.daemon.clock.now()
    found = served.data(f"{WEB}/history?since={now.timestamp() - 20}&until={now.timestamp() - 10}")
    assert [point["desired"] for point in found["points"]] == [6]


def test_the_status_has_the_problems_of_the_daemon(served: Served) -> None:
    """A monitor or a script reads it before it reads any autoscaler."""
    served.daemon.health.reload_failed(["autoscaler.yaml:1:1: is empty; write it"])

    status = served.data("/api/v1/status/daemon")

    assert (status["version"], status["autoscalers"], status["level"]) == ("1.2.3", 2, "warning")
    assert status["lastReload"]["problem"] == "autoscaler.yaml:1:1: is empty; write it"
    assert status["problems"] == ["the last reload was refused; the previous configuration stays in force"]


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("/api/v1/autoscalers/unknown", "unknown"),
        ("/api/v1/autoscalers/unknown/history", "unknown"),
        ("/api/v1/events?name=unknown", "unknown"),
        ("/api/v1/nothing", "openapi.json"),
    ],
)
def test_an_unknown_name_or_path_is_not_found(served: Served, path: str, message: str) -> None:
    answer = served.get(path)
    assert answer.status_code == 404
    assert (answer.json()["status"], answer.json()["errorType"]) == ("error", "not_found")
    assert message in answer.json()["error"]


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("limit=0", "limit"),
        ("limit=many", "limit"),
        ("offset=-1", "offset"),
        ("limt=5", "known: labelSelector, limit, name, offset, state"),
        ("limit=5&limit=6", "more than once"),
    ],
)
def test_the_error_names_the_wrong_parameter(served: Served, query: str, message: str) -> None:
    answer = served.get(f"/api/v1/autoscalers?{query}")
    assert answer.status_code == 400
    assert answer.json()["errorType"] == "bad_data"
    assert message in answer.json()["error"]


@pytest.mark.parametrize("at", ["yesterday", "2026-13-01T00:00:00Z", "2026-01-01", "2026-01-01T00:00:00", "-1"])
def test_the_error_of_a_wrong_time_shows_a_valid_one(served: Served, at: str) -> None:
    answer = served.get(f"{WEB}/explain", params={"at": at})
    assert answer.status_code == 400
    assert "expected a time such as" in answer.json()["error"]


def test_a_wrong_method_is_refused(served: Served) -> None:
    answer = served.control.delete(f"http://localhost{WEB}", timeout=10)
    assert answer.status_code == 405
    assert answer.json()["errorType"] == "method_not_allowed"
    assert "GET" in answer.headers["allow"]


def test_a_state_that_is_gone_is_answered_with_503(daemon: Daemon, tmp_path: Path) -> None:
    with serving(daemon) as served:
        daemon.state.close()
        (tmp_path / "state" / "state.db").unlink()
        answer = served.get("/api/v1/events")
    assert answer.status_code == 503
    assert answer.json()["errorType"] == "unavailable"
    assert "put the file back, or restart the daemon" in answer.json()["error"]


def test_the_list_is_selected_by_state(served: Served) -> None:
    """`autoscaler status` counts those that fail without reading the whole fleet. A removed one is in no state."""
    whole = served.data("/api/v1/autoscalers")["autoscalers"]
    for state in AutoscalerState:
        expected = [each["name"] for each in whole if each["state"] == state]
        found = served.data(f"/api/v1/autoscalers?state={state}&limit=1")
        assert (found["total"], [each["name"] for each in found["autoscalers"]]) == (len(expected), expected[:1])
    served.daemon.scalers = ()
    assert served.data("/api/v1/autoscalers")["total"] == len(whole)
    assert all(not served.data(f"/api/v1/autoscalers?state={each}")["total"] for each in AutoscalerState)
    assert served.get("/api/v1/autoscalers?state=wrong").status_code == 400
