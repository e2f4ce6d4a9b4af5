"""Nomad's HTTP API: one request at a time, each bounded by the call's deadline, each failure a TargetError."""

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from adapters.nomad.settings import Connection
from autoscaler.target import (
    Call,
    Clock,
    TargetError,
    TargetForbidden,
    TargetNotFound,
    TargetRefused,
    TargetUnavailable,
)

if TYPE_CHECKING:
    from requests import Response, Session

PER_PAGE: Final = 5000
"""Entries a page: a thousand groups with five allocations each come in one."""
_SHOWN: Final = 200
"""Characters of a reply that a message quotes."""


class Refusal(Exception):
    """Nomad answered with a status that is not 2xx: `status` and its own words, for whoever knows what they mean."""

    def __init__(self, request: str, status: int, text: str) -> None:
        self.request = request
        self.status = status
        self.text = " ".join(text.split())[:_SHOWN]
        super().__init__(f"{request}: HTTP {status}: {self.text}")

    def as_target_error(self) -> TargetError:
        """What the status means where the request says nothing more."""
        if self.status in (401, 403):
            return TargetForbidden(f"{self}; the ACL token must be allowed what docs/nomad.md lists")
        if self.status == 404:
            return TargetNotFound(f"{self}; create it, or correct the target's name, namespace or region")
        if "No path to region" in self.text:
            return TargetNotFound(f"{self}; the cluster knows no such region: correct it, or join it")
        if self.status == 429:
            return TargetUnavailable(f"{self}; Nomad throttles this client (limits.http_max_conns_per_client)")
        if self.request.startswith("POST") and (400 <= self.status < 500 or "job_max_count" in self.text):
            return TargetRefused(str(self))
        return TargetUnavailable(f"{self}; asked again next cycle")


class Client:
    """One session with an agent. Every method raises Refusal, TargetUnavailable or TargetForbidden."""

    def __init__(self, connection: Connection, clock: Clock) -> None:
        self._connection = connection
        self._clock = clock
        self._session: Session | None = None
        self._deadline = 0.0

    def get(self, path: str, query: Mapping[str, str | None], call: Call) -> Any:
        """The decoded reply."""
        return _decoded(self._exchange("GET", path, query, None, call))

    def pages(self, path: str, query: Mapping[str, str | None], call: Call) -> Iterator[dict[str, Any]]:
        """The entries of a list, page after page."""
        token: str | None = None
        while True:
            reply = self._exchange("GET", path, {**query, "per_page": str(PER_PAGE), "next_token": token}, None, call)
            entries = _decoded(reply)
            if not isinstance(entries, list):
                raise _unexpected(reply, "a list")
            yield from entries
            token = reply.headers.get("X-Nomad-NextToken")
            if not token:
                return

    def post(self, path: str, query: Mapping[str, str | None], body: Mapping[str, Any], call: Call) -> Any:
        """The decoded reply."""
        return _decoded(self._exchange("POST", path, query, body, call))

    def close(self) -> None:
        """Close the connection; the next request opens another one."""
        if self._session is not None:
            self._session.close()
            self._session = None

    def _exchange(
        self, method: str, path: str, query: Mapping[str, str | None], body: Mapping[str, Any] | None, call: Call
    ) -> "Response":
        import requests  # noqa: PLC0415 - `check` loads this module and must not pay for the library

        self._deadline = call.deadline
        remaining = self._remaining()
        if remaining <= 0:
            raise TargetUnavailable(
                f"{method} {path}: not asked, the cycle's deadline has passed; asked again next cycle"
            )
        if self._session is None:
            self._session = self._open()
        address = self._connection.address
        unknown = "" if body is None else "; whether it was carried out is unknown until the next cycle looks"
        try:
            reply = self._session.request(
                method,
                address + path,
                params=query,
                data=None if body is None else json.dumps(body),
                headers=self._headers(),
                timeout=remaining,
                allow_redirects=False,
            )
        except (OSError, ValueError) as error:  # RequestException is an OSError, a bad certificate file raises either
            self.close()
            late = isinstance(error, requests.Timeout) or self._remaining() <= 0
            why = "no whole answer by the cycle's deadline" if late else _root(error)
            remedy = "is the agent up, and the address right?"
            raise TargetUnavailable(f"{method} {address}{path}: {why}{unknown}; {remedy}") from None
        if reply.status_code // 100 != 2:
            raise Refusal(f"{method} {path}", reply.status_code, reply.headers.get("Location") or reply.text)
        return reply

    def _headers(self) -> dict[str, str]:
        token = self._connection.read_token()
        return {"X-Nomad-Token": token} if token else {}

    def _remaining(self) -> float:
        return self._deadline - self._clock.monotonic()

    def _open(self) -> "Session":
        import requests  # noqa: PLC0415 - see _exchange
        import urllib3  # noqa: PLC0415 - see _exchange

        from adapters.nomad.transport import BoundedTransport  # noqa: PLC0415 - it imports both

        connection = self._connection
        session = requests.Session()
        session.trust_env = False  # the file and NOMAD_* say everything; a proxy or .netrc found by chance does not
        session.verify = str(connection.ca_file) if connection.verify and connection.ca_file else connection.verify
        if connection.cert_file is not None:
            session.cert = (str(connection.cert_file), str(connection.key_file))
        if not connection.verify:  # the operator's choice; said once when the adapter is built, not at each request
            urllib3.disable_warnings(urllib3.exceptions.InsecureRequestWarning)
        session.mount(connection.address, BoundedTransport(self._remaining, connection.server_name))
        return session


def _decoded(reply: "Response") -> Any:
    try:
        return json.loads(reply.content)
    except ValueError:
        raise _unexpected(reply, "JSON") from None


def _unexpected(reply: "Response", wanted: str) -> TargetUnavailable:
    found = f"{reply.headers.get('Content-Type', 'no content type')}: {' '.join(reply.text.split())[:_SHOWN]!r}"
    request = f"{reply.request.method} {reply.request.path_url}"
    return TargetUnavailable(f"{request}: expected {wanted}, found {found}; is this address an agent's?")


def _root(error: BaseException) -> str:
    """The innermost cause in words: requests and urllib3 wrap it, with the address again, several times."""
    while (inner := getattr(error, "reason", None) or error.__cause__ or error.__context__) is not None:
        if not isinstance(inner, BaseException):
            break
        error = inner
    return str(error) or type(error).__name__
