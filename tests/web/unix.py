"""Requests over a Unix socket."""

import os
import pwd
from pathlib import Path
from typing import Any, Final

import requests
from requests.adapters import HTTPAdapter

from autoscaler.cli.server import _UnixPool

THIS_USER: Final = pwd.getpwuid(os.getuid()).pw_name
"""The author that the daemon records for a change over the control socket."""


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
