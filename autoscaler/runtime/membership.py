"""This daemon among those that share its state: a thread that renews its lease and follows which shards are its own.

Names, defaults and the jitter are those of Kubernetes' leader election (client-go, tools/leaderelection).
"""

import random
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final

from autoscaler.clock import Clock
from autoscaler.errors import StateError, bug
from autoscaler.logger import Logger
from autoscaler.model import Autoscaler, ShardName
from autoscaler.record import Leases

_JITTER: Final = 0.2
"""Share of a retry period by which a turn may come later, so that many daemons do not ask at once."""
_MOST_HANGING: Final = 3
"""Threads that may hang in the database before no further one is begun."""
_END_SECONDS: Final = 2.0
"""How long the end of the thread is waited for; one that hangs in a call of the database ends with the process."""


class Membership:
    """The thread is its own; the rest is for the main thread, and what says so for any.

    It gives up what it holds as soon as no renewal has succeeded for `renew_deadline`, whatever its thread does: one
    that hangs in a call of the database is no reason to believe that the lease still stands.
    """

    def __init__(
        self, leases: Leases, clock: Clock, logger: Logger, changed: Callable[[], None] = lambda: None
    ) -> None:
        """`changed` is called, on the thread, when other shards are held or to be given back."""
        self._leases = leases
        self._renew_deadline = leases.options.renew_deadline.total_seconds()
        self.duration: Final = leases.options.duration.total_seconds()
        """Of a lease, in seconds."""
        self.period: Final = leases.options.retry_period.total_seconds()
        """How often the lease is renewed, in seconds."""
        self._clock = clock
        self._logger = logger
        self._changed = changed
        self._needs: Collection[ShardName] = ()
        self._of_this_host: Collection[str] = ()
        """Connections among them whose targets are on this machine."""
        self._loaded: tuple[Mapping[ShardName, Sequence[Autoscaler]], str] | None = None
        """A configuration that the state does not know of yet, and its digest."""
        self._done = frozenset[ShardName]()
        """What nothing here uses any more, and the state does not know of yet."""
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._ended = threading.Event()
        self._threads: list[threading.Thread] = []
        """The last is the one that counts; those before it hang in a call of the database."""
        self._turn_began: float | None = None
        self._failing = False
        self._members = 1
        """As last seen."""
        self._joined = False
        self._holds = False
        """Whether it was found holding a lease the last time."""
        self.lost: int = 0
        """How often the lease was lost, since the start."""

    def configure(
        self,
        needs: Collection[ShardName],
        configured: Mapping[ShardName, Sequence[Autoscaler]],
        digest: str,
        of_this_host: Collection[str] = (),
    ) -> None:
        """This configuration is loaded. `needs`: the shards that may be served here.

        `of_this_host`: connections among them whose targets are on this machine.
        """
        with self._lock:
            self._needs, self._loaded, self._of_this_host = needs, (configured, digest), of_this_host
        self._wake.set()

    @property
    def joined(self) -> bool:
        """Whether it has ever been a member."""
        return self._joined

    def join(self) -> None:
        """Become a member, and take shards that are free. Raises StateError."""
        self._turn()
        self._joined = self._holds = True

    def wait_until_alone(self) -> bool:
        """Let the leases of daemons that are gone end. Returns whether no other daemon is there then.

        Before `start`. Takes a little more than a lease's duration where others are there. Raises StateError.
        """
        until = self._clock.monotonic() + self.duration + 2 * self.period
        while self._members > 1 and self._clock.monotonic() < until:
            time.sleep(self.period)
            self._turn()
        return self._members == 1

    def start(self) -> None:
        """Go on with it in a thread."""
        thread = threading.Thread(target=self._run, name="lease", daemon=True)
        self._threads = [*[each for each in self._threads if each.is_alive()], thread]
        self._turn_began = None
        thread.start()

    @property
    def is_member(self) -> bool:
        """Whether the lease stands: it was renewed within the renew deadline. From any thread."""
        return self._leases.seconds_left() > 0

    def seconds_left(self) -> float:
        """Until nothing may be begun any more unless the lease is renewed. From any thread."""
        return max(0.0, self._leases.seconds_left())

    @property
    def members(self) -> int:
        """How many daemons there are, itself included, as this one last saw; at least 1. From any thread.

        Without a lease, too: the others still divide what is shared, and a cycle that ends then must not take it all.
        """
        return self._members

    @property
    def member(self) -> str | None:
        """Its id; None: it is none now."""
        return self._leases.member

    def usable(self) -> Collection[ShardName]:
        """The shards that may be served here: without those that are to be given back."""
        if not self.is_member:
            return frozenset()
        with self._lock:
            done = self._done
        leaving = self._leases.excess | done  # read before `held`, see `_turn`
        return self._leases.held - leaving

    def excess(self) -> Collection[ShardName]:
        """The shards that are to be given back as soon as nothing here uses them."""
        return self._leases.excess if self.is_member else frozenset()

    def held(self) -> Collection[ShardName]:
        """All that is held, what is to be given back included. From any thread."""
        return self._leases.held if self.is_member else frozenset()

    def give_back(self, done: Collection[ShardName]) -> None:
        """Nothing here uses these any more."""
        with self._lock:
            changed = not self._done.issuperset(done)
            self._done |= frozenset(done)
        if changed:
            self._wake.set()

    def check(self) -> bool:
        """Whether the lease stands. Once each time it is said in the log that it was lost.

        Where the thread has hung in the database for as long as a lease lasts, another one takes its place.
        """
        holds, began = self.is_member, self._turn_began
        if (
            began is not None
            and self._clock.monotonic() - began > self.duration
            and len(self._threads) <= _MOST_HANGING
        ):
            self.start()
        if self._holds and not holds:
            self.lost += 1
            self._logger.error(
                "lease_lost",
                error=f"the lease could not be renewed for {self._renew_deadline:g} s, or was taken away; nothing is "
                "scaled here until the database answers again",
            )
        if holds and not self._holds:
            self._logger.info("lease_gained", member=self._leases.member)
        self._holds = holds
        return holds

    def end(self, hanging: Collection[ShardName]) -> None:
        """Give everything back but `hanging`: what a call still uses stays, until the lease ends. Raises StateError."""
        self._ended.set()
        self._wake.set()
        for thread in self._threads[-1:]:
            thread.join(_END_SECONDS)
            if thread.is_alive():
                return
        if self._leases.member is None:
            return
        if not hanging:
            self._leases.leave()
            return
        self._leases.share(hanging, self._leases.held.difference(hanging), self._of_this_host)

    def _run(self) -> None:
        me = threading.current_thread()
        while me is self._threads[-1] and self._wait():  # one that was replaced takes no wake-up of its successor's
            self._turn_began = self._clock.monotonic()
            try:
                self._turn()
            except StateError as failure:
                self._failed(str(failure))
            except Exception as error:  # noqa: BLE001 - a bug must not end the thread: the lease would run out
                self._failed(bug(error))
            else:
                self._failing = False
            if me is self._threads[-1]:
                self._turn_began = None

    def _wait(self) -> bool:
        """Until the next turn. Returns whether there is one."""
        self._wake.wait(self.period * (1 + _JITTER * random.random()))  # noqa: S311 - spreads requests
        self._wake.clear()
        return not self._ended.is_set()

    def _failed(self, error: str) -> None:
        if not self._failing:
            self._logger.warning("lease_not_renewed", error=error)
        self._failing = True

    def _turn(self) -> None:
        """Renew the lease, and share the shards out. Raises StateError.

        What was given back is forgotten only after `held` has lost it: whoever reads `_done` first and `held` after it
        never takes a shard for usable that another daemon may have.
        """
        leases = self._leases
        before = leases.member, leases.held, leases.excess
        leases.renew()
        with self._lock:
            needs, done, loaded, of_this_host = self._needs, self._done, self._loaded, self._of_this_host
            self._loaded = None
        if loaded is not None:
            leases.follow(*loaded)  # what fails there is tried again by `share`
        leases.share(needs, done, of_this_host)
        self._members = leases.members or self._members  # not known while another one shares
        with self._lock:
            self._done -= done
        if (leases.member, leases.held, leases.excess) != before:
            self._changed()
