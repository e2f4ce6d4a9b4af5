"""One notice as an HTTP request, with receivers that accept, refuse, redirect and hang."""

import base64
from datetime import UTC, datetime
from pathlib import Path

import pytest

from autoscaler.config.settings import Webhook
from autoscaler.model import Notice, NoticeType
from autoscaler.notify import webhook as webhooks
from autoscaler.notify.webhook import Answer, Result, post, read_key
from tests.notify.receiver import KEY, Receiver

AT = datetime(2026, 11, 24, 2, 40, tzinfo=UTC)
NOW = datetime(2026, 11, 24, 2, 41, tzinfo=UTC)
SCALED = Notice(NoticeType.SCALED, "web", "queue is above its target", "fleet/web-asg", 2, 4, "SuccessfulRescale")


def sent(receiver: Receiver, folder: Path, *answers: int | str) -> Answer:
    """Send one notice to a receiver that answers so."""
    receiver.answers = [*answers]
    return post(receiver.webhook(folder), "an-id", AT, SCALED, NOW)


def test_a_notice_is_a_signed_cloudevent(receiver: Receiver, tmp_path: Path) -> None:
    """The receiver recomputes the signature from the id, the time of the request and the body."""
    assert sent(receiver, tmp_path) == (Result.DELIVERED, "answered 204")
    assert receiver.content_types == ["application/cloudevents+json; charset=UTF-8"]
    assert receiver.events == [
        {
            "specversion": "1.0",
            "id": "an-id",
            "source": "prometheus-autoscaler",
            "type": "prometheus-autoscaler.scaled",
            "subject": "web",
            "time": "2026-11-24T02:40:00Z",
            "datacontenttype": "application/json",
            "data": {
                "message": "queue is above its target",
                "target": "fleet/web-asg",
                "size": 2,
                "desired": 4,
                "reason": "SuccessfulRescale",
            },
        }
    ]


@pytest.mark.parametrize(
    ("answer", "result"),
    [
        (200, Result.DELIVERED),
        (400, Result.REFUSED),
        (404, Result.REFUSED),
        (408, Result.FAILED),
        (429, Result.FAILED),
        (500, Result.FAILED),
        (503, Result.FAILED),
    ],
)
def test_the_status_decides_whether_a_notice_is_sent_again(
    receiver: Receiver, tmp_path: Path, answer: int, result: Result
) -> None:
    """As in Alertmanager: 4xx means that the request is wrong and stays wrong; 408, 429 and 5xx are temporary."""
    assert sent(receiver, tmp_path, answer) == (result, f"answered {answer}")


def test_a_redirect_is_not_followed(receiver: Receiver, tmp_path: Path) -> None:
    """A signed notice is sent only to the address in the configuration."""
    answer = sent(receiver, tmp_path, "redirect")
    assert answer.result is Result.FAILED
    assert answer.detail.startswith("answered 302; a redirect is not followed")
    assert len(receiver.events) == 1


@pytest.mark.parametrize("way", ["hang", "drip", "huge"])
def test_a_request_ends_in_time_whatever_the_answer(
    receiver: Receiver, tmp_path: Path, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The receiver is silent, sends one byte at a time, or sends 1 GiB."""
    monkeypatch.setattr(webhooks, "TIMEOUT_SECONDS", 0.6)
    answer = sent(receiver, tmp_path, way)
    assert answer.result is Result.FAILED
    assert ("more than" if way == "huge" else "0.6 s") in answer.detail


def test_an_error_does_not_show_the_url(tmp_path: Path) -> None:
    """The URL may contain a token."""
    secret = tmp_path / "secret"
    secret.write_text(base64.b64encode(KEY).decode())
    answer = post(Webhook("http://127.0.0.1:1/t0ken", secret), "an-id", AT, SCALED, NOW)
    assert answer.result is Result.FAILED
    assert "t0ken" not in answer.detail


def test_a_key_may_have_the_prefix_of_standard_webhooks(tmp_path: Path) -> None:
    """Its libraries generate keys that begin with `whsec_`."""
    file = tmp_path / "secret"
    file.write_text(f"whsec_{base64.b64encode(KEY).decode()}\n")
    assert read_key(file) == KEY


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("not base64!", "does not hold base64; write what `openssl rand -base64 32` prints"),
        (base64.b64encode(b"short").decode(), "has 5 bytes, and at least 24 are needed"),
        (None, "cannot be read: No such file or directory"),
    ],
)
def test_without_a_usable_key_no_notice_is_sent(
    receiver: Receiver, tmp_path: Path, content: str | None, message: str
) -> None:
    """The error names the file and the remedy. The notice stays in the outbox, because the result is not REFUSED."""
    webhook = receiver.webhook(tmp_path)
    webhook.secret_file.unlink()
    if content is not None:
        webhook.secret_file.write_text(content)
    answer = post(webhook, "an-id", AT, SCALED, NOW)
    assert answer.result is Result.FAILED
    assert message in answer.detail
    assert receiver.events == []
