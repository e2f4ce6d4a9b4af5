"""Places a fault at a moment of a daemon's write. The proxies of the daemon cause it."""

import threading
from collections.abc import Callable, Collection
from enum import StrEnum
from typing import Final

from rehearse.hosts.database_proxy import INTENT, OUTCOME, TAKEOVER
from rehearse.hosts.host import PATIENCE_SECONDS, Host
from rehearse.hosts.recorder import Write


class Moment(StrEnum):
    """Moments of one write; the last one, of a takeover."""

    RANDOM = "at random"
    INTENT = "after the intent's commit"
    LOOK = "before the answer to the last look"
    REQUEST = "after the request"
    ANSWER = "before the answer"
    OUTCOME = "after the outcome"
    TAKEOVER = "after it took the lease"


MOMENTS: Final = tuple(each for each in Moment if each is not Moment.TAKEOVER)
"""Moments of a leader. Only AWS has LOOK: the adapter for Nomad does not read before a write."""


class _Strike:
    """One fault that is due. Threads of the proxies call it, several of them perhaps at once."""

    def __init__(self, moment: Moment, fault: Callable[[], object], late: Callable[[Write], object]) -> None:
        self._moment, self._fault, self._late = moment, fault, late
        self._lock = threading.Lock()
        self._begun, self._intended = False, False
        self.done = threading.Event()

    def committed(self, kind: str) -> None:
        """Before the daemon hears of it."""
        if kind == TAKEOVER:
            self._at(Moment.TAKEOVER)
        elif kind == INTENT:
            self._intended = True
            self._at(Moment.INTENT)
        elif kind == OUTCOME and self._intended:  # of a cycle with a write
            self._intended = False
            self._at(Moment.OUTCOME)

    def looked(self) -> None:
        """Before the daemon hears of it. A read before the intent's commit is an observation."""
        if self._intended:
            self._at(Moment.LOOK)

    def requested(self, write: Write) -> None:
        """Before it is forwarded."""
        if self._at(Moment.REQUEST):
            self._late(write)

    def answered(self, _: Write) -> None:
        """Before the daemon hears of it."""
        self._at(Moment.ANSWER)

    def _at(self, moment: Moment) -> bool:
        """Cause the fault if it is due. Returns whether it was."""
        with self._lock:
            if self._begun or moment is not self._moment:
                return False
            self._begun = True
        self._fault()
        self.done.set()
        return True


def strike(
    host: Host,
    moment: Moment,
    fault: Callable[[], object],
    late: Callable[[Write], object] = lambda _: None,
    backends: Collection[str] | None = None,
) -> None:
    """Cause `fault` at the next such moment of the host's daemon, for RANDOM at once, and return.

    `late`: for REQUEST, waits while the request is on its way, or says that it is lost. `backends`: the moment of a
    write to one of these; None: to any. Raises AssertionError if there is no such moment.
    """
    if moment is Moment.RANDOM:
        fault()
        return
    due = _Strike(moment, fault, late)
    host.database.commits.on_commit = due.committed
    recorders = [recorder for name, recorder in host.recorders.items() if backends is None or name in backends]
    for recorder in recorders:
        recorder.on_request, recorder.on_sight, recorder.on_answer = due.requested, due.looked, due.answered
    try:
        assert due.done.wait(PATIENCE_SECONDS), f"host {host.number}: no moment {moment} within {PATIENCE_SECONDS:g} s"
    finally:
        host.database.commits.on_commit = None
        for recorder in recorders:
            recorder.on_request = recorder.on_sight = recorder.on_answer = None
