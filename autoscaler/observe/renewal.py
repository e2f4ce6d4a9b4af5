"""A value that ends, such as a token, and is renewed before it ends."""

import math
import threading
from collections.abc import Callable
from typing import Final, Generic, TypeAlias, TypeVar

from autoscaler.clock import Clock
from autoscaler.errors import MetricError, bug
from autoscaler.threads import NoThread, spawn

_T = TypeVar("_T")
Obtain: TypeAlias = Callable[[], tuple[_T, float]]
"""Returns a value and the seconds from the call until it ends, math.inf if they are unknown. Raises MetricError.

It may block: it runs in a thread of its own.
"""
_EARLY_SHARE: Final = 1 / 5
"""Share of a value's life that is left when its renewal begins."""
_EARLIEST_SECONDS: Final = 300.0
"""Most seconds that are left when the renewal begins."""
_AGAIN_SECONDS: Final = 5.0
"""Time after a failure until the next attempt. Queries of the meantime get the same error."""
_BETWEEN_REFUSALS_SECONDS: Final = 60.0
"""Time between renewals because of refusals: a server may refuse every value."""


class Renewed(Generic[_T]):
    """Holds the newest value. Usable from any thread.

    One thread at a time renews it. While the old value lasts, no caller waits for the new one.
    """

    def __init__(self, obtain: Obtain[_T], server: str, clock: Clock) -> None:
        """`server`: what gives the value, for messages."""
        self._server = server
        self._obtain = obtain
        self._clock = clock
        self._changed = threading.Condition()  # guards the attributes below
        self._value: _T | None = None
        self._ends = self._renew_at = -math.inf
        self._renewing = False
        self._began = -math.inf
        """When the renewal that is under way, or the last one, began."""
        self._error = ""

    def get(self, seconds: float) -> _T:
        """Return the value. Without one, wait for a renewal until `seconds` after its beginning. Raises MetricError."""
        with self._changed:
            now = self._clock.monotonic()
            if now >= self._renew_at and not self._renewing:
                self._begin(now)
            if self._value is not None and now < self._ends:
                return self._value
            renewed = self._changed.wait_for(lambda: not self._renewing, max(self._began + seconds - now, 0.0))
            if not renewed:
                raise MetricError(f"was not asked: {self._server} did not answer in time")
            if self._error or self._value is None:
                raise MetricError(self._error)
            return self._value

    def refused(self) -> None:
        """Note that the server refused the value: it is renewed, and used until another one comes or it ends."""
        with self._changed:
            now = self._clock.monotonic()
            if not self._renewing and now - self._began >= _BETWEEN_REFUSALS_SECONDS:
                self._begin(now)

    def _begin(self, now: float) -> None:
        self._renewing, self._began = True, now
        try:
            spawn("credentials", self._renew)
        except NoThread as error:
            self._renewing, self._error, self._renew_at = False, f"was not asked: {error}", now + _AGAIN_SECONDS

    def _renew(self) -> None:
        began = self._clock.monotonic()
        try:
            value, lasts = self._obtain()
        except MetricError as error:
            self._failed(str(error))
        except BaseException as error:  # noqa: BLE001 - without a result, all callers would wait for ever
            self._failed(f"could not be asked: {bug(error)}")
        else:
            with self._changed:
                self._value, self._error, self._renewing = value, "", False
                self._ends = began + lasts
                self._renew_at = self._ends - min(_EARLY_SHARE * lasts, _EARLIEST_SECONDS)
                self._changed.notify_all()

    def _failed(self, message: str) -> None:
        with self._changed:
            self._error, self._renewing = message, False
            self._renew_at = self._clock.monotonic() + _AGAIN_SECONDS
            self._changed.notify_all()
