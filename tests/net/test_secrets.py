"""What a session sends as a secret is in no text of its answers."""

import base64
import html
import json
import re
from collections.abc import Callable
from urllib.parse import quote, quote_plus

import pytest
from requests import PreparedRequest

from autoscaler.net.errors import HttpError
from autoscaler.net.secrets import HIDDEN, Secrets, of_headers, of_url
from autoscaler.net.session import Session
from tests.servers.scripted import Wire, scripted

TOKEN = "eyJhbGciOiJub25lIn0.x-y"
VALUES = ("battery/staple+=&<>\"'\\é🚚 x", TOKEN, "s3cr", "pa$$w0rd", "!!!!")


ENCODINGS: tuple[Callable[[str], str], ...] = (
    str,
    quote,
    quote_plus,
    lambda text: quote(text, safe=""),
    json.dumps,
    lambda text: json.dumps(text, ensure_ascii=False),
    lambda text: json.dumps(text, ensure_ascii=False).translate({ord(each): f"\\u{ord(each):04x}" for each in "<>&"}),
    lambda text: json.dumps(text).replace("/", "\\/"),
    html.escape,
    lambda text: html.escape(text).replace("&quot;", "&#34;").replace("&#x27;", "&#39;"),
    lambda text: re.sub("%..", lambda found: found[0].lower(), quote(text, safe="")),
    lambda text: base64.b64encode(text.encode()).decode(),
    lambda text: base64.urlsafe_b64encode(text.encode()).decode(),
)


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_secret_is_hidden_in_the_usual_encodings(value: str, encoding: Callable[[str], str]) -> None:
    """Servers quote URLs, and write what they quote into JSON, into HTML and into logs."""
    shown = Secrets([value]).hidden(f"before {encoding(value)} after")
    assert shown.replace('"', "").replace("=", "") == f"before {HIDDEN} after"
    body = Secrets([value]).hidden_in(f"before {encoding(value)} after".encode())
    assert body.replace(b'"', b"").replace(b"=", b"") == f"before {HIDDEN} after".encode()


@pytest.mark.parametrize("header", ["schlüssel".encode("latin-1"), "schlüssel".encode()])
def test_a_header_in_any_encoding_is_hidden(header: bytes) -> None:
    """A server repeats the bytes that it received."""
    assert Secrets(of_headers([header])).hidden_in(b"key " + header) == f"key {HIDDEN}".encode()


def test_short_and_ordinary_values_are_left() -> None:
    """`partial_response: "false"` and `deny_partial_response: "1"` are parameters, and every third text has a 1."""
    text = "at 1:7 in false"
    assert Secrets(["1", "false", "", "in"]).hidden(text) == text


def test_the_secrets_of_a_header_are_its_parts_too() -> None:
    """Servers repeat the token without its scheme, and the password of a login without the user."""
    login = "Basic " + base64.b64encode(b"me:correct%2Fhorse").decode()
    text = Secrets(of_headers(["Bearer my-token", login.encode()])).hidden("my-token me correct/horse correct%2Fhorse")
    assert text == f"{HIDDEN} me {HIDDEN} {HIDDEN}"


@pytest.mark.parametrize(("login", "secret"), [("me:pa$$w0rd", "pa$$w0rd"), (f"{TOKEN}:", TOKEN), ("not base64", None)])
def test_the_secret_of_a_login_is_its_password_or_a_token_in_the_users_place(login: str, secret: str | None) -> None:
    """A name is no secret, and what is no login has none of its own."""
    encoded = login if secret is None else base64.b64encode(login.encode()).decode()
    found = set(of_headers([f"Basic {encoded}"])) - {f"Basic {encoded}", *encoded.split(), ""}
    assert found == ({secret} if secret else set())


def test_the_secrets_of_a_url_are_its_path_and_its_parameters() -> None:
    """Receivers of notices have their token there."""
    text = Secrets(of_url("https://hooks.example/services/T000/B000?key=abcdef")).hidden("/T000/B000 of abcdef")
    assert text == f"/{HIDDEN}/{HIDDEN} of {HIDDEN}"


def ask(status: str, body: bytes, secret: str, kind: str = "text/plain") -> tuple[bytes, str, str]:
    """Return body, content type and reason of an answer to a request that sends a secret."""

    def say(wire: Wire) -> None:
        wire.read()
        wire.answer(body, status, f"Content-Type: {kind}\r\n".encode())

    def authorize(request: PreparedRequest) -> PreparedRequest:
        request.headers["X-Token"] = secret
        return request

    with scripted(say) as server, Session() as session:
        answer = session.request("GET", server.url, timeout=10, auth=authorize)
        return answer.content, answer.headers["Content-Type"], answer.reason


def test_an_error_has_its_secret_nowhere() -> None:
    """An adapter may show its body, its type and its reason."""
    said = ask(f"500 no {TOKEN}", f"<p>{TOKEN}".encode(), TOKEN, f"text/{TOKEN}")
    assert said == (f"<p>{HIDDEN}".encode(), f"text/{HIDDEN}", f"no {HIDDEN}")


def test_data_keeps_a_short_password() -> None:
    """Where the password is `prometheus`, the label `job="prometheus"` must stay; no honest label is a long token."""
    assert ask("200 OK", b'{"job": "prometheus"}', "prometheus")[0] == b'{"job": "prometheus"}'
    assert ask("200 OK", f'{{"job": "{TOKEN}"}}'.encode(), TOKEN)[0] == f'{{"job": "{HIDDEN}"}}'.encode()


def test_an_error_of_the_library_hides_what_it_quotes() -> None:
    """It quotes the header that it does not understand."""

    def say(wire: Wire) -> None:
        wire.read()
        wire.answer(b"{}", headers=b"Content-Encoding: my-parameter\r\n")

    with scripted(say) as server, Session(secrets=["my-parameter"]) as session:
        with pytest.raises(HttpError) as caught:
            session.request("GET", server.url, timeout=10)
        assert str(caught.value) == f"its answer is encoded as '{HIDDEN}'; only gzip can be unpacked"
