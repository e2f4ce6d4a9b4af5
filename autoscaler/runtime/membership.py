"""Keeps this daemon a member of those that share its state: a thread renews its lease and shares the shards out.

Names, defaults and the jitter are those of Kubernetes' leader election (client-go, tools/leaderelection).
"""

import random
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future, wait
from contextlib import suppress
from functools import partial
from typing import Final

from autoscaler.clock import Clock
from autoscaler.errors import StateError, bug
from autoscaler.logger import Logger
from autoscaler.model import Autoscaler, ShardName
from autoscaler.record import Leases
from autoscaler.threads import NoThread, spawn

_JITTER: Final = 0.2
"""Share of a retry period by which a renewal is randomly delayed, so that daemons do not ask at the same time."""
_MAX_HANGING: Final = 3
"""Number of threads that hang in the database after which no further one is started."""
_POLL_SECONDS: Final = 0.1
_END_SECONDS: Final = 2.0
"""How long `end` waits for the thread. A thread that hangs in the database ends with the process."""


class Membership:
    """Used by the main thread; methods that say so can be called from any thread.

    The lease ends when no renewal has succeeded for `renew_deadline`, also while the thread hangs in the database.
    """

    def __init__(
        self, leases: Leases, clock: Clock, logger: Logger, changed: Callable[[], None] = lambda: None
    ) -> None:
        """`changed` is called, on the thread, when this daemon's shards have changed."""
        self._leases = leases
        self._renew_deadline = leases.options.renew_deadline.total_seconds()
        self.duration: Final = leases.options.duration.total_seconds()
        """Duration of a lease, in seconds."""
        self.period: Final = leases.options.retry_period.total_seconds()
        """Interval of renewals, in seconds."""
        self._clock = clock
        self._logger = logger
        self._changed = changed
        self._needs: Collection[ShardName] = ()
        self._of_this_host: Collection[str] = ()
        """Connections among them whose targets are on this machine."""
        self._loaded: tuple[Mapping[ShardName, Sequence[Autoscaler]], str] | None = None
        """A configuration that is not in the state yet, and its digest."""
        self._done = frozenset[ShardName]()
        """Shards that are not used here any more and not given back yet."""
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._ended = threading.Event()
        self._threads: list[Future[None]] = []
        """The last one is in use. Those before it hang in the database."""
        self._current: object = None
        """What the thread in use was started with."""
        self._turn_began: float | None = None
        self._failing = False
        self._members = 1
        """As last seen."""
        self._joined = False
        self._holds = False
        """The result of the last `check`."""
        self.lost: int = 0
        """How often the lease was lost since the start."""

    def configure(
        self,
        needs: Collection[ShardName],
        configured: Mapping[ShardName, Sequence[Autoscaler]],
        digest: str,
        of_this_host: Collection[str] = (),
    ) -> None:
        """Set the loaded configuration. `needs`: the shards that can be served here.

        `of_this_host`: connections among them whose targets are on this machine.
        """
        with self._lock:
            self._needs, self._loaded, self._of_this_host = needs, (configured, digest), of_this_host
        self._wake.set()

    @property
    def joined(self) -> bool:
        """Whether `join` has succeeded."""
        return self._joined

    def join(self) -> None:
        """Become a member, take free shards, and renew the lease from now on. Raises StateError and NoThread."""
        self._turn()
        self._joined = self._holds = True
        self.start()  # at once: what follows at the start of the daemon may take longer than the lease lasts

    def wait_until_alone(self) -> bool:
        """Wait for the leases of dead daemons to end. Returns whether no other daemon is left.

        Waits at most a little longer than a lease's duration. Raises StateError if the lease is lost meanwhile.
        """
        until = self._clock.monotonic() + self.duration + 2 * self.period
        while self._members > 1 and self._clock.monotonic() < until:
            time.sleep(_POLL_SECONDS)
        if not self.is_member:
            raise StateError("the lease is lost: the database does not answer; check the database")
        return self._members == 1

    def start(self) -> None:
        """Start a thread that renews the lease, in place of one that hangs or has ended. Raises NoThread."""
        before, self._current = self._current, object()
        self._turn_began = None
        try:
            thread = spawn("lease", partial(self._run, self._current))
        except NoThread:
            self._current = before
            raise
        self._threads = [*[each for each in self._threads if not each.done()], thread]

    @property
    def is_member(self) -> bool:
        """Whether the lease was renewed within the renew deadline. From any thread."""
        return self._leases.seconds_left() > 0

    def seconds_left(self) -> float:
        """Return the seconds until the lease is over unless it is renewed. From any thread."""
        return max(0.0, self._leases.seconds_left())

    @property
    def members(self) -> int:
        """Number of daemons as last seen, this one included; at least 1. From any thread.

        Stays without a lease, because the others still use their parts of what is divided.
        """
        return self._members

    @property
    def member(self) -> str | None:
        """The id of this member; None if it is not a member now."""
        return self._leases.member

    def usable(self) -> Collection[ShardName]:
        """Return the shards that can be served here: those held, without those to be given back."""
        if not self.is_member:
            return frozenset()
        with self._lock:
            done = self._done
        leaving = self._leases.excess | done  # read before `held`, see `_turn`
        return self._leases.held - leaving

    def excess(self) -> Collection[ShardName]:
        """Return the shards to be given back as soon as they are not used here."""
        return self._leases.excess if self.is_member else frozenset()

    def held(self) -> Collection[ShardName]:
        """Return all held shards, those to be given back included. From any thread."""
        return self._leases.held if self.is_member else frozenset()

    def give_back(self, done: Collection[ShardName]) -> None:
        """Give back these shards, which are not used here any more."""
        with self._lock:
            changed = not self._done.issuperset(done)
            self._done |= frozenset(done)
        if changed:
            self._wake.set()

    def check(self) -> bool:
        """Return whether this daemon has its lease. Logs when the lease is lost or gained.

        Starts another thread if the current one has ended, or has hung in the database for the duration of a lease.
        """
        holds, began = self.is_member, self._turn_began
        hangs = began is not None and self._clock.monotonic() - began > self.duration
        if (hangs and len(self._threads) <= _MAX_HANGING) or (self._threads and self._threads[-1].done()):
            with suppress(NoThread):  # the next call tries again
                self.start()
        if self._holds and not holds:
            self.lost += 1
            self._logger.error(
                "lease_lost",
                error=f"the lease was not renewed for {self._renew_deadline:g} s, or another daemon ended it; this "
                "daemon scales nothing until the database answers again",
            )
        if holds and not self._holds:
            self._logger.info("lease_gained", member=self._leases.member)
        self._holds = holds
        return holds

    def end(self, hanging: Collection[ShardName]) -> None:
        """Give everything back except `hanging`, which stays until the lease ends. Raises StateError."""
        self._ended.set()
        self._wake.set()
        if wait(self._threads[-1:], _END_SECONDS).not_done:
            return
        if self._leases.member is None:
            return
        if not hanging:
            self._leases.leave()
            return
        self._leases.share(hanging, self._leases.held.difference(hanging), self._of_this_host)

    def _run(self, me: object) -> None:
        while me is self._current and self._wait():  # a replaced thread must not take its successor's wake-up
            self._turn_began = self._clock.monotonic()
            try:
                self._turn()
            except StateError as failure:
                self._failed(str(failure))
            except Exception as error:  # noqa: BLE001 - a bug must not end the thread, and with it the lease
                self._failed(bug(error))
            else:
                self._failing = False
            if me is self._current:
                self._turn_began = None

    def _wait(self) -> bool:
        """Wait for the next turn. Returns False at the end."""
        self._wake.wait(self.period * (1 + _JITTER * random.random()))  # noqa: S311 - spreads requests
        self._wake.clear()
        return not self._ended.is_set()

    def _failed(self, error: str) -> None:
        if not self._failing:
            self._logger.warning("lease_not_renewed", error=error)
        self._failing = True

    def _turn(self) -> None:
        """Renew the lease and share the shards out. Raises StateError.

        A shard leaves `_done` only after it has left `held`. So `usable`, which reads `_done` first, never returns a
        shard that another daemon may hold.
        """
        leases = self._leases
        before = leases.member, leases.held, leases.excess
        leases.renew()
        with self._lock:
            needs, done, loaded, of_this_host = self._needs, self._done, self._loaded, self._of_this_host
            self._loaded = None
        if loaded is not None:
            leases.follow(*loaded)  # if this fails, `share` tries again
        leases.share(needs, done, of_this_host)
        self._members = leases.members or self._members  # 0 while another member shares
        with self._lock:
            self._done -= done
        if (leases.member, leases.held, leases.excess) != before:
            self._changed()
