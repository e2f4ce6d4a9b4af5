"""The addresses of one back end, of which one is in use.

A call uses one address from its beginning to its end, so that an observation never combines the answers of two servers.
When the address fails (no connection, no answer, or an answer that says that the server cannot serve now), the next one
is used from then on. The call itself begins again there, unless a write may have reached the back end or no time is
left. A minute after the first address was left, an observation tries it again.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final, Generic, TypeVar

from autoscaler.clock import Clock
from autoscaler.errors import TargetError, TargetUnavailable
from autoscaler.logger import Logger
from autoscaler.model import Call

RETURN_AFTER_SECONDS: Final = 60.0
_CANNOT_SERVE: Final = range(502, 505)

_Address = TypeVar("_Address")
_T = TypeVar("_T")


class NextAddress(Exception):
    """The call's address failed, and nothing can have been written: `Addresses.run` begins the call again."""


def cannot_serve(status: int) -> bool:
    """Return whether an HTTP status means that another address may serve: 502, 503 or 504.

    A conflict of Nomad's or Swarm's is a 500, so that status alone does not mean it.
    """
    return status in _CANNOT_SERVE


class Addresses(Generic[_Address]):
    """The addresses of one connection, in the order in which they are tried. One thread at a time makes a call."""

    def __init__(self, addresses: Sequence[_Address], connection: str, clock: Clock, logger: Logger) -> None:
        """`addresses`: at least one; `str` of one is its name in messages. `connection`: its name in the log."""
        self._all: Final = tuple(addresses)
        self._connection = connection
        self._clock = clock
        self._logger = logger
        self._index = 0
        self._next = 0
        """Index of the address of the next attempt."""
        self._served = 0
        """Index of the address that served the last call."""
        self._first_left = 0.0
        """When the first address failed last, in monotonic seconds."""
        self._call: Call | None = None
        self._untried = 0
        """How many other addresses this call may try."""
        self._answered = False
        """Whether the address has answered a request of this attempt."""
        self._failures: list[str] = []
        """The failures of the addresses that this call has tried."""
        self._failure = ""
        """The last failure of any call."""

    @property
    def current(self) -> _Address:
        """The address in use; the same throughout an attempt."""
        return self._all[self._index]

    def connect_share(self) -> float:
        """Return the share of a request's time that connecting may take, so that the other addresses get theirs."""
        return 1 / (1 + self._untried)

    def observe(self, work: Callable[[], _T], call: Call) -> _T:
        """Do `work` as `run` does, and return to the first address a minute after that one failed.

        A write uses `run`, so that it goes to the address of the observation that it was decided from.
        """
        if self._index and self._clock.monotonic() - self._first_left >= RETURN_AFTER_SECONDS:
            self._next = 0
        return self.run(work, call)

    def run(self, work: Callable[[], _T], call: Call) -> _T:
        """Do `work`, an adapter's whole call, at one address after another until one does not fail.

        Returns or raises what `work` does there.
        """
        self._call, self._untried, self._failures = call, len(self._all) - 1, []
        while True:
            self._index, self._answered = self._next, False
            try:
                result = work()
            except NextAddress:
                continue
            if self._answered and self._next == self._index:
                self._report_change()
            return result

    def answered(self) -> None:
        """Note that the address has answered a request: it is slow rather than down if this call is late."""
        self._answered = True

    def failed(self, error: TargetError, *, write: bool) -> TargetError:
        """Use the next address from now on. Raises NextAddress if the call can begin again there.

        Else returns the error with which the call ends. `error`: of the failed request. `write`: whether that was a
        write; after a TargetUnavailable the server may have carried it out, so this call does not repeat it.
        """
        now = self._clock.monotonic()
        late = self._call is not None and self._call.seconds_left(now) <= 0
        if len(self._all) == 1 or (late and self._answered):
            return error
        self._next = (self._index + 1) % len(self._all)
        if not self._index:
            self._first_left = now
        self._failure = str(error)
        self._failures.append(self._failure)
        if self._untried and not late and not (write and isinstance(error, TargetUnavailable)):
            self._untried -= 1
            raise NextAddress
        return type(error)("; ".join(reversed(self._failures)))

    def failing(self, probe: Callable[[Call], object], call: Call) -> Mapping[str, str]:
        """Return address -> the message of the TargetError that `probe` raises there. Each gets a share of the time.

        With a single address it asks nothing, because every observation shows whether that one fails.
        """
        found: dict[str, str] = {}
        if len(self._all) == 1:
            return found
        for index, address in enumerate(self._all):
            self._index, self._untried, self._failures = index, len(self._all) - index - 1, []
            now = self._clock.monotonic()
            self._call = replace(call, deadline=now + call.seconds_left(now) / (1 + self._untried))
            try:
                probe(self._call)
            except NextAddress:
                found[str(address)] = self._failures[-1]
            except TargetError as error:
                found[str(address)] = str(error)
        return found

    def _report_change(self) -> None:
        if self._index == self._served:
            return
        before, self._served = self._all[self._served], self._index
        keys = {"connection": self._connection, "address": str(self.current), "before": str(before)}
        if self._index:
            self._logger.warning("address_changed", **keys, error=self._failure)
        else:
            self._logger.info("address_changed", **keys)
