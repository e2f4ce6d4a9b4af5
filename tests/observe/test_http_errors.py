"""What is told of an answer that is an error: the server's words, and a hint."""

from typing import Any

import pytest

from autoscaler.net.secrets import HIDDEN
from tests.observe.fake import answering


@pytest.mark.parametrize(
    ("status", "hint"),
    [
        (429, "it limits its clients: raise its limit, or lower concurrency"),
        *(
            (each, "it is starting or busy, or its proxy does not reach it: wait, or see their logs")
            for each in (502, 503, 504)
        ),
        (500, "see the log of the server, and of a proxy before it"),
        (206, "see the log of the server, and of a proxy before it"),
        (401, "check its credentials"),
        (404, "check its url"),
    ],
)
def test_the_hint_fits_the_status_and_nothing_is_asked_again_within_the_cycle(status: int, hint: str) -> None:
    """The url of a server that starts is right, and an operator would look in vain. The library's retries would turn
    a time-out of a second into ten.
    """
    with answering(lambda request: request.reply(b"<html></html>", status, Content_Type="text/html")) as fake:
        message = fake.refusal()
        assert f"answered HTTP {status}" in message
        assert "with 13 bytes of text/html" in message
        assert message.endswith(f"; {hint} ({fake.url})")
        assert len(fake.seen) == 1


@pytest.mark.parametrize("status", [401, 403])
def test_the_words_of_a_refusal_are_not_shown(status: int) -> None:
    """They may repeat secrets."""
    words = (b'{"status": "error", "error": "words"}', b'{"message": "words"}', b'{"error": {"message": "words"}}')
    for body, kind in (*((each, "application/json") for each in words), (b"words", "text/plain")):
        with answering(lambda request, body=body, kind=kind: request.reply(body, status, Content_Type=kind)) as fake:  # type: ignore[misc]
            assert "words" not in fake.refusal()


@pytest.mark.parametrize(
    ("body", "kind", "words"),
    [
        (b"Service \x1b Unavailable\n", "text/plain", r": Service \x1b Unavailable; "),
        (b'{"message": "no tenant"}', "application/json", "no tenant"),
        (b"no type", "", "no type"),
        (b"loud", "Text/Plain; charset=utf-8", "loud"),
        (b'{"detail": "no tenant"}', "application/json", '{"detail": "no tenant"}'),
        (b'{"error": {"code": 8, "message": "quota"}}', "application/json", "quota"),
        (b'[{"error": "list"}]', "application/json", '[{"error": "list"}]'),
        (b"<html>page</html>", "text/plain", None),
        (b"page", "TEXT/HTML", None),
    ],
)
@pytest.mark.parametrize("status", [400, 404, 429, 500, 503])
def test_the_words_of_an_error_in_any_form_are_shown(status: int, body: bytes, kind: str, words: str | None) -> None:
    """Prometheus, Mimir and proxies write one line, Google's APIs nest the message, gateways write JSON of their own or
    no content type, and a 404 may name a tenant. A page's first bytes say nothing.
    """
    with answering(lambda request: request.reply(body, status, Content_Type=kind)) as fake:
        said = fake.refusal()
    assert words is None or words in said
    assert words is not None or "page" not in said


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (422, {"status": "error", "errorType": "bad_data", "error": "no key hunter2-horse"}),
        (400, {"message": "no key hunter2-horse"}),
        (200, {"status": "success", "data": {"resultType": "hunter2-horse", "result": []}}),
    ],
)
def test_a_secret_that_an_answer_repeats_is_hidden(status: int, body: dict[str, Any]) -> None:
    """A gateway may quote the request that it does not take."""
    with answering(lambda request: request.reply(body, status)) as fake:
        said = fake.refusal(headers={"X-Key": "hunter2-horse"})
    assert "hunter2" not in said
    assert HIDDEN in said


def test_prometheus_text_of_a_503_is_shown() -> None:
    """The HTTP API's error form: `errorType` and `error` with any status (timeout: 503)."""
    said = {"status": "error", "errorType": "timeout", "error": "query timed out in expression evaluation"}
    with answering(lambda request: request.reply(said, 503)) as fake:
        assert fake.refusal() == (
            "prometheus 'main' answered HTTP 503: timeout: query timed out in expression evaluation"
        )
