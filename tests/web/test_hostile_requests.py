"""Expensive requests are refused before any work, with the reason."""

import json

import pytest

from autoscaler.web.work import Work
from tests.web.serving import Served

PAUSE = "/api/v1/autoscalers/web/pause"


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("&".join(f"{number}=" for number in range(2_700)), "more than 32 parameters are given; give fewer"),
        ("name=" + "x" * 10_000, "name: string should have at most 253 characters"),
    ],
    ids=["parameters", "length"],
)
def test_a_hostile_query_is_refused(served: Served, query: str, message: str) -> None:
    answer = served.get(f"/api/v1/autoscalers?{query}")
    assert answer.status_code == 400
    assert message in answer.text


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"[]",
        b'"text"',
        b"[" * 60_000,
        b'{"reason":' * 6_000,
        b'{"reason":' + b"[" * 900 + b"]" * 900 + b"}",
        b'{"for":' + b"9" * 60_000 + b"}",
        json.dumps({f"key{number}": number for number in range(4_000)}).encode(),
        b'{"reason":"' + b"x" * 65_000 + b'"}',
        b'{"reason":"' + b"x" * 70_000 + b'"}',
        b"\xff" * 60_000,
        b'{"reason":"\\ud800"}',
        b'{"\\ud800":1}',
        b'{"for":"\\udfff"}',
        b'{"reason":"\\ude9a\\ud83d"}',
    ],
    ids=lambda body: body[:10].decode(errors="replace"),
)
def test_a_hostile_body_is_bad_data(served: Served, body: bytes) -> None:
    answer = served.post(PAUSE, data=body, headers={"Content-Type": "application/json"})
    assert (answer.status_code, answer.json()["errorType"]) == (400, "bad_data")
    assert len(answer.content) < 1_000
    assert served.daemon.state.archive.steering() == {}
    assert served.log.named("request_failed") == []


def test_a_full_queue_is_answered_with_503_and_retry_after(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """This holds for the API, its document, the metrics and reloads."""
    monkeypatch.setattr(Work, "_waiting", lambda self: 1_000)
    answers = [served.get(f"/{path}") for path in ("api/v1/autoscalers", "api/v1/openapi.json", "metrics")]
    for answer in (*answers, served.post("/-/reload")):
        assert answer.status_code == 503
        assert answer.headers["retry-after"] == "1"
        assert "try again in a second" in answer.text
