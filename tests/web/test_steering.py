"""Pause, resume and override over HTTP."""

from collections.abc import Mapping
from concurrent.futures import Future
from contextlib import AbstractContextManager
from datetime import timedelta
from functools import partial
from threading import Event
from typing import Any

import pytest
import requests
from sqlalchemy import Connection

from autoscaler.model import Direction, ManualControls, Override
from autoscaler.threads import spawn
from tests.steering import steer
from tests.waiting import PATIENCE_SECONDS
from tests.web.serving import Served
from tests.web.unix import THIS_USER

WEB = "/api/v1/autoscalers/web"


def kept(served: Served) -> ManualControls:
    return served.daemon.state.archive.steering().get("web", ManualControls())


def test_a_pause_needs_no_body(served: Served) -> None:
    """In an emergency an operator types `curl -X POST …/pause`."""
    assert served.post(f"{WEB}/pause").status_code == 200
    pause = kept(served).pause
    assert pause is not None
    assert (pause.direction, pause.until) == (Direction.BOTH, None)


def test_a_pause_does_not_undo_a_concurrent_override_on_another_host(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The transaction that changes the steering also reads it."""
    now, asked = served.daemon.clock.now(), list[Future[requests.Response]]()
    override = Override(4, None, "bob", "sale", now, None)
    database, transaction_asked_for = served.daemon.state._database, Event()
    writing = database.writing

    def second_transaction() -> AbstractContextManager[Connection]:
        transaction_asked_for.set()
        return writing()

    def overridden(known: Mapping[str, ManualControls]) -> Mapping[str, ManualControls]:
        monkeypatch.setattr(database, "writing", second_transaction)
        asked.append(spawn("asking", partial(served.post, f"{WEB}/pause")))
        assert transaction_asked_for.wait(PATIENCE_SECONDS)
        assert not asked[0].done()
        return {"web": ManualControls(None, override)}

    served.daemon.state.change_steering(overridden, lambda *_: None, now)
    assert asked[0].result(PATIENCE_SECONDS).status_code == 200
    assert kept(served).override == override
    assert kept(served).pause is not None


def test_each_change_is_a_line_of_the_log(served: Served) -> None:
    served.post(f"{WEB}/override", {"maximum": 8, "reason": "sale"})
    served.post(f"{WEB}/resume", {"pause": False, "reason": "sale ended"})
    (overridden,), (resumed,) = served.log.named("overridden"), served.log.named("resumed")
    assert overridden["autoscaler"] == resumed["autoscaler"] == "web"
    assert (overridden["minimum"], overridden["maximum"]) == (None, 8)
    assert (overridden["by"], overridden["reason"], overridden["until"]) == (THIS_USER, "sale", None)
    assert (resumed["pause"], resumed["override"]) == (False, True)
    assert (resumed["by"], resumed["reason"]) == (THIS_USER, "sale ended")


def test_a_pause_does_not_renew_an_expired_override(served: Served) -> None:
    """Both are one value in the state."""
    now = served.daemon.clock.now()
    past = Override(5, None, "bob", "", now - timedelta(hours=2), now - timedelta(hours=1))
    steer(served.daemon.state, "web", ManualControls(None, past))
    served.post(f"{WEB}/pause")
    assert kept(served).override is None


@pytest.mark.parametrize(
    ("action", "body", "status", "message"),
    [
        ("pause", {"direction": "up"}, 400, "direction"),
        ("pause", {"for": "2 hours"}, 400, "for: 2 hours is not accepted; use 90s, 1h30m or 2d"),
        ("pause", {"for": "0s"}, 400, "for: 0s is not accepted; use 90s, 1h30m or 2d"),
        ("pause", {"for": 7200}, 400, "for: 7200 is not accepted"),
        ("pause", {"foor": "2h"}, 400, "known: direction, for, reason"),
        ("pause", {"reason": "a\nb"}, 400, "reason"),
        ("override", {}, 409, "neither minimum nor maximum"),
        ("override", {"minimum": 11}, 409, "the minimum 11 is above the configured maxReplicas 10"),
        ("override", {"minimum": 5, "maximum": 2}, 409, "the minimum 5 is above the maximum 2; lower the minimum"),
        ("override", {"minimum": -1}, 400, "minimum"),
        ("override", {"minimum": "3"}, 400, "minimum"),
        ("override", {"minimum": 0}, 409, "Object or External"),
        ("override", {"maximum": 0}, 400, "maximum"),
    ],
)
def test_an_invalid_change_is_refused_and_changes_nothing(
    served: Served, action: str, body: dict[str, Any], status: int, message: str
) -> None:
    answer = served.post(f"{WEB}/{action}", body)
    assert (answer.status_code, answer.json()["status"]) == (status, "error")
    assert message in answer.json()["error"]
    assert kept(served) == ManualControls()


def test_an_autoscaler_that_is_not_configured_cannot_be_paused(served: Served) -> None:
    """The state still has its history."""
    served.daemon.scalers = ()
    assert served.post(f"{WEB}/pause").status_code == 404
