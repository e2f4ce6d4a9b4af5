"""Makes this daemon lead or stand by: a thread renews the lease, or watches another daemon's.

Names, defaults and the jitter are those of Kubernetes' leader election (client-go, tools/leaderelection).
"""

import random
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import suppress
from functools import partial
from typing import Final

from prometheus_client import CollectorRegistry, Metric

from autoscaler.clock import Clock
from autoscaler.errors import StateError, message_of
from autoscaler.logger import Logger
from autoscaler.metrics.families import counter, gauge, show
from autoscaler.record.lease import Lease
from autoscaler.threads import NoThread, spawn

_JITTER: Final = 0.2
"""Share of a retry period by which a turn is randomly delayed, so that daemons do not ask at the same time."""
_MAX_HANGING: Final = 3
"""Number of threads that hang in the database after which no further one is started."""
_POLL_SECONDS: Final = 0.1
_AGAIN_SECONDS: Final = 0.5
"""Time after which the first turn is tried again."""
_END_SECONDS: Final = 2.0
"""How long `end` waits for the thread. A thread that hangs in the database ends with the process."""


class Leadership:
    """Used by the main thread; methods that say so can be called from any thread.

    The lease ends when no renewal has succeeded for `renew_deadline`, also while the thread hangs in the database.
    """

    def __init__(self, lease: Lease, clock: Clock, logger: Logger, changed: Callable[[], None] = lambda: None) -> None:
        """`changed` is called, on the thread, when this daemon has begun or ceased to lead."""
        self._lease = lease
        self._renew_deadline = lease.options.renew_deadline.total_seconds()
        self.duration: Final = lease.options.duration.total_seconds()
        """Duration of a lease, in seconds."""
        self.period: Final = lease.options.retry_period.total_seconds()
        """Interval of renewals and looks, in seconds."""
        self._clock = clock
        self._logger = logger
        self._changed = changed
        self._wake = threading.Event()
        self._ended = threading.Event()
        self._threads: list[Future[None]] = []
        """The last one is in use. Those before it hang in the database."""
        self._current: object = None
        """What the thread in use was started with."""
        self._turn_began: float | None = None
        self._failure: str | None = None
        """Why the last turn failed, or has not ended; None: it succeeded."""
        self._led: str | None = None
        """The generation at the last `check`."""
        self._stands_by: str | None = None
        """The leader at the last `check`; None: this daemon led."""
        self.started = False
        """Whether `start` has succeeded."""
        self.lost: int = 0
        """How often the lease was lost since the start."""

    def follow(self, digest: str) -> None:
        """Note the digest of the configuration that was loaded now."""
        self._lease.follow(digest)
        self._wake.set()

    def start(self, *, alone: bool = False) -> None:
        """Take the lease if it is free, and renew or watch it from now on. Raises NoThread.

        Raises StateError if the database refuses that for a little longer than a lease's duration. `alone`: this daemon
        neither takes over nor stands by. It waits as long for what a killed daemon left, and raises StateError if
        another daemon leads or stands by even then.
        """
        until = self._clock.monotonic() + self.duration + 2 * self.period
        while alone and (others := self._lease.others()):
            self._wait_for_others(until, "; ".join(others))
        self._first_turn(until)
        self.started = True
        self._start_thread()  # at once: what follows at the start of the daemon may take longer than the lease lasts
        while alone and not self.leads:
            self._wait_for_others(until, self.leader)

    def _first_turn(self, until: float) -> None:
        """Take or watch the lease. A database that is slow for a moment does not end the daemon."""
        while True:
            try:
                self._lease.turn()
            except StateError as failure:
                if self._clock.monotonic() >= until:
                    raise
                self._failed(str(failure))
            else:
                self._failure = None
                return
            time.sleep(_AGAIN_SECONDS)

    def _wait_for_others(self, until: float, others: str | None) -> None:
        if self._clock.monotonic() >= until:
            raise StateError(
                f"the state is in use by {others or 'another daemon'}; stop it, or give this one a state (state.url) "
                "and targets of its own"
            )
        time.sleep(_POLL_SECONDS)

    @property
    def leads(self) -> bool:
        """Whether this daemon has the lease, and renewed it within the renew deadline. From any thread."""
        return self._lease.seconds_left() > 0

    def seconds_left(self) -> float:
        """Return the seconds until the lease is over unless it is renewed. From any thread."""
        return max(0.0, self._lease.seconds_left())

    @property
    def generation(self) -> str | None:
        """The id of this leadership; None if this daemon does not lead."""
        return self._lease.generation if self.leads else None

    @property
    def leader(self) -> str | None:
        """Host and process of the daemon that leads, as a standby saw it last; None: that is not known."""
        return self._lease.leader

    @property
    def differs(self) -> bool:
        """Whether this daemon stands by and the leader has loaded another configuration. From any thread."""
        return self._lease.differs

    @property
    def failure(self) -> str | None:
        """Why this daemon neither leads nor stands by, such as a silent database; None: it does. From any thread."""
        return None if self.leads else self._failure

    def check(self) -> None:
        """Log when this daemon begins or ceases to lead.

        Starts another thread if the current one has ended, or has hung in the database for the duration of a lease.
        """
        generation, began = self.generation, self._turn_began
        hangs = began is not None and self._clock.monotonic() - began > self.duration
        if hangs:
            self._failure = self._failure or f"the database has not answered for {self.duration:g} s"
        if (hangs and len(self._threads) <= _MAX_HANGING) or (self._threads and self._threads[-1].done()):
            with suppress(NoThread):  # the next call tries again
                self._start_thread()
        if self._led not in (None, generation):
            self.lost += 1
            self._logger.error(
                "lease_lost",
                error=f"the lease was not renewed for {self._renew_deadline:g} s, or another daemon has taken it; this "
                "daemon scales nothing until it leads again",
            )
        if generation not in (None, self._led):
            self._logger.info("lease_gained", generation=generation)
        if generation is None and self.leader not in (None, self._stands_by):
            self._logger.info("standing_by", leader=self.leader)
        self._stands_by = None if generation is not None else self.leader
        self._led = generation

    def resign(self, *, hanging: bool) -> None:
        """Lead no more, and free the lease. Raises StateError, also if a call of a cycle is `hanging`."""
        self._led = None
        not_freed = "a call hangs" if hanging else None
        try:
            self._lease.resign(hanging=hanging)
        except StateError as failure:  # it leads no more all the same
            not_freed = str(failure)
        if not_freed is not None:
            raise StateError(
                f"{not_freed}, so the lease was not freed; a standby leads within {2 * self.duration:g} s all the same"
            )
        self._logger.info("lease_resigned")

    def end(self, *, hanging: bool) -> None:
        """Stop to renew or watch the lease, and free it unless a call hangs. Raises StateError."""
        self._ended.set()
        self._wake.set()
        if not wait(self._threads[-1:], _END_SECONDS).not_done and not hanging:
            self._lease.resign()

    def _start_thread(self) -> None:
        """Start a thread that renews or watches the lease, in place of one that hangs or has ended. Raises NoThread."""
        before, self._current = self._current, object()
        self._turn_began = None
        try:
            thread = spawn("lease", partial(self._run, self._current))
        except NoThread:
            self._current = before
            raise
        self._threads = [*[each for each in self._threads if not each.done()], thread]

    def _run(self, me: object) -> None:
        while me is self._current and self._wait():  # a replaced thread must not take its successor's wake-up
            self._turn_began = self._clock.monotonic()
            before = self._lease.generation
            try:
                self._lease.turn()
            except Exception as error:  # noqa: BLE001 - not even a bug may end the thread, and with it the lease
                self._failed(message_of(error))
            else:
                self._failure = None
            if self._lease.generation != before:
                self._changed()
            if me is self._current:
                self._turn_began = None

    def _wait(self) -> bool:
        """Wait for the next turn. Returns False at the end."""
        self._wake.wait(self.period * (1 + _JITTER * random.random()))  # noqa: S311 - spreads requests
        self._wake.clear()
        return not self._ended.is_set()

    def _failed(self, error: str) -> None:
        if self._failure is None:
            self._logger.warning("lease_not_renewed", error=error)
        self._failure = error


def watch_leadership(registry: CollectorRegistry, leadership: Leadership) -> None:
    """Show whether a daemon that shares its state leads."""

    @show(registry)
    def collect() -> Iterator[Metric]:
        text = "1 while this daemon leads, 0 while it stands by and scales nothing."
        yield gauge("leader", text, leadership.leads)
        text = "How long the leader may continue without renewing its lease; 0 of a standby."
        yield gauge("lease_seconds_left", text, leadership.seconds_left())
        yield counter("lease_lost", "How often the lease was lost.", leadership.lost)
        text = "1 while the leader has loaded another configuration than this standby."
        yield gauge("configuration_differs", text, leadership.differs)
