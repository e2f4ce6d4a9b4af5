"""Requests over a Unix socket."""

import os
import pwd
import socket
from pathlib import Path
from typing import Any, Final

import requests
import urllib3
import urllib3.connection
from requests.adapters import HTTPAdapter
from urllib3.exceptions import NewConnectionError

THIS_USER: Final = pwd.getpwuid(os.getuid()).pw_name
"""The author that the daemon records for a change over the control socket."""


class _UnixConnection(urllib3.connection.HTTPConnection):
    def __init__(self, *, path: str, **options: Any) -> None:
        super().__init__(**options)
        self._path = path

    def connect(self) -> None:
        client = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        client.settimeout(15.0)
        try:
            client.connect(self._path)
        except OSError as error:
            client.close()
            raise NewConnectionError(self, str(error)) from error
        self.sock = client


class _UnixPool(urllib3.HTTPConnectionPool):
    ConnectionCls = _UnixConnection


class _UnixAdapter(HTTPAdapter):
    def __init__(self, path: Path) -> None:
        super().__init__()
        self._pool = _UnixPool("localhost", path=str(path))

    def get_connection_with_tls_context(self, *_: Any, **__: Any) -> Any:
        return self._pool

    def close(self) -> None:
        self._pool.close()


def unix_session(path: Path) -> requests.Session:
    """A session that sends requests to http://localhost over this socket."""
    session = requests.Session()
    session.trust_env = False
    session.mount("http://localhost", _UnixAdapter(path))
    return session
