"""HTTP basic authentication against bcrypt hashes."""

import base64
import binascii
import hashlib
import hmac
import secrets
from collections.abc import Mapping
from functools import partial
from typing import Final

import anyio

from autoscaler.web.work import on_thread

_DEFAULT_COST: Final = 10


class Credentials:
    """Checks `Authorization` headers. Use it from the server's event loop only.

    A user's right password is remembered, because bcrypt is slow: who is logged in does not wait behind clients that
    guess. The others are hashed one at a time.
    """

    def __init__(self, users: Mapping[str, bytes]) -> None:
        """`users`: name -> bcrypt hash."""
        import bcrypt  # noqa: PLC0415 - it takes memory, and most daemons have no users

        self._users = users
        self._secret = secrets.token_bytes(32)
        self._right: dict[str, bytes] = {}
        """User -> the digest of the right password."""
        self._one_at_a_time = anyio.CapacityLimiter(1)
        cost = max((int(hashed[4:6]) for hashed in users.values()), default=_DEFAULT_COST)
        self._nobody = bcrypt.gensalt(cost) + b"." * 31
        """The hash of unknown users. Refusing one takes as long as refusing the user with the slowest hash."""

    async def user(self, header: str) -> str | None:
        """Return the user of a header, or None when it is wrong. Hashes unless it was correct before.

        Raises RequestError if no thread can be started.
        """
        given = _parse(header)
        if given is None:
            return None
        name, password = given
        digest = hmac.digest(self._secret, password, hashlib.sha256)  # reveals nothing about the password in memory
        if name in self._right and hmac.compare_digest(self._right[name], digest):
            return name
        hashed = self._users.get(name)
        right = await on_thread(partial(_matches, password, hashed or self._nobody), self._one_at_a_time)
        if not right or hashed is None:
            return None
        self._right[name] = digest
        return name


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
