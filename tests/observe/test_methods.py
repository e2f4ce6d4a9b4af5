"""Sources behind a proxy that lets only GET or only POST pass."""

from collections.abc import Mapping
from datetime import timedelta
from urllib.parse import parse_qs, urlsplit

import pytest

from autoscaler.config.settings import PrometheusSource
from autoscaler.errors import MetricError
from autoscaler.model import Autoscaler, MetricType, TargetRef
from autoscaler.observe.methods import MAX_URL
from autoscaler.observe.prometheus import Prometheus
from autoscaler.observe.ranges import Grid, RangeResult
from tests.observe.build import NOW, metric, scaler
from tests.observe.fake import ONE, Fake, answering
from tests.observe.scripted import UNHURRIED, Ahead, Scripted, Shard, scripted
from tests.servers.web import Request

LONG = "q" * 3000
HOUR = 3600.0


class Proxy:
    """Answers the methods that it refuses with a status, and lets others pass."""

    def __init__(self, refused: Mapping[str, int], body: bytes = b"<html>no</html>") -> None:
        self.refused, self.body = dict(refused), body
        self.status, self.answer = 200, ONE

    def handle(self, request: Request) -> None:
        if (status := self.refused.get(request.method)) is not None:
            request.reply(self.body, status, Content_Type="text/html")
        else:
            request.reply(self.answer, self.status)


class Source:
    """A source on a clock that the test advances."""

    def __init__(self, fake: Fake) -> None:
        self.clock = Ahead()
        self.client = Prometheus("main", PrometheusSource(fake.url), self.clock)
        self.fake = fake

    def ask(self, expr: str) -> str:
        """Ask once. Returns the methods of the requests."""
        before = len(self.fake.seen)
        assert self.client.query(expr, NOW, self.clock.monotonic() + 60).points
        return " ".join(each.method for each in self.fake.seen[before:])

    def refusal(self, expr: str) -> str:
        with pytest.raises(MetricError) as caught:
            self.client.query(expr, NOW, self.clock.monotonic() + 60)
        return str(caught.value)


@pytest.mark.parametrize("status", [403, 405, 501])
def test_the_other_method_is_used_for_an_hour(status: int) -> None:
    """5 autoscalers worked, and 60, whose merged query is long, failed with "check its credentials"."""
    with answering(Proxy({"POST": status}).handle) as fake:
        source = Source(fake)
        assert [source.ask(each) for each in ("q", LONG, LONG, "q")] == ["GET", "POST GET", "GET", "GET"]
        source.clock.seconds += HOUR + 1
        assert [source.ask(each) for each in ("q", LONG, LONG)] == ["GET", "POST GET", "GET"]


@pytest.mark.parametrize("status", [403, 405, 501])
def test_a_source_that_takes_posts_alone_is_asked_by_post(status: int) -> None:
    """Some gateways protect against secrets in URLs."""
    with answering(Proxy({"GET": status}).handle) as fake:
        source = Source(fake)
        assert [source.ask(each) for each in ("q", "q", LONG)] == ["GET POST", "POST", "POST"]


def test_the_choice_is_that_of_one_source() -> None:
    """The other one still takes long queries."""
    with answering(Proxy({"POST": 403}).handle) as one, answering(Proxy({}).handle) as other:
        sources = Source(one), Source(other)
        assert [each.ask(LONG) for each in sources for _ in range(2)] == ["POST GET", "GET", "POST", "POST"]


def test_a_range_query_is_asked_by_the_other_method() -> None:
    """Replay asks the same source."""
    answer = {"status": "success", "data": {"resultType": "matrix", "result": []}}
    proxy = Proxy({"POST": 405})
    proxy.answer = answer
    with answering(proxy.handle) as fake:
        source = Source(fake)
        grid = Grid(timedelta(seconds=15), 1, 1, timedelta(0))
        assert source.client.range(LONG, grid, source.clock.monotonic() + 60) == RangeResult(())


def test_credentials_that_are_refused_are_not_tried_again() -> None:
    """HTTP 401 says nothing of the method."""
    with answering(Proxy({"POST": 401}).handle) as fake:
        message = Source(fake).refusal(LONG)
        assert len(fake.seen) == 1
    assert "answered HTTP 401 to POST with 15 bytes of text/html, not with a result; check its credentials" in message


@pytest.mark.parametrize("second", [401, 403, 404, 405, 500, 502])
@pytest.mark.parametrize(("first", "hint"), [(403, "check its credentials"), (405, "let its proxy pass GET and POST")])
def test_the_first_answer_is_told_if_both_methods_fail(first: int, hint: str, second: int) -> None:
    """It is that of the method that the daemon would use. The next query begins with it again."""
    with answering(Proxy({"POST": first, "GET": second}).handle) as fake:
        source = Source(fake)
        for _ in range(2):
            assert f"answered HTTP {first} to POST with 15 bytes of text/html" in (message := source.refusal(LONG))
            assert message.endswith(f"{hint} ({fake.url})")
        assert [each.method for each in fake.seen] == ["POST", "GET"] * 2


def test_a_refused_query_s_own_error_is_told() -> None:
    """GET passes, and Prometheus refuses the expression."""
    proxy = Proxy({"POST": 403})
    proxy.status, proxy.answer = 400, {"status": "error", "errorType": "bad_data", "error": "no such function"}
    with answering(proxy.handle) as fake:
        source = Source(fake)
        assert source.refusal(LONG) == "prometheus 'main' answered HTTP 400: bad_data: no such function"
        source.refusal(LONG)
        assert [each.method for each in fake.seen] == ["POST", "GET", "GET"]


def test_an_expression_that_is_too_long_for_a_url_fails_with_the_limit() -> None:
    """It is not sent by a method that cannot pass."""
    with answering(Proxy({"POST": 403}).handle) as fake:
        source = Source(fake)
        for _ in range(2):
            message = source.refusal("q" * 9000)
            assert "refuses POST with HTTP 403, and by GET the query's URL has 9,0" in message
            assert "above the limit of 8,192" in message
        assert [each.method for each in fake.seen] == ["POST"]
        assert source.ask(LONG) == "GET"


class OnlyGets(Scripted):
    """A proxy that lets GET pass, with URLs of at most 8 KiB, before a scripted server."""

    def __init__(self, server: Scripted) -> None:
        super().__init__()
        self.server, self.posts, self.longest = server, 0, 0

    def handle(self, request: Request) -> None:
        url = len(self.url) + len(request.target)
        if request.method == "POST":
            self.posts += 1
            request.reply(b"", 403)
        elif url > MAX_URL:
            request.reply(b"", 414)
        else:
            self.longest = max(self.longest, url)
            assert parse_qs(urlsplit(request.target).query)
            self.server.handle(request)


def long_names(count: int) -> list[Autoscaler]:
    """Return autoscalers whose values take much room in a URL."""
    return [
        scaler(
            metric(MetricType.EXTERNAL, f'load{{group="{"ä" * 60}{number}"}}'),
            name=f"g{number}",
            target=TargetRef("fleet", f"g{number}"),
        )
        for number in range(count)
    ]


@pytest.mark.parametrize("params", [{}, {"tenant": "x" * 3000}])
def test_merged_queries_are_shorter_where_post_is_refused(params: Mapping[str, str]) -> None:
    """Each query's URL fits. A longer expression fails alone, and the others have values."""
    with scripted() as server:
        proxy = OnlyGets(server)
        with answering(proxy.handle) as fake:
            proxy.url = fake.url
            lone = scaler(
                metric(MetricType.EXTERNAL, f'sum(load{{group="g7",a!="{"x" * 9000}"}})'),
                name="lone",
                target=TargetRef("fleet", "lone"),
            )
            shard = Shard(proxy, [*long_names(60), lone], params=params, timeout=UNHURRIED)
            before = Prometheus("default", shard.sources["default"], shard.clock)  # an observer that is replaced
            for cycle in range(3):
                posts = proxy.posts
                values = shard.values()
                assert "above the limit of 8,192" in str(values.pop("lone"))
                assert values == {f"g{number}": 1000 * number for number in range(60)}
                assert cycle == 0 or proxy.posts == posts
            shard.clock.seconds += HOUR + 1
            values = shard.values()
            assert proxy.posts > posts
            del values["lone"]
            before.close()
            assert values == {f"g{number}": 1000 * number for number in range(60)}


@pytest.mark.parametrize("count", [1, 60, pytest.param(1000, marks=pytest.mark.slow)])
def test_the_first_cycle_has_values_for_any_number_of_autoscalers(count: int) -> None:
    """`run --once` and `check --live` have no second one. Halving with a budget left most of a thousand without any."""
    with scripted() as server:
        proxy = OnlyGets(server)
        with answering(proxy.handle) as fake:
            proxy.url = fake.url
            shard = Shard(proxy, long_names(count), timeout=UNHURRIED)
            assert shard.values() == {f"g{number}": 1000 * number for number in range(count)}
            assert not shard.queries.asked_alone()


def test_merged_queries_are_long_where_post_passes() -> None:
    """Eight kilobytes would be many more requests."""
    with scripted() as server:
        shard = Shard(server, long_names(200), timeout=UNHURRIED)
        for _ in range(2):
            assert shard.values() == {f"g{number}": 1000 * number for number in range(200)}
            assert len(server.taken()) == 2


def test_the_second_method_has_the_time_that_is_left() -> None:
    """The deadline is the cycle's, and the first method took nearly all of it."""

    def answer(request: Request) -> None:
        if request.method == "POST":
            source.clock.seconds += 59.7
            request.reply(b"", 403)
        else:
            request.hang()

    with answering(answer) as fake:
        source = Source(fake)
        with pytest.raises(MetricError, match="answered HTTP 403 to POST"):
            source.client.query(LONG, NOW, source.clock.monotonic() + 60)
