"""A pause, an override and a resume are events with author, effect, reason and end."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from tests.web.serving import Daemon, Served, serving

WEB = "/api/v1/autoscalers/web"
KINDS = ("Paused", "Overridden", "Resumed")


@pytest.fixture
def fresh(daemon: Daemon) -> Iterator[Served]:
    with serving(daemon) as served:
        yield served


def events(served: Served, name: str = "web") -> list[tuple[str, str]]:
    """Reason, and message without the author, in their order."""
    found: list[dict[str, Any]] = served.data(f"/api/v1/events?name={name}")["events"]
    return [(each["reason"], each["message"].partition(" ")[2]) for each in found if each["reason"] in KINDS]


def test_each_change_of_an_autoscaler_is_an_event(fresh: Served) -> None:
    """The events exist at once, before any further cycle, in the order of the requests."""
    fresh.post(f"{WEB}/pause", {"direction": "in", "for": "2h", "reason": "deploy"})
    fresh.post(f"{WEB}/override", {"minimum": 4, "reason": "sale"})
    fresh.post(f"{WEB}/resume", {"override": False, "reason": "deployed"})
    fresh.post(f"{WEB}/resume")
    fresh.post(f"{WEB}/resume")
    end = (fresh.daemon.clock.now() + timedelta(hours=2)).isoformat(timespec="seconds")
    assert events(fresh) == [
        ("Paused", f"paused scaling in until {end}: deploy"),
        ("Overridden", "set min 4 until it is resumed: sale"),
        ("Resumed", "ended the pause: deployed"),
        ("Resumed", "ended the override: no reason given"),
    ]
    (first, *_) = [each for each in fresh.data("/api/v1/events?name=web")["events"] if each["reason"] == "Paused"]
    assert (first["type"], first["direction"], first["dryRun"]) == ("Normal", None, False)


def test_a_pause_of_all_is_an_event_of_each_autoscaler(fresh: Served) -> None:
    """A resume of all is an event of those that were paused."""
    fresh.post("/api/v1/pause", {"all": True, "reason": "wrong release"})
    fresh.post(f"{WEB}/resume")
    fresh.post("/api/v1/resume", {"all": True, "reason": "rolled back"})
    pause = ("Paused", "paused scaling until it is resumed: wrong release")
    assert events(fresh, "jobs") == [pause, ("Resumed", "ended the pause: rolled back")]
    assert events(fresh) == [pause, ("Resumed", "ended the pause: no reason given")]
