"""Nomad's HTTP API, one request at a time. The deadline bounds each request; each failure is a TargetError."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple, TypeVar

from adapters.nomad.settings import AgentAccess
from autoscaler import target
from autoscaler.target import (
    Call,
    Clock,
    TargetDeferred,
    TargetError,
    TargetForbidden,
    TargetNotFound,
    TargetNotWritten,
    TargetRefused,
    TargetUnavailable,
    plain,
)
from autoscaler.target.http import (
    MAX_ANSWER,
    Addresses,
    HttpError,
    Late,
    Malformed,
    Secrets,
    TlsFailed,
    TooLarge,
    Unreachable,
    WithoutTls,
    beginning,
    cannot_serve,
    decoded,
    in_mib,
    on_this_machine,
)

if TYPE_CHECKING:
    from requests import PreparedRequest, Response

    from autoscaler.target.http import Session

_T = TypeVar("_T")
_OBJECT: Final = dict[str, Any]
_INDEX: Final = "X-Nomad-Index"
PER_PAGE: Final = 5000
"""Entries a page. A page holds a thousand groups with five allocations each."""
MAX_LIST: Final = 2 * MAX_ANSWER
"""Bytes of all pages of a list; 150,000 allocations fit."""
_SHOWN: Final = 200
"""Characters of a reply in an error message."""
unavailable_if_malformed: Final = partial(
    target.unavailable_if_malformed,
    "Nomad's answer for {what} is not understood ({found}); is this address an agent's?",
)


class NomadRefusal(Exception):
    """Nomad answered with an error status. It has the `status` and Nomad's text, for callers that interpret them."""

    def __init__(self, request: str, status: int, text: str) -> None:
        self.request = request
        self.status = status
        self.text = " ".join(text.split())[:_SHOWN]
        super().__init__(f"{request}: HTTP {status}: {self.text}")

    @property
    def no_leader(self) -> bool:
        """Return whether there is no leader. Nomad finds that before it carries out a request (nomad/rpc.go)."""
        return self.status == 500 and "No cluster leader" in self.text

    def as_target_error(self) -> TargetError:
        """Return the TargetError of the status alone."""
        if self.status in (401, 403):
            return TargetForbidden(f"{self}; the ACL token needs {_right(self.request)} (docs/nomad.md)")
        if self.status == 404:
            return TargetNotFound(f"{self}; create it, or correct the target's name, namespace or region")
        if "No path to region" in self.text:
            return TargetNotFound(
                f"{self}; the cluster knows no such region; name one that `nomad server members` shows"
            )
        if self.status == 429:
            kind = TargetNotWritten if self.request.startswith("POST") else TargetUnavailable
            return kind(f"{self}; Nomad throttles this client (limits.http_max_conns_per_client)")
        if self.request.startswith("POST") and self.no_leader:
            return TargetNotWritten(f"{self}; the next cycle tries again")
        if self.request.startswith("POST") and (400 <= self.status < 500 or "job_max_count" in self.text):
            return TargetRefused(str(self))
        return TargetUnavailable(f"{self}; the next cycle tries again")


@contextmanager
def refusals_as_target_errors() -> Iterator[None]:
    """Raise a NomadRefusal of the block as the TargetError of its status."""
    try:
        yield
    except NomadRefusal as refusal:
        raise refusal.as_target_error() from None


def _right(request: str) -> str:
    """Return what a token needs for one of this adapter's requests. Source: Nomad's API documentation."""
    if "/v1/node" in request:
        return '`node:write`, that is node { policy = "write" }, to drain nodes'
    if request.startswith("POST"):
        capability = "scale-job"
    else:
        capability = "list-jobs" if request.endswith("/v1/jobs") else "read-job"
    return f"the capability {capability} in the target's namespace"


class Page(NamedTuple, Generic[_T]):
    """One page of a list."""

    entries: list[_T]
    table_index: str | None
    """X-Nomad-Index: the table's last change when the page was read."""


class NomadClient:
    """A session with the agent at the address in use.

    Every method raises NomadRefusal, TargetUnavailable, TargetForbidden, or NextAddress within `Addresses.run`.
    """

    def __init__(self, access: AgentAccess, addresses: Addresses[str], clock: Clock) -> None:
        self._access = access
        self._addresses = addresses
        self._clock = clock
        self._session: Session | None = None

    def get(self, path: str, query: Mapping[str, str | None], call: Call, wanted: type[_T]) -> _T:
        """Return the decoded reply."""
        return self._decoded(self._exchange("GET", path, query, None, call), wanted)

    def pages(
        self, path: str, query: Mapping[str, str | None], wanted: type[list[_T]], call: Call
    ) -> Iterator[Page[_T]]:
        """Yield the pages of a list; of PER_PAGE entries unless `query` sets `per_page`."""
        token: str | None = None
        size = 0
        while True:
            page = {"per_page": str(PER_PAGE), **query, "next_token": token}
            reply = self._exchange("GET", path, page, None, call)
            size += len(reply.content)
            if size > MAX_LIST:
                raise TargetUnavailable(
                    f"GET {path}: the list has more than {in_mib(MAX_LIST)}; is this address an agent's?"
                )
            yield Page(self._decoded(reply, wanted), reply.headers.get(_INDEX))
            token = reply.headers.get("X-Nomad-NextToken")
            if not token:
                return

    def first_entry(self, path: str, query: Mapping[str, str | None], call: Call) -> tuple[str | None, bytes]:
        """Return the index of a list's table, and the raw answer with its first entry."""
        reply = self._exchange("GET", path, {**query, "per_page": "1"}, None, call)
        return reply.headers.get(_INDEX), reply.content

    def monotonic(self) -> float:
        """Return seconds of the clock of the deadlines."""
        return self._clock.monotonic()

    def post(self, path: str, query: Mapping[str, str | None], body: Mapping[str, Any], call: Call) -> Any:
        """Return the decoded reply, an object."""
        return self._decoded(self._exchange("POST", path, query, body, call), _OBJECT)

    def close(self) -> None:
        """Close the connection. The next request opens another."""
        if self._session is not None:
            self._session.close()
            self._session = None

    def _exchange(
        self, method: str, path: str, query: Mapping[str, str | None], body: Mapping[str, Any] | None, call: Call
    ) -> "Response":
        remaining = call.seconds_left(self._clock.monotonic())
        if remaining <= 0:
            kind = TargetUnavailable if body is None else TargetDeferred
            raise kind(
                f"{method} {path}: nothing was sent, the cycle's deadline has passed; the next cycle tries again"
            )
        if self._session is None:
            self._session = self._open()
        address, write = self._addresses.current, body is not None
        try:
            reply = self._session.request(
                method,
                address + path,
                params=query,
                data=None if body is None else json.dumps(body),
                auth=self._authorize,
                timeout=remaining,
            )
        except HttpError as error:
            failure = _unavailable(f"{method} {address}{path}", error, write=write)
            if isinstance(error, TooLarge):  # it has answered
                raise failure from None
            raise self._addresses.failed(failure, write=write) from None
        if reply.status_code // 100 != 2 or (
            reply.status_code != 200 and not write
        ):  # a proxy may shorten a 203 or 206
            said = reply.headers.get("Location") or beginning(reply.content)
            refusal = NomadRefusal(f"{method} {address}{path}", reply.status_code, said)
            if cannot_serve(refusal.status) or refusal.no_leader:
                raise self._addresses.failed(refusal.as_target_error(), write=write)
            raise refusal
        self._addresses.answered()
        return reply

    def _decoded(self, reply: "Response", wanted: type[_T]) -> _T:
        try:
            return decoded(reply.content, wanted, MAX_ANSWER)
        except Malformed as error:
            secrets = Secrets() if self._session is None else self._session.known_secrets
            kind, said = reply.headers.get("Content-Type", "no content type"), secrets.hidden_in(reply.content)
            found = f"{secrets.hidden(str(error))}; it is {plain(kind, _SHOWN)}: {beginning(said)!r}"
            problem = f"{reply.request.method} {reply.request.path_url}: {found}; is this address an agent's?"
        raise TargetUnavailable(problem)  # outside the `except` block, whose exception holds the answer

    def _authorize(self, request: "PreparedRequest") -> "PreparedRequest":
        if token := self._access.read_token():
            request.headers["X-Nomad-Token"] = token
        return request

    def _open(self) -> "Session":
        from autoscaler.target.http import Session  # noqa: PLC0415 - keeps `check` fast

        return Session(
            self._access.tls,
            largest=MAX_ANSWER,
            compressed=not all(map(on_this_machine, self._access.addresses)),
            connect_share=self._addresses.connect_share,
        )


def _unavailable(request: str, error: HttpError, *, write: bool) -> TargetError:
    unsent = TargetNotWritten if write else TargetUnavailable
    unknown = "; whether it was carried out is unknown until the next cycle" if write else ""
    match error:
        case WithoutTls():
            return unsent(f"{request}: {error}; write http:// instead of https:// in the address")
        case TlsFailed():
            return unsent(f"{request}: {error}; check tls: caFile, certFile, keyFile and serverName")
        case Unreachable():
            return unsent(f"{request}: {error}; is the agent up, and the address right?")
        case Late():
            return TargetUnavailable(f"{request}: no whole answer by the cycle's deadline{unknown}; is the agent up?")
    return TargetUnavailable(f"{request}: {error}{unknown}; is this address an agent's?")
