"""Places a fault at a moment of a daemon's write: what stands between the daemon and the world causes it."""

import threading
from collections.abc import Callable
from enum import StrEnum
from typing import Final

from tests.faults.hosts.database_proxy import INTENT, OUTCOME
from tests.faults.hosts.host import PATIENCE_SECONDS, Host
from tests.faults.hosts.recorder import Write


class Moment(StrEnum):
    """Of one write."""

    RANDOM = "at random"
    INTENT = "after the intent's commit"
    REQUEST = "after the request"
    ANSWER = "before the answer"
    OUTCOME = "after the outcome"


MOMENTS: Final = tuple(Moment)


def strike(host: Host, moment: Moment, fault: Callable[[], None], late: Callable[[], None] = lambda: None) -> bool:
    """Cause `fault` at the next such moment of the host's daemon, and return after it; at once for RANDOM.

    `late`: waits for as long as the request is still on its way, for REQUEST. False: the daemon came to no such
    moment, and nothing was done.
    """
    if moment is Moment.RANDOM:
        fault()
        return True
    begun, done, lock = threading.Event(), threading.Event(), threading.Lock()

    def once() -> bool:
        """Whether it is our turn: several threads may come to the moment at once."""
        with lock:
            if begun.is_set():
                return False
            begun.set()
        fault()
        done.set()
        return True

    intended = threading.Event()

    def on_commit(kind: str) -> None:
        if kind == INTENT:
            intended.set()
        if (moment is Moment.INTENT and kind == INTENT) or (
            moment is Moment.OUTCOME and kind == OUTCOME and intended.is_set()
        ):
            once()

    def on_request(_: Write) -> None:
        if moment is Moment.REQUEST and once():
            late()

    def on_answer(_: Write) -> None:
        if moment is Moment.ANSWER:
            once()

    host.database.on_commit = on_commit
    for recorder in (host.nomad, host.aws):
        recorder.on_request, recorder.on_answer = on_request, on_answer
    try:
        struck = begun.wait(PATIENCE_SECONDS)
    finally:
        host.database.on_commit = None
        for recorder in (host.nomad, host.aws):
            recorder.on_request = recorder.on_answer = None
    return struck and done.wait(PATIENCE_SECONDS)
