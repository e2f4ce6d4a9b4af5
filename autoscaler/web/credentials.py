"""Who is asking: HTTP basic authentication against bcrypt hashes."""

import base64
import binascii
import hashlib
import hmac
import secrets
import threading
from collections.abc import Mapping
from typing import Final

import bcrypt

from autoscaler.clock import Clock

_REMEMBERED_SECONDS: Final = 60.0
"""How long a password that was right need not be hashed again: bcrypt is slow on purpose, and scrapes are many."""
_MOST_REMEMBERED: Final = 1_000
_NOBODY: Final = bcrypt.hashpw(secrets.token_bytes(16), bcrypt.gensalt(10))
"""Checked for users that do not exist, so that they take as long to refuse as those that do."""


class Credentials:
    """Checks `Authorization` headers; any number of threads at once."""

    def __init__(self, users: Mapping[str, bytes], clock: Clock) -> None:
        """`users`: name -> bcrypt hash."""
        self._users = users
        self._clock = clock
        self._secret = secrets.token_bytes(32)
        self._known: dict[bytes, float] = {}
        """Digest of a right name and password -> until when it need not be hashed again."""
        self._lock = threading.Lock()

    def remembered(self, header: str | None) -> str | None:
        """The user whom a header names, when it was found right of late. Fast; never hashes."""
        given = _parse(header)
        if given is None:
            return None
        until = self._known.get(self._digest(*given))
        return given[0] if until is not None and self._clock.monotonic() < until else None

    def check(self, header: str | None) -> str | None:
        """The user whom a header names, or None when it does not hold. Slow, as bcrypt is."""
        given = _parse(header)
        if given is None:
            return None
        name, password = given
        hashed = self._users.get(name)
        if not _matches(password, hashed or _NOBODY) or hashed is None:
            return None
        with self._lock:
            if len(self._known) >= _MOST_REMEMBERED:
                self._known.clear()
            self._known[self._digest(name, password)] = self._clock.monotonic() + _REMEMBERED_SECONDS
        return name

    def _digest(self, name: str, password: bytes) -> bytes:
        """Keyed, so that what is kept in memory says nothing about the password."""
        return hmac.digest(self._secret, name.encode() + b"\0" + password, hashlib.sha256)


def _parse(header: str | None) -> tuple[str, bytes] | None:
    """Name and password of a `Basic` header."""
    scheme, _, encoded = (header or "").partition(" ")
    if scheme.lower() != "basic":
        return None
    try:
        name, colon, password = base64.b64decode(encoded.strip(), validate=True).partition(b":")
        return (name.decode(), password) if colon else None
    except (binascii.Error, ValueError):
        return None


def _matches(password: bytes, hashed: bytes) -> bool:
    try:
        return bcrypt.checkpw(password, hashed)
    except ValueError:  # longer than bcrypt reads
        return False
