"""Requests that are well-formed and meant to hurt: each costs little, and is told why it is refused."""

import json
import time

import pytest

from autoscaler.web.work import Work
from tests.web.serving import Served

PAUSE = "/api/v1/autoscalers/web/pause"


def test_thousands_of_parameters_are_refused_at_once(served: Served) -> None:
    """To look for repeated ones took a second of the only thread that answers."""
    path = "/api/v1/autoscalers?" + "&".join(f"{number}=" for number in range(2_700))
    began = time.thread_time()
    answer = served.get(path)
    assert answer.status_code == 400
    assert answer.json()["error"] == "more than 32 parameters are given; give fewer"
    assert time.thread_time() - began < 1


def test_a_line_too_long_is_refused(served: Served) -> None:
    answer = served.get("/api/v1/autoscalers?name=" + "x" * 100_000)
    assert answer.status_code == 400


@pytest.mark.parametrize(
    "body",
    [
        b"[" * 60_000,
        b'{"reason":' * 6_000,
        b'{"reason":' + b"[" * 900 + b"]" * 900 + b"}",
        b'{"for":' + b"9" * 60_000 + b"}",
        json.dumps({f"key{number}": number for number in range(4_000)}).encode(),
        b'{"reason":"' + b"x" * 65_000 + b'"}',
        b'{"reason":"' + b"x" * 70_000 + b'"}',
        b"\xff" * 60_000,
        b'{"reason":"\\ud800"}',
    ],
    ids=["deep", "deep objects", "deep value", "digits", "keys", "long text", "too long", "no UTF-8", "half a pair"],
)
def test_a_hostile_body_is_bad_data(served: Served, body: bytes) -> None:
    answer = served.post(PAUSE, data=body, headers={"Content-Type": "application/json"})
    assert (answer.status_code, answer.json()["errorType"]) == (400, "bad_data")
    assert len(answer.content) < 1_000
    assert served.daemon.state.archive.steering() == {}
    assert served.log.named("request_failed") == []


def test_too_many_who_wait_for_an_answer_are_told_to_come_back(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """503 with Retry-After, for the API, the metrics and a reload alike."""
    monkeypatch.setattr(Work, "_waiting", lambda self: 1_000)
    for answer in (served.get("/api/v1/autoscalers"), served.get("/metrics"), served.post("/-/reload")):
        assert answer.status_code == 503
        assert answer.headers["retry-after"] == "1"
        assert "try again in a second" in answer.text
