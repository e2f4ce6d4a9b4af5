"""HTTP basic authentication against bcrypt hashes."""

import base64
import binascii
import hashlib
import hmac
import secrets
import threading
from collections.abc import Mapping
from typing import Final

from autoscaler.clock import Clock

_RIGHT_SECONDS: Final = 600.0
"""How long a correct password is remembered after its last use. bcrypt is slow, and a user who is logged in must not
wait behind clients that guess."""
_WRONG_SECONDS: Final = 60.0
"""How long a wrong password is remembered."""
_MOST_REMEMBERED: Final = 1_000
"""Correct passwords, and wrong passwords, remembered at most."""
_DEFAULT_COST: Final = 10


class Credentials:
    """Checks `Authorization` headers. Any thread may call `check`; only the server's thread calls the rest."""

    def __init__(self, users: Mapping[str, bytes], clock: Clock) -> None:
        """`users`: name -> bcrypt hash."""
        import bcrypt  # noqa: PLC0415 - it takes memory, and most daemons have no users

        self._users = users
        self._clock = clock
        self._secret = secrets.token_bytes(32)
        self._right = _Memory(clock, _RIGHT_SECONDS)
        self._wrong = _Memory(clock, _WRONG_SECONDS)
        cost = max((int(hashed[4:6]) for hashed in users.values()), default=_DEFAULT_COST)
        self._nobody = bcrypt.gensalt(cost) + b"." * 31
        """The hash of unknown users. Refusing one takes as long as refusing the user with the slowest hash."""

    def remembered(self, header: str) -> str | None:
        """Return the user of a header that was recently correct. Never hashes."""
        given = _parse(header)
        if given is None or not self._right.holds(digest := self._digest(*given)):
            return None
        self._right.keep(digest)
        return given[0]

    def refused(self, header: str) -> bool:
        """Return whether a header is malformed or was recently wrong. Never hashes."""
        given = _parse(header)
        return given is None or self._wrong.holds(self._digest(*given))

    def check(self, header: str) -> str | None:
        """Return the user of a header, or None when it is wrong. Takes bcrypt's time."""
        given = _parse(header)
        if given is None:
            return None
        name, password = given
        hashed = self._users.get(name)
        right = _matches(password, hashed or self._nobody) and hashed is not None
        (self._right if right else self._wrong).keep(self._digest(name, password))
        return name if right else None

    def _digest(self, name: str, password: bytes) -> bytes:
        """Return a keyed digest, which reveals nothing about the password in memory.

        The name's length comes first, so that no two pairs have the same bytes.
        """
        given = name.encode()
        return hmac.digest(self._secret, len(given).to_bytes(8) + given + password, hashlib.sha256)


class _Memory:
    """Digests with an expiry. Beyond the limit, the oldest are dropped."""

    def __init__(self, clock: Clock, seconds: float) -> None:
        self._clock = clock
        self._seconds = seconds
        self._until: dict[bytes, float] = {}
        """Digest -> expiry, in the order of adding."""
        self._lock = threading.Lock()

    def holds(self, digest: bytes) -> bool:
        until = self._until.get(digest)
        return until is not None and self._clock.monotonic() < until

    def keep(self, digest: bytes) -> None:
        with self._lock:
            self._until.pop(digest, None)
            self._until[digest] = self._clock.monotonic() + self._seconds
            if len(self._until) > _MOST_REMEMBERED:
                del self._until[next(iter(self._until))]


def _parse(header: str) -> tuple[str, bytes] | None:
    """Return the name and password of a `Basic` header."""
    scheme, _, encoded = header.partition(" ")
    if scheme.lower() != "basic":
        return None
    try:
        name, colon, password = base64.b64decode(encoded.strip(), validate=True).partition(b":")
        return (name.decode(), password) if colon else None
    except (binascii.Error, ValueError):
        return None


def _matches(password: bytes, hashed: bytes) -> bool:
    import bcrypt  # noqa: PLC0415 - as above

    try:
        return bcrypt.checkpw(password, hashed)
    except ValueError:  # longer than bcrypt's input
        return False
