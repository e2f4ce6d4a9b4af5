"""A short queue of passwords to hash, one at a time, in which guesses do not delay correct passwords."""

import asyncio
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import anyio

from autoscaler.bucket import TokenBucket
from autoscaler.clock import Clock
from autoscaler.logger import Logger
from autoscaler.web.credentials import Credentials
from autoscaler.web.refusals import Refusals

_MOST_WAITING: Final = 16
"""Passwords in the queue. With a bcrypt cost of 10, hashing them takes about a second."""
_FAILURES: Final = 10
"""Wrong passwords of one client in a burst; after it, one a second. Correct ones do not count: many users may share a
proxy."""
_FAILURE_SECONDS: Final = 1.0
_MOST_CLIENTS: Final = 1_000
"""Clients whose failures are counted. Beyond it, the least recent ones are forgotten."""


class LoginRefused(Exception):
    """A password is not checked because the queue is full. `guessing`: by failures of the client's own address."""

    def __init__(self, *, guessing: bool) -> None:
        self.guessing = guessing
        super().__init__("too many wrong passwords came from this address" if guessing else "too many log in at once")


@dataclass(eq=False, slots=True)
class _Login:
    credentials: Credentials
    header: str
    client: str
    user: asyncio.Future[str | None]
    """Set once the password was checked."""


class Logins:
    """The queue. Use it from the server's event loop only.

    Addresses with the fewest failures come first, and among them the newest login, so a user who logs in during many
    guesses is next.
    """

    def __init__(self, clock: Clock, logger: Logger) -> None:
        self._clock = clock
        self._waiting: list[_Login] = []
        """Oldest first."""
        self._failures: dict[str, TokenBucket] = {}
        """Client -> its remaining failures; the client that failed last comes last."""
        self._working: asyncio.Task[None] | None = None
        self._arrived = asyncio.Event()
        self._refusals = Refusals("login_flood", clock, logger)

    async def user(self, credentials: Credentials, header: str, client: str) -> str | None:
        """Return the user of a header, or None when it is wrong. Raises LoginRefused."""
        login = _Login(credentials, header, client, asyncio.get_running_loop().create_future())
        self._waiting.append(login)
        if len(self._waiting) > _MOST_WAITING:
            self._refuse_one()
        self._arrived.set()
        if self._working is None or self._working.done():
            self._working = asyncio.create_task(self._work())
        return await login.user

    def _refuse_one(self) -> None:
        """Refuse the oldest login of the client with the most."""
        client, _ = Counter(login.client for login in self._waiting).most_common(1)[0]
        login = next(login for login in self._waiting if login.client == client)
        self._waiting.remove(login)
        self._refusals.count(client=client)
        login.user.set_exception(LoginRefused(guessing=self._tokens(client, self._clock.monotonic()) < 1))

    async def _work(self) -> None:
        while self._waiting:
            self._arrived.clear()
            now = self._clock.monotonic()  # one time for all, so that two clients compare fairly
            login = max(reversed(self._waiting), key=lambda each: self._tokens(each.client, now))
            if self._tokens(login.client, now) < 1:
                await self._pause(self._failures[login.client].wait_seconds(now))
                continue
            self._waiting.remove(login)
            try:
                login.user.set_result(await self._look(login))
            except Exception as error:  # noqa: BLE001 - a bug fails this login only
                login.user.set_exception(error)

    async def _look(self, login: _Login) -> str | None:
        user = login.credentials.remembered(login.header)  # an equal one may have been checked meanwhile
        if user is None and not login.credentials.refused(login.header):
            user = await anyio.to_thread.run_sync(login.credentials.check, login.header)
            if user is None:
                self._failed(login.client)
        return user

    async def _pause(self, seconds: float) -> None:
        """Wait until then, or until a login arrives that need not wait."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._arrived.wait(), seconds)

    def _tokens(self, client: str, now: float) -> float:
        bucket = self._failures.get(client)
        return _FAILURES if bucket is None else bucket.tokens(now)

    def _failed(self, client: str) -> None:
        bucket = self._failures.pop(client, None) or TokenBucket(_FAILURES, _FAILURE_SECONDS)
        bucket.take(self._clock.monotonic())
        self._failures[client] = bucket
        if len(self._failures) > _MOST_CLIENTS:
            del self._failures[next(iter(self._failures))]
