"""Causes of missing samples, from a real Prometheus and from misbehaving servers."""

import difflib
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

from autoscaler.cli import live
from autoscaler.cli.causes import Cause, Causes
from autoscaler.clock import SystemClock
from autoscaler.config.loader import load
from autoscaler.config.settings import PrometheusSource
from autoscaler.model import Query
from autoscaler.observe.prometheus import Prometheus
from autoscaler.observe.selectors import selectors
from autoscaler.target.contract import RecordingLogger
from tests.clocks import FakeClock
from tests.daemon.running import autoscaler, write_config
from tests.observe.build import NOW, ago
from tests.servers.exporter import running_exporter
from tests.servers.ports import free_port
from tests.servers.prometheus import PrometheusServer, openmetrics, running_prometheus, static
from tests.servers.web import Answer, Request, answering

TOO_SHORT = "which is shorter than two scrape intervals of 1s; write at least [4s], four of them"
VALUES = {
    'web_requests_in_flight{queue="mail",zone="a"}': 1.0,
    'web_requests_in_flight{queue="print",zone="b"}': 1.0,
    "web_requests_total": 1.0,
}


@pytest.fixture(scope="module")
def once_scraped(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PrometheusServer]:
    """Run a server that has one sample of `cores`, taken 10 s before NOW, and no targets."""
    history = openmetrics({"cores": [(ago(10), 4.0)]})
    with running_prometheus(tmp_path_factory.mktemp("once_scraped"), history=history) as prometheus:
        yield prometheus


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PrometheusServer]:
    """Run a server with one target of job web that is up, and one of job gone that is down."""
    with running_exporter(VALUES) as exporter:
        scrape = [static("web", exporter.address), static("gone", f"127.0.0.1:{free_port()}")]
        with running_prometheus(tmp_path_factory.mktemp("prometheus"), scrape) as prometheus:
            prometheus.wait_for("count_over_time(web_requests_total[1m]) > 2")
            prometheus.wait_for('up{job="gone"} == 0')
            yield prometheus


def cause(url: str, query: Query | str, seconds: float = 60.0, now: datetime | None = None) -> Cause | None:
    clock = SystemClock()
    source = Prometheus("default", PrometheusSource(url), clock)
    try:
        asked = query if isinstance(query, Query) else Query(query)
        return Causes(source, now or clock.now(), clock.monotonic() + seconds, clock).of(asked)
    finally:
        source.close()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("expr", "text", "may_be_zero"),
    [
        ("web_request_in_flight", "no series web_request_in_flight; did you mean web_requests_in_flight?", False),
        (
            'sum(rate(web_requests_totl{job="web"}[1m])) / 2',
            "no series web_requests_totl; did you mean web_requests_total?",
            False,
        ),
        ('zzz{job="web"}', "no series zzz; the scrape target that may have it is up, so check the name", False),
        (
            'zzz{job="wbe"}',
            "no series zzz; Prometheus scrapes no target of that job or instance; its jobs: gone, web",
            False,
        ),
        (
            'web_requests_in_flight{queue="mial"}',
            'no series web_requests_in_flight has queue="mial"; did you mean "mail"?',
            False,
        ),
        (
            'web_requests_in_flight{queue="x"}',
            'no series web_requests_in_flight has queue="x"; its values: mail, print',
            True,
        ),
        (
            'web_requests_in_flight{host="a"}',
            'no series web_requests_in_flight has host="a", nor the label host at all',
            True,
        ),
        (
            'web_requests_in_flight{queue=~"x.*"}',
            'no series web_requests_in_flight has queue=~"x.*"',
            True,
        ),
        (
            'web_requests_in_flight{queue="mail",zone="b"}',
            'series web_requests_in_flight have each of {queue="mail",zone="b"}, but none has all of them',
            True,
        ),
        (
            "rate(web_requests_total[1s])",
            f"rate() needs two samples within its range [1s], {TOO_SHORT}",
            False,
        ),
        (
            "web_requests_total > 100",
            "its selectors have series, and the expression leaves none of them",
            True,
        ),
    ],
)  # fmt: skip
def test_the_first_cause_is_named(server: PrometheusServer, expr: str, text: str, may_be_zero: bool) -> None:
    """The message includes what is right, if known. `may_be_zero` says whether nothing is known to be wrong."""
    assert cause(server.url, expr) == Cause(text, may_be_zero, TOO_SHORT in text)


@pytest.mark.slow
def test_a_mistake_in_an_expression_is_wrong_also_before_the_first_start(
    server: PrometheusServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That a pool has no worker yet explains an empty answer, and no series of this name, but not a short range."""
    monkeypatch.setenv("STATE_DIRECTORY", str(tmp_path / "state"))
    target = {"type": "AverageValue", "averageValue": 1}
    for expr, wrong in (("rate(web_requests_total[1s])", True), ("web_requests_totl", False)):
        pods = {"metric": {"name": "load"}, "query": {"expr": expr}, "target": target}
        scaler = autoscaler("web", expr, metrics=[{"type": "Pods", "pods": pods}])
        config = load(write_config(tmp_path, server.url, [scaler]))
        *_, found = live.examine(config, SystemClock(), RecordingLogger())
        assert found.wrong is wrong


@pytest.mark.slow
def test_targets_that_are_down_are_named_with_their_error(server: PrometheusServer) -> None:
    """This is the most common cause, and the configuration is correct."""
    found = cause(server.url, 'queue_length{job="gone"}')
    assert found is not None
    assert found.text.startswith(
        "no series queue_length; the scrape target that may have it is not up: http://127.0.0.1:"
    )
    assert found.text.endswith("connect: connection refused")


@pytest.mark.slow
def test_an_unmatched_value_is_listed_with_the_existing_ones(server: PrometheusServer) -> None:
    """The other users of the shared query have samples."""
    found = cause(server.url, Query("web_requests_in_flight", match=(("queue", "mial"),)))
    assert found == Cause('no sample of the shared query has queue="mial"; did you mean "mail"?')


@pytest.mark.slow
def test_a_new_series_is_reported_as_new(once_scraped: PrometheusServer) -> None:
    """After the next scrape the rate exists, so nothing needs to change."""
    assert cause(once_scraped.url, "rate(cores[2m])", now=NOW) == Cause(
        "rate() needs two samples within its range [2m], and its series have one there; if they are new, wait "
        "for the next scrape, otherwise write a range of four scrape intervals"
    )


@pytest.mark.slow
def test_a_range_with_one_sample_is_enough_for_its_maximum(once_scraped: PrometheusServer) -> None:
    """The condition is the cause, not the range."""
    assert cause(once_scraped.url, "max_over_time(cores[2m]) > 100", now=NOW) == Cause(
        "its selectors have series, and the expression leaves none of them", may_be_zero=True
    )


@pytest.mark.slow
def test_a_series_without_a_recent_sample_is_reported_as_known(once_scraped: PrometheusServer) -> None:
    """Its name is right, but its scrape fails or was removed."""
    found = cause(once_scraped.url, "cores", now=NOW + timedelta(minutes=30))
    assert found is not None
    assert found.text.startswith("series cores have no sample of the last minutes; Prometheus scrapes no target: ")


@contextmanager
def imitation(answer: Callable[[str, str], tuple[int, bytes]]) -> Iterator[str]:
    """Run a server without series. `answer` responds to a path and its query, except for a `count`."""

    def reply(request: Request) -> Answer:
        query = request.form.get("query", "")
        empty = json.dumps({"status": "success", "data": {"resultType": "vector", "result": []}}).encode()
        status, body = (200, empty) if query else answer(unquote(urlsplit(request.target).path), query)
        return Answer(status, body, {"Content-Type": "application/json"})

    with answering(reply) as url:
        yield url


def wrapped(data: object) -> bytes:
    return json.dumps({"status": "success", "data": data}).encode()


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (404, b"404 page not found"),
        (200, b'{"status":"success","isPartial":true,"data":["loads"]}'),
        (200, b'{"status":"success","warnings":["store 3: down"],"data":["loads"]}'),
        (206, b'{"status":"success","data":["loads"]}'),
        (500, b"{}"),
        (200, b"<html>"),
        (200, b'{"status":"success","data":null}'),
        (200, b'{"status":"success","data":[1,2]}'),
        (200, b'{"status":"success","data":{"activeTargets":[{"labels":3}]}}'),
        (200, b"[" * 100_000),
        (200, b'{"status":"success","data":[' + b'"",' * 300_000 + b'""]}'),
    ],
)
def test_a_server_without_names_and_targets_is_supported(status: int, body: bytes) -> None:
    """Some PromQL servers lack these endpoints: Thanos has no targets. Source: HTTP API, "Targets"."""
    with imitation(lambda *_: (status, body)) as url:
        assert cause(url, "load") == Cause("no series load")


def test_a_servers_texts_are_short_and_printable() -> None:
    """A terminal shows it."""
    name = "load_" + "x" * 300 + "\x1b[31m"
    target = {"labels": {"job": "\x1b" * 500}, "health": "down", "lastError": "\x1b[2J" * 500, "scrapeUrl": "u" * 5000}
    bodies = {"targets": {"activeTargets": [target]}, "values": [name] * 10}
    with imitation(lambda path, _: (200, wrapped(bodies[path.rpartition("/")[2]]))) as url:
        for expr in ("load_" + "x" * 299, 'zzz{job="q"}', "zzz"):
            found = cause(url, expr)
            assert found is not None
            assert found.text.isprintable()
            assert len(found.text) < 700


@pytest.mark.slow
def test_hundreds_of_thousands_of_names_are_not_compared_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Comparing all would take minutes. The two thousand with the longest common beginning suffice."""
    compared, genuine = list[int](), difflib.get_close_matches

    def close(word: str, possible: Sequence[str], **more: Any) -> list[str]:
        compared.append(len(possible))
        return genuine(word, possible, **more)

    monkeypatch.setattr(difflib, "get_close_matches", close)
    names = [f"load_{number:06}" for number in range(300_000)]
    names.append("load_200_000")
    with imitation(lambda *_: (200, wrapped(names))) as url:
        found = cause(url, "load_200_00x")
    assert found == Cause("no series load_200_00x; did you mean load_200_000?")
    assert compared == [2000]


@pytest.mark.parametrize(("requests", "explained"), [(0, 0), (3, 1), (4, 2), (5, 3)])
def test_requests_are_bounded(requests: int, explained: int) -> None:
    """A file of ten thousand autoscalers must not query Prometheus for an hour.

    Each query takes a request. The first one also asks for the names and the targets.
    """
    clock = SystemClock()
    with imitation(lambda *_: (404, b"")) as url:
        source = Prometheus("default", PrometheusSource(url), clock)
        causes = Causes(source, clock.now(), clock.monotonic() + 10, clock, requests)
        found = [causes.of(Query(f"load_{number}")) for number in range(5)]
        source.close()
    assert [each is not None for each in found] == [number < explained for number in range(5)]


def test_nothing_is_asked_after_the_deadline() -> None:
    """An operator waits for the result."""
    with imitation(lambda *_: (404, b"")) as url:
        assert cause(url, "load", seconds=0) is None


def test_nothing_is_compared_after_the_deadline() -> None:
    """Comparing a million names for each of ten thousand autoscalers takes an hour, without any request."""
    clock = FakeClock(datetime.now(UTC))
    with imitation(lambda *_: (200, b'{"status": "success", "data": ["loads"]}')) as url:
        source = Prometheus("default", PrometheusSource(url), clock)
        causes = Causes(source, clock.now(), clock.monotonic() + 10, clock)
        before = causes.of(Query("load"))
        clock.advance(11)
        after = causes.of(Query("load"))
        source.close()
    assert before is not None
    assert after is None


@pytest.mark.parametrize("expr", ["vector(1) > 2", "time()", 'load{a="b" or c="d"}', "not PromQL at all ("])
def test_an_expression_without_a_parsed_selector_has_no_cause(expr: str) -> None:
    """Nothing is asked and no cause is reported."""
    assert cause("http://127.0.0.1:1", expr) is None


def test_selectors_are_read_in_their_order_with_their_functions() -> None:
    """The first selector without series is the cause."""
    found = selectors(
        'sum(rate(a{x="1\\"",y!~"z"}[5m] offset 1h)) / ({__name__="b"} + max_over_time(rate(c[1m])[5m:]))'
    )
    assert [(str(each), each.name, each.function) for each in found] == [
        ('{__name__="a",x="1\\"",y!~"z"}', "a", "rate"),
        ('{__name__="b"}', "b", None),
        ('{__name__="c"}', "c", "rate"),
    ]
    assert [each.range for each in found] == [timedelta(minutes=5), None, timedelta(minutes=1)]


def test_a_selector_with_a_label_of_prometheus_3_is_written_in_quotes() -> None:
    """`count({k8s.pod.name="a"})` is refused, and the cause would stay unknown."""
    (selector,) = selectors('{"http.requests", "k8s.pod.name"="a"}')
    assert str(selector) == '{__name__="http.requests","k8s.pod.name"="a"}'
