"""Pause and resume of several autoscalers in one request."""

from typing import Any

import pytest
from sqlalchemy import Connection

from autoscaler.errors import StateError
from autoscaler.model import ManualControls
from autoscaler.record.kept import save
from autoscaler.view.verdict import AutoscalerState
from tests.replaced import replace
from tests.view.lives import named
from tests.web.serving import Served
from tests.web.unix import THIS_USER

PAUSE, RESUME = "/api/v1/pause", "/api/v1/resume"


@pytest.fixture
def fleet(served: Served) -> Served:
    """`web` and `mail` have the label team=shop; `jobs` has no label."""
    web, jobs = served.daemon.scalers
    labelled = replace(web, labels=(("team", "shop"), ("tier", "web")))
    mail = replace(named(labelled, "mail"), labels=(("team", "shop"),))
    served.daemon.scalers = (labelled, jobs, mail)
    return served


def kept(served: Served) -> dict[str, ManualControls]:
    return dict(served.daemon.state.archive.steering())


def test_one_request_pauses_the_whole_fleet_and_lists_it(fleet: Served) -> None:
    answer = fleet.post(PAUSE, {"all": True, "for": "2h", "reason": "wrong release"})
    assert answer.status_code == 200, answer.text
    data = answer.json()["data"]
    assert (data["autoscalers"], data["total"]) == (["jobs", "mail", "web"], 3)
    assert (data["pause"]["reason"], data["pause"]["direction"]) == ("wrong release", "both")
    assert {steering.pause.by for steering in kept(fleet).values() if steering.pause} == {THIS_USER}
    listed = fleet.data("/api/v1/autoscalers")["autoscalers"]
    assert {each["state"] for each in listed if each["name"] != "mail"} == {AutoscalerState.PAUSED}
    (line,) = fleet.log.named("paused")
    assert (line["autoscalers"], line["which"], line["by"]) == (3, "all", THIS_USER)
    assert line["names"] == ("jobs", "mail", "web")


def test_a_resume_lists_the_autoscalers_that_it_changed(fleet: Served) -> None:
    fleet.post(PAUSE, {"labelSelector": "tier"})
    fleet.post("/api/v1/autoscalers/jobs/override", {"maximum": 4})
    answer = fleet.post(RESUME, {"labelSelector": "team=shop"})
    assert answer.json()["data"] == {"autoscalers": ["web"], "total": 1, "pause": None}
    assert list(kept(fleet)) == ["jobs"]
    (line,) = fleet.log.named("resumed")
    assert (line["names"], line["which"], line["by"]) == (("web",), "team=shop", THIS_USER)
    assert fleet.post(RESUME, {"all": True, "override": False}).json()["data"]["total"] == 0
    assert fleet.post(RESUME, {"all": True}).json()["data"]["autoscalers"] == ["jobs"]
    assert kept(fleet) == {}


def test_a_resume_of_all_includes_autoscalers_that_left_the_configuration(fleet: Served) -> None:
    """Otherwise one that is configured again weeks later would still be paused."""
    fleet.post(PAUSE, {"all": True})
    fleet.daemon.scalers = fleet.daemon.scalers[:1]
    assert fleet.post(RESUME, {"all": True}).json()["data"]["autoscalers"] == ["jobs", "mail", "web"]


@pytest.mark.parametrize("path", [PAUSE, RESUME])
@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        ({}, 409, "give either all (true), or a labelSelector"),
        ({"labelSelector": ""}, 409, "give either all (true), or a labelSelector"),
        ({"all": True, "labelSelector": "team=shop"}, 409, "give either all (true), or a labelSelector"),
        ({"all": "yes"}, 400, "all"),
        ({"labelSelector": "team=shop,"}, 400, "is not a valid label selector"),
        ({"labelSelector": ["team"]}, 400, "expected a text such as team=shop"),
        ({"labelSelector": "team=shpo"}, 404, "no autoscaler's labels match 'team=shpo'"),
        ({"selector": "team=shop"}, 400, "known: all,"),
    ],
)
def test_a_request_must_say_which_autoscalers_it_changes(
    fleet: Served, path: str, body: dict[str, Any], status: int, message: str
) -> None:
    """An operator who mistypes a selector learns so."""
    answer = fleet.post(path, body)
    assert (answer.status_code, kept(fleet)) == (status, {})
    assert message in answer.json()["error"]


def test_a_failed_request_pauses_no_autoscaler(fleet: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """All are changed in one transaction."""

    def full(connection: Connection, *rest: Any) -> None:
        save(connection, *rest)
        raise StateError("the disk is full")

    monkeypatch.setattr("autoscaler.record.steering.save", full)
    assert fleet.post(PAUSE, {"all": True}).status_code == 503
    assert kept(fleet) == {}
