"""A client of the daemon's HTTP API, over TCP or its control socket. It turns answers into documents.

It uses no redirects, proxies or ~/.netrc: the daemon is usually on this machine. Each request has a connection of its
own, because the daemon ends those that wait.
"""

import gc
import grp
import json
import os
import pwd
import socket
import stat
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException, HTTPSConnection, IncompleteRead
from pathlib import Path
from ssl import SSLError, create_default_context
from typing import TYPE_CHECKING, Any, Final, TypeVar
from urllib.parse import quote, unquote, urlencode, urlsplit

from pydantic import ValidationError

from autoscaler.errors import ServerError
from autoscaler.net.limits import on_this_machine
from autoscaler.version import USER_AGENT

if TYPE_CHECKING:  # their imports take half a second
    from autoscaler.cli.http_config import HttpConfig
    from autoscaler.document import Document

_Document = TypeVar("_Document", bound="Document")
_CONNECT_SECONDS: Final = 3.0
_ANSWER_SECONDS: Final = 15.0
_ORDER_SECONDS: Final = 75.0
"""The daemon answers within 60 s."""
_MAX_ANSWER: Final = 256 * 2**20
"""Bytes, enough for 100,000 autoscalers."""
_API: Final = "/api/v1"
_URL_FORM: Final = 'expected a URL such as "http://127.0.0.1:9797" or "unix:///run/autoscaler/control/control.sock"'


class ServerDown(ServerError):
    """No daemon listens: try the next address, read the state instead, or start the daemon."""

    def __init__(self, message: str, place: str = "") -> None:
        """`place`: where none listens, and why, as in `http://127.0.0.1:9797 (connection refused)`."""
        self.place = place
        super().__init__(message)


class Refused(ServerError):
    """The user may not do this: give other credentials."""


class SocketRefused(Refused):
    """The user may not use the control socket: join its group, or use TCP."""


class _UnixConnection(HTTPConnection):
    """An HTTP connection over a Unix socket."""

    def __init__(self, path: Path) -> None:
        super().__init__("localhost", timeout=_CONNECT_SECONDS)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(_CONNECT_SECONDS)
        self.sock.connect(os.fspath(self._path))


class _TlsConnection(HTTPSConnection):
    """An HTTPS connection to a server whose certificate may have another name than the URL."""

    def __init__(self, host: str, port: int | None, config: "HttpConfig | None") -> None:
        self._settings, name = (create_default_context(), None) if config is None else config.tls()
        super().__init__(host, port, timeout=_CONNECT_SECONDS, context=self._settings)
        self._name = name or host

    def connect(self) -> None:
        HTTPConnection.connect(self)
        self.sock = self._settings.wrap_socket(self.sock, server_hostname=self._name)


class Server:
    """One daemon. Every method raises ServerError."""

    def __init__(self, url: str, config: "HttpConfig | None" = None) -> None:
        """Raises ValueError for an invalid URL; connects at the first request."""
        try:
            parts = urlsplit(url)
            host, port = parts.hostname or "", parts.port
        except ValueError:
            raise ValueError(f"this is not a valid server URL; {_URL_FORM}") from None
        if parts.username is not None or parts.password is not None:
            raise ValueError("the URL holds a user or password; write basic_auth into --http.config.file")
        is_socket = parts.scheme == "unix" and not host and parts.path.startswith("/")
        is_http = parts.scheme in ("http", "https") and host
        if not (is_socket or is_http) or parts.query or parts.fragment:
            raise ValueError(f"{url[:100]!r} is not a valid server URL; {_URL_FORM}")
        self.url = url.rstrip("/")
        self.socket = Path(unquote(parts.path)) if is_socket else None
        """The control socket; None: TCP."""
        self.is_this_machine = is_socket or on_this_machine(url)
        self._headers = {"User-Agent": USER_AGENT, **(config.headers() if config is not None else {})}
        self._base = ("" if is_socket else parts.path.rstrip("/")) + _API
        self._connect: Callable[[], HTTPConnection]
        """Returns a connection that is not open yet."""
        if self.socket is not None:
            self._connect = partial(_UnixConnection, self.socket)
        elif parts.scheme == "http":
            self._connect = partial(HTTPConnection, host, port, timeout=_CONNECT_SECONDS)
        else:
            self._connect = partial(_TlsConnection, host, port, config)

    def get(
        self, kind: type[_Document], path: str, of: str = "", /, within: float = _ANSWER_SECONDS, **query: str | int
    ) -> _Document:
        """Return the document at a path below the API's prefix, within some seconds. `of` replaces `{name}` in it."""
        parameters = urlencode(query, errors="replace")  # an argument need not be UTF-8
        place = _at(path, of) + (f"?{parameters}" if parameters else "")
        return self._read_as(kind, self._ask("GET", place, None, within))

    def post(self, kind: type[_Document], path: str, of: str = "", /, *, body: Mapping[str, Any]) -> _Document:
        """Request a change, and return the answer."""
        return self._read_as(kind, self._ask("POST", _at(path, of), json.dumps(body).encode(), _ANSWER_SECONDS))

    def order(self, word: str) -> Sequence[str]:
        """Have the daemon `reload` its configuration, or `resign`. Returns why it did not."""
        path = f"{self._base.removesuffix(_API)}/-/{word}"
        status, kind, content = self._exchange("POST", path, None, self._headers, _ORDER_SECONDS)
        if not kind.startswith("text/plain"):
            self._decoded(status, kind, content)  # raises what a refusal says
        if status == HTTPStatus.SERVICE_UNAVAILABLE:  # another one is under way
            raise ServerError(f"{self.url} is busy: {content.decode(errors='replace').strip()}")
        return [] if status == HTTPStatus.OK else content.decode(errors="replace").splitlines()

    def _read_as(self, kind: type[_Document], data: Mapping[str, Any]) -> _Document:
        gc.disable()  # an answer contains no garbage, and to search for some would double the time
        try:
            return kind.model_validate(data)
        except ValidationError as error:
            place = ".".join(map(str, error.errors()[0]["loc"]))
            raise ServerError(
                f"this version does not understand the answer of {self.url} (at {place}); install the daemon's version"
            ) from None
        finally:
            gc.freeze()  # the answer stays in use until the end
            gc.enable()

    def _ask(self, method: str, path: str, body: bytes | None, seconds: float) -> Mapping[str, Any]:
        headers = self._headers | {"Accept": "application/json"}
        if body is not None:
            headers["Content-Type"] = "application/json"
        return self._decoded(*self._exchange(method, self._base + path, body, headers, seconds))

    def _exchange(
        self, method: str, path: str, body: bytes | None, headers: Mapping[str, str], seconds: float
    ) -> tuple[int, str, bytes]:
        """Return status, content type and content of the answer. Its size is limited: it may not be a daemon's."""
        connection = self._connect()
        try:
            self._open(connection)
            connection.sock.settimeout(seconds)
            connection.request(method, path, body, headers)
            response = connection.getresponse()
            content = response.read(_MAX_ANSWER + 1)
            if response.length and len(content) <= _MAX_ANSWER:
                raise IncompleteRead(content, response.length)
        except SSLError as error:
            raise ServerError(
                f"{self.url} cannot be trusted: {error}; give its authority as tls_config.ca_file in "
                "--http.config.file, or check --server"
            ) from None
        except TimeoutError:
            raise ServerError(f"{self.url} did not answer in time; see the daemon's log") from None
        except (HTTPException, OSError) as error:
            raise ServerError(f"{self.url} closed the connection ({type(error).__name__}); check --server") from None
        finally:
            connection.close()
        if len(content) > _MAX_ANSWER:
            raise ServerError(f"{self.url} answered with more than {_MAX_ANSWER >> 20} MiB; check --server")
        return response.status, response.headers.get("Content-Type", "no content type"), content

    def _open(self, connection: HTTPConnection) -> None:
        """Connect. Raises ServerDown, SocketRefused; SSLError."""
        try:
            connection.connect()
        except SSLError:
            raise
        except OSError as error:
            if self.socket is not None and isinstance(error, PermissionError):
                message = f"you may not use the control socket {self.socket}; {_permission(self.socket)}"
                raise SocketRefused(message) from None
            cause = (error.strerror or str(error)).lower()
            if isinstance(error, TimeoutError):
                cause = f"no connection within {_CONNECT_SECONDS:g} s"
            place = f"{self.url} ({cause})"
            raise ServerDown(f"no daemon answers at {place}", place) from None

    def _decoded(self, status: int, kind: str, content: bytes) -> Mapping[str, Any]:
        try:
            answer = json.loads(content)
            if status == HTTPStatus.OK and answer["status"] == "success":
                return {**answer["data"]}
            message = str(answer["error"])
        except (ValueError, LookupError, TypeError):
            raise ServerError(
                f"{self.url} answered HTTP {status} with {kind}; that is not an autoscaler: check --server"
            ) from None
        if status == HTTPStatus.NOT_FOUND:
            raise ServerError(message)
        if self.socket is not None and status == HTTPStatus.FORBIDDEN:
            raise SocketRefused(message)
        if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
            raise Refused(f"{self.url} refused: {message}; give credentials with --http.config.file")
        if self.socket is not None:
            raise ServerError(message)
        what = "cannot answer" if status >= HTTPStatus.INTERNAL_SERVER_ERROR else "refused"
        raise ServerError(f"{self.url} {what}: {message}")


def _permission(path: Path) -> str:
    """Return the remedy if the user may not use a socket. Its folder's group may, if the folder permits it."""
    alone = "run the command as root, or as the daemon's user"
    try:
        folder = path.parent.stat()
        group = grp.getgrgid(folder.st_gid).gr_name
        user = pwd.getpwuid(os.getuid()).pw_name
    except (KeyError, OSError):  # a container's user without a name, or a folder that cannot be read either
        return alone
    if not folder.st_mode & stat.S_IXGRP:
        return alone
    return f"run the command as root, or join the group with `sudo adduser {user} {group}` and log in again"


def _at(path: str, name: str) -> str:
    return path.replace("{name}", quote(name, safe="", errors="replace"))
