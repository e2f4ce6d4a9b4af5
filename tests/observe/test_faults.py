"""Faults of servers. Each fake stands for a documented or observed one."""

import threading
import traceback
from concurrent.futures import wait
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from requests import Response

from autoscaler.config.authentication import BasicAuth, HeaderFile
from autoscaler.config.settings import PrometheusSource
from autoscaler.errors import MetricError
from autoscaler.observe.prometheus import Prometheus
from autoscaler.threads import spawn
from tests.clocks import MovedClock
from tests.observe.build import CLOCK, NOW, call
from tests.observe.fake import ONE, Fake, answering
from tests.servers.web import Request
from tests.waiting import until


def test_the_cycles_deadline_precedes_the_sources_timeout() -> None:
    """The wait for a turn counts too: a third query finds both connections in use."""
    with answering(Request.hang) as fake:
        client = Prometheus("main", PrometheusSource(fake.url), CLOCK)
        earlier = [spawn("earlier", partial(client.query, "q", NOW, call(60).deadline)) for _ in range(2)]
        until(lambda: len(fake.seen) == 2, "the earlier queries")
        with pytest.raises(MetricError, match="2 earlier queries are still under way"):
            client.query("q", NOW, call(0.2).deadline)
    wait(earlier)
    client.close()


def test_without_time_left_no_query_is_sent() -> None:
    """A query without time left is not sent."""
    with answering(lambda request: request.reply(ONE)) as fake:
        assert "the cycle's time is over" in fake.refusal(seconds=-1)
        assert fake.seen == []


def test_an_error_does_not_keep_the_rejected_answer() -> None:
    """An error lives as long as the cycle, and its traceback would keep a 45 MB answer for each query."""

    def wrong(request: Request) -> None:
        request.reply(b'{"status": "success", "data": {"resultType": "vector", "result": [' + b"{}," * 2**18)

    with answering(wrong) as fake, pytest.raises(MetricError) as caught:
        fake.ask()
    error: BaseException | None = caught.value
    held = []
    while error is not None:
        held += [value for frame, _ in traceback.walk_tb(error.__traceback__) for value in frame.f_locals.values()]
        error = error.__cause__ or error.__context__
    assert not [value for value in held if isinstance(value, Response | bytes)]


def test_an_error_about_an_answer_is_one_short_line() -> None:
    """Whatever the server sends as content type."""
    headers = {"Content_Type": "\x1b[31m" + "x" * 60_000}
    with answering(lambda request: request.reply(b"{}", 404, **headers)) as fake:
        message = fake.refusal()
    assert message.startswith("prometheus 'main' answered HTTP 404 with 2 bytes of \\x1b[31mxxx")
    assert len(message) < 400


def test_requests_bypass_caches() -> None:
    """Whatever headers the configuration has."""
    with answering(lambda request: request.reply(ONE)) as fake:
        fake.ask(headers={"cache-control": "max-age=60"})
        fake.ask("q" * 3000)
        assert [each.headers.get_all("Cache-Control") for each in fake.seen] == [["no-cache"]] * 2


def test_a_header_s_value_is_read_from_its_file_at_each_use(tmp_path: Path) -> None:
    """A rotated key takes effect without a restart."""
    key = tmp_path / "key"
    with answering(lambda request: request.reply(ONE)) as fake:
        for value in ("first", "second"):
            key.write_text(f"{value}\n")
            fake.ask(headers={"X-Key": HeaderFile(key), "X-Scope-OrgID": "shop"})
        assert [(each.headers["X-Key"], each.headers["X-Scope-OrgID"]) for each in fake.seen] == [
            ("first", "shop"),
            ("second", "shop"),
        ]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (None, "No such file"),
        (b"two\nlines", "one line with the secret"),
        (b"\xff", "one line with the secret"),
        ("geheim€".encode(), "one line of Latin-1 characters"),
    ],
)
def test_a_header_s_file_without_a_value_is_named(tmp_path: Path, content: bytes | None, problem: str) -> None:
    """The message names the file but not its content, and nothing is sent."""
    key = tmp_path / "key"
    if content is not None:
        key.write_bytes(content)
    with answering(lambda request: request.reply(ONE)) as fake:
        message = fake.refusal(headers={"X-Key": HeaderFile(key)})
        assert fake.seen == []
    assert f"cannot be asked: headers.X-Key.valueFile {key}" in message
    assert problem in message
    assert "geheim" not in message


def test_a_clock_that_differs_from_the_servers_is_an_error() -> None:
    """The daemon's clock decides the query's time, so a slow one reads old load."""
    with answering(lambda request: request.reply(ONE)) as fake:  # dated by the machine's clock
        client = Prometheus("main", PrometheusSource(fake.url), MovedClock(timedelta(minutes=-20)))
        with pytest.raises(MetricError, match=r"'main' has a clock that is (20m|19m59s) ahead of ours"):
            client.query("q", NOW, call().deadline)
        client.close()


def test_a_server_that_trickled_is_queried_again_at_once() -> None:
    """Trickled headers held both connections for hours: "2 earlier queries are still under way"."""
    healthy = threading.Event()

    def answer(request: Request) -> None:
        if healthy.is_set():
            request.reply(ONE)
        else:
            request.trickle(b"HTTP/1.1 200 OK\r\nX-Endless: ", b"a")

    with answering(answer) as fake:
        source = Prometheus("main", PrometheusSource(fake.url), CLOCK)
        tries = [spawn("try", partial(source.exchange, "q", NOW, call(10).deadline, 0.3)) for _ in range(2)]
        assert [str(future.result().answer) for future in tries] == [
            f"prometheus 'main' did not answer within 0.3 s ({fake.url})"
        ] * 2
        healthy.set()
        assert source.query("q", NOW, call(10).deadline).points
        source.close()


def test_a_query_on_a_connection_that_the_server_had_closed_is_asked_again() -> None:
    """A load balancer ends idle connections after 60 s; with a period of 60 s each cycle failed, by GET and by POST."""

    def answer(request: Request) -> None:
        if len(fake.seen) in (2, 4):  # the second request of a connection
            request.drop()
        else:
            request.reply(ONE)

    with answering(answer) as fake:
        client = Prometheus("main", PrometheusSource(fake.url), CLOCK)
        for expr in ("q", "q", "q" * 3000, "q"):
            assert client.query(expr, NOW, call(60).deadline).points
        client.close()
        assert [each.method for each in fake.seen] == ["GET", "GET", "GET", "POST", "POST", "GET"]


def test_headers_parameters_and_bearer_token_are_sent(tmp_path: Path) -> None:
    """Mimir's tenant header, Thanos' deduplication, and a token that is read at each use."""
    token = tmp_path / "token"
    token.write_text("first\n")
    source = PrometheusSource("", headers={"X-Scope-OrgID": "team"}, params={"dedup": "true"}, bearer_token_file=token)
    with answering(lambda request: request.reply(ONE)) as fake:
        client = Prometheus("main", PrometheusSource(fake.url, **_fields(source)), CLOCK)
        client.query("q", NOW, call().deadline)
        token.write_text("second\n")
        client.query("q" * 3000, NOW, call().deadline)
        client.close()
    assert [each.headers["Authorization"] for each in fake.seen] == ["Bearer first", "Bearer second"]
    assert [each.headers["X-Scope-OrgID"] for each in fake.seen] == ["team", "team"]
    assert [(each.method, each.form["dedup"]) for each in fake.seen] == [("GET", "true"), ("POST", "true")]


def test_no_secret_is_ever_in_a_message(tmp_path: Path) -> None:
    """Errors of requests quote the URL with its parameters, and headers with tokens."""
    file = tmp_path / "secret"
    file.write_text("hunter2-ü\u2028")
    every = {"params": {"token": "hunter2"}, "headers": {"X-Key": "hunter2\r\n"}}
    closed = Fake("http://me:hunter2@127.0.0.1:1", [])
    messages = [
        closed.refusal(**every),
        closed.refusal(params=every["params"]),
        closed.refusal(bearer_token_file=file),
        closed.refusal(basic_auth=BasicAuth("me", file)),
        Fake("http://me:hunter2@:x", []).refusal(),
    ]
    assert not [message for message in messages if "hunter2" in message]


def _fields(source: PrometheusSource) -> dict[str, Any]:
    return {"headers": source.headers, "params": source.params, "bearer_token_file": source.bearer_token_file}
