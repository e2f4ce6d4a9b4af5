"""The sizes written last. AWS's reads lag its writes: the adapter reports an accepted size until AWS shows it.

When a target still reports a size from before our write, no other client has changed it. When it reports a third size,
one has. The writes are kept in the adapter's memory, so a restart forgets neither a size that no read shows yet nor an
instance that may be terminating. A size is kept only once AWS has answered. While a request is in progress no earlier
size is kept: it would hide a size whose answer was lost.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final

import msgspec

from adapters.aws.errors import OutcomeUnknown
from autoscaler.target import (
    AdapterMemory,
    Clock,
    Logger,
    Moment,
    ScaleChange,
    StateError,
    TargetRef,
    TargetUnavailable,
    Written,
)

BELIEVED_FOR: Final = timedelta(seconds=60)
"""After this time the adapter reports AWS's size."""


@dataclass(frozen=True, slots=True)
class Write:
    """The latest changes of a target's size."""

    change: str
    """Id of the decision."""
    passed: tuple[int, ...]
    """Sizes that the target had before and in between; empty: AWS's size is reported."""
    size: int
    """The size that AWS accepted last."""
    at: datetime
    ended: tuple[str, ...] = ()
    """Instances that were, or may have been, terminated by name."""
    unanswered: bool = False
    """True when no answer came for the last of `ended`."""
    boot: str = ""
    """The machine's boot from which `elapsed` counts."""
    elapsed: float = 0.0
    """Seconds from that boot to `at`, which the wall clock's changes do not affect."""

    def lasts(self, moment: Moment) -> bool:
        """Return whether a read may not show the write yet."""
        if moment.boot == self.boot:
            return moment.elapsed - timedelta(seconds=self.elapsed) < BELIEVED_FOR
        return abs(moment.now - self.at) < BELIEVED_FOR


class Writes:
    """The writes by the target's name. Several threads may use it, one at a time for each target."""

    def __init__(self, connection: str, memory: AdapterMemory, clock: Clock, logger: Logger) -> None:
        """`connection`: the adapter's name in the configuration."""
        self._connection = connection
        self._memory = memory
        self._clock = clock
        self._logger = logger
        self._lock = threading.Lock()
        """Guards the attributes below. It is not held during a read of the memory: `size` must not wait for a commit.
        """
        self._loading = threading.Lock()
        self._writes: dict[str, Write] = {}
        self._loaded = False
        self._previous: dict[str, Write | None] = {}
        """Target -> the write that its last termination replaced."""
        self._believed = set[str]()
        """Targets of which the state may have an accepted size that applies after a restart."""

    def load(self) -> None:
        """Load the writes from before a restart, once. Raises TargetUnavailable."""
        with self._loading:
            if self._loaded:
                return
            with self._lock:
                before = dict(self._writes)
            try:
                remembered = self._memory.load()
            except StateError as error:
                raise TargetUnavailable(
                    f"the recent writes cannot be read from the state, so the sizes are unknown: {error}"
                ) from None
            with self._lock:
                for target, values in remembered.items():
                    if self._writes.get(target.name) is before.get(target.name):  # else a write ended since
                        self._recall(target.name, values)
            self._loaded = True

    def _recall(self, name: str, values: Any) -> None:
        try:
            write, known = msgspec.convert(values, Write), self._writes.get(name)
            if write.passed:
                self._believed.add(name)
            if known is None or known.change != write.change:  # else it may be confirmed by now
                self._writes[name] = write
        except msgspec.ValidationError as error:
            self._logger.warning("aws_write_forgotten", target=name, error=type(error).__name__)

    def size(self, name: str, reported: int) -> int:
        """Return the target's size when AWS reports `reported`."""
        moment = self._clock.moment()
        with self._lock:
            write = self._writes.get(name)
            if write is None or not write.passed:
                return reported
            if write.lasts(moment) and reported in write.passed:
                return write.size
            self._writes[name] = replace(write, passed=())  # confirmed, or changed by another client
            return reported

    def has(self, name: str, change: str) -> bool:
        """Return whether this decision was written, or its write begun, recently."""
        write = self._lasting(name)
        return write is not None and write.change == change

    def ended(self, name: str) -> frozenset[str]:
        """Return instances that were, or may have been, terminated recently. A read may still show them in service."""
        write = self._lasting(name)
        return frozenset() if write is None else frozenset(write.ended)

    def unanswered(self, name: str) -> str | None:
        """Return the instance whose recent termination is unconfirmed, or None."""
        write = self._lasting(name)
        return write.ended[-1] if write is not None and write.unanswered else None

    def ending(self, name: str, change: str, victim: str, size: int) -> None:
        """Record that an instance of a group of this size is about to be terminated.

        Raises StateError when the record fails; the request must then not be sent.
        """
        moment = self._clock.moment()
        before = self._lasting(name) or Write(change, (), size, moment.now)
        with self._lock:
            self._previous[name] = self._writes.get(name)
            self._writes[name] = _timed(
                replace(before, change=change, ended=(*before.ended, victim), unanswered=True), moment
            )
        try:
            self._save(name, believed=False)
        except StateError:
            self._restore(name)
            raise

    def set_size(self, name: str, change: ScaleChange, before: int, ask: Callable[[], object]) -> Written:
        """Call `ask`, which requests a size, and note its outcome. Raises TargetError."""
        try:
            self.asking(name)
        except StateError as error:
            raise TargetUnavailable(
                f"{name}: the request for size {change.size} cannot be recorded in the state, so it is not sent: "
                f"{error}"
            ) from None
        try:
            ask()
        except OutcomeUnknown:
            self.unknown(name)
            raise
        self.accepted(name, change.id, before, change.size)
        return Written(change.size)

    def asking(self, name: str) -> None:
        """Record that a size is about to be requested, so that no earlier size is kept.

        An old one counts, too: by the clock of another host, which may take over, it is perhaps young. Raises
        StateError when the record fails; the request must then not be sent.
        """
        with self._lock:
            believed = name in self._believed
        if believed:
            self._save(name, believed=False)

    def unknown(self, name: str) -> None:
        """Note that the outcome of the last request is unknown: AWS's size is reported."""
        with self._lock:
            if (write := self._writes.get(name)) is not None:
                self._writes[name] = replace(write, passed=())

    def forget(self, name: str) -> None:
        """Forget the last termination, which was certainly not performed, and restore the write before it."""
        self._restore(name)
        self._try_to_save(name)

    def accepted(self, name: str, change: str, before: int, size: int, *, ended: bool = False) -> None:
        """Note that AWS changed the target's size from `before` to `size`; `ended`: by the termination noted last."""
        moment = self._clock.moment()
        known = self._lasting(name) or Write(change, (), before, moment.now)
        with self._lock:
            self._previous.pop(name, None)
            passed, unanswered = tuple(dict.fromkeys((*known.passed, before))), known.unanswered and not ended
            self._writes[name] = _timed(
                replace(known, change=change, passed=passed, size=size, unanswered=unanswered), moment
            )
        self._try_to_save(name)

    def _lasting(self, name: str) -> Write | None:
        with self._lock:
            write = self._writes.get(name)
        return write if write is not None and write.lasts(self._clock.moment()) else None

    def _restore(self, name: str) -> None:
        with self._lock:
            previous = self._previous.pop(name, None)
            if previous is None:
                self._writes.pop(name, None)
            else:
                self._writes[name] = previous

    def _try_to_save(self, name: str) -> None:
        """Save, and log a failure. After a minute AWS's own size applies in any case."""
        try:
            self._save(name)
        except StateError as error:
            self._logger.warning("aws_write_not_kept", target=name, error=str(error))

    def _save(self, name: str, *, believed: bool = True) -> None:
        """Save the write. `believed`: whether its size applies after a restart."""
        with self._lock:
            write = self._writes.get(name)
            if write is not None and not believed:
                write = replace(write, passed=())
            if write is not None and write.passed:
                self._believed.add(name)
        self._memory.save(TargetRef(self._connection, name), None if write is None else msgspec.to_builtins(write))
        if write is None or not write.passed:
            with self._lock:
                self._believed.discard(name)


def _timed(write: Write, moment: Moment) -> Write:
    return replace(write, at=moment.now, boot=moment.boot, elapsed=moment.elapsed.total_seconds())
