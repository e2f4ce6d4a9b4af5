"""Queries with a token of the client credentials grant."""

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from autoscaler.config.authentication import OAuth2
from autoscaler.config.settings import PrometheusSource
from autoscaler.errors import MetricError
from autoscaler.observe.prometheus import Prometheus
from tests.observe.build import CLOCK, NOW, call
from tests.servers.guarded_sources import TokenServer, TokenSource
from tests.servers.web import Answer, Request, answering


@dataclass(slots=True)
class World:
    """A token server, a source behind it, and the file of the client's secret."""

    tokens: TokenServer
    source: TokenSource
    token_url: str
    url: str
    secret: Path

    def client(self, **settings: Any) -> Prometheus:
        """A client of the source."""
        oauth2 = OAuth2("scaler", self.secret, self.token_url, **settings)
        return Prometheus("main", PrometheusSource(self.url, oauth2=oauth2), CLOCK)


def value(client: Prometheus, expr: str = "q", seconds: float = 30.0) -> float | None:
    return client.query(expr, NOW, call(seconds).deadline).points[0].value


def refusal(client: Prometheus, seconds: float = 30.0) -> str:
    with pytest.raises(MetricError) as caught:
        value(client, seconds=seconds)
    return str(caught.value)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    tokens = TokenServer()
    source = TokenSource(tokens)
    secret = tmp_path / "secret"
    secret.write_text(f"{tokens.client[1]}\n")
    with answering(tokens.answer) as token_url, answering(source.answer) as url:
        yield World(tokens, source, f"{token_url}/token", url, secret)


def test_one_token_serves_gets_and_posts_of_all_shards(world: World) -> None:
    """Servers that give tokens limit how many a client gets."""
    clients = [world.client(), world.client()]
    assert [value(client, expr) for client in clients for expr in ("q", "q" * 5000)] == [7, 7, 7, 7]
    assert [each.method for each in world.source.requests] == ["GET", "POST"] * 2
    assert len(world.tokens.requests) == 1


def test_scopes_and_parameters_are_in_the_body(world: World) -> None:
    """As in Prometheus' own block; the secret is in the header alone."""
    value(world.client(scopes=("read", "metrics"), endpoint_params={"audience": "a b"}))
    (request,) = world.tokens.requests
    assert request.form == {"grant_type": "client_credentials", "scope": "read metrics", "audience": "a b"}
    assert world.tokens.client[1] not in request.target + request.body


def test_a_refused_client_is_a_failed_query_with_the_remedy(world: World) -> None:
    """The answer repeats the secret, which no message shows."""
    world.secret.write_text("geheim")
    message = refusal(world.client())
    assert message == (
        f"prometheus 'main' cannot be asked: oauth2.tokenUrl {world.token_url} answered HTTP 401 (invalid_client); "
        f"check clientId and clientSecretFile ({world.url})"
    )
    assert world.source.requests == []


def test_an_expired_token_is_a_failed_query_with_the_remedy(world: World) -> None:
    """The source may end a token before the time that the token server said."""
    client = world.client()
    value(client)
    world.source.expired.update(world.tokens.given)
    message = refusal(client)
    assert "answered HTTP 401" in message
    assert "check the scopes and endpointParams of oauth2" in message
    assert "token-0" not in message


def test_a_refusal_in_prometheus_form_shows_no_token(world: World) -> None:
    """A gateway may repeat the request in its error."""

    def answer(request: Request) -> Answer:
        return Answer(403, {"status": "error", "errorType": "forbidden", "error": request.headers["Authorization"]})

    with answering(answer) as world.url:
        message = refusal(world.client())
    assert "answered HTTP 403 to GET with an error whose text may repeat secrets; check the scopes" in message
    assert "token-0" not in message


def test_a_token_server_that_hangs_costs_the_sources_own_time(world: World) -> None:
    """The other sources of the shard are asked meanwhile, by their own threads."""
    go = threading.Event()
    world.tokens.before = lambda: go.wait(60)
    client = world.client()
    message = refusal(client, seconds=0.2)
    assert f"was not asked: oauth2.tokenUrl {world.token_url} did not answer in time" in message
    go.set()
    assert value(client) == 7


def test_a_token_server_that_is_down_is_named(world: World) -> None:
    world.token_url = "http://127.0.0.1:1/token"
    assert "oauth2.tokenUrl http://127.0.0.1:1/token: Connection refused" in refusal(world.client())


def test_a_missing_secret_is_named(world: World) -> None:
    world.secret.unlink()
    assert f"oauth2.clientSecretFile {world.secret}: No such file or directory" in refusal(world.client())


@pytest.mark.parametrize("lasts", [None, "3600"])
def test_a_life_that_is_left_out_or_a_text_is_accepted(world: World, lasts: Any) -> None:
    """RFC 6749, 5.1, only recommends `expires_in`, and some servers write it in quotes."""
    world.tokens.lasts = lasts
    assert value(world.client()) == 7


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ({"access_token": "t", "token_type": "mac"}, "no bearer token"),
        ({"access_token": "t\nX-Evil: 1"}, "no bearer token"),
        ({"access_token": ""}, "no bearer token"),
        ({"access_token": "t "}, "no bearer token"),
        ({"access_token": "t", "expires_in": 0}, "a token that has ended"),
        ({"access_token": "t", "expires_in": 0.001}, "a token that has ended"),
        ({"access_token": "t", "expires_in": "soon"}, "a token that has ended"),
        ({"access_token": 7}, "the answer is not of the form expected"),
        ({}, "the answer is not of the form expected"),
    ],
)
def test_an_answer_without_a_usable_token_is_an_error(world: World, body: dict[str, Any], problem: str) -> None:
    with answering(lambda _: Answer(200, body)) as world.token_url:
        assert problem in refusal(world.client())
