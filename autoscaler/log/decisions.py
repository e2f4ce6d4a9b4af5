"""Selects the decisions that are logged.

With thousands of autoscalers nearly every decision equals the previous one. A line for each would be most of the
machine's log, and journald drops lines that come too fast, without saying which.
"""

import threading
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final
from zlib import crc32

from autoscaler.bucket import TokenBucket
from autoscaler.changed import differs
from autoscaler.clock import Clock
from autoscaler.isolation import each
from autoscaler.log import line
from autoscaler.logger import Logger
from autoscaler.model import Decision
from autoscaler.view.verdict import headline

REPEAT_SECONDS: Final = 600.0
"""The interval at which an unchanged decision is logged again."""
MAX_NEWS: Final = 1_000
"""The most lines of first decisions and changes in a burst, and per minute: a tenth of journald's limit."""
MAX_FAILURES: Final = 100
"""The same for unchanged failures: at most some 100 MB a day."""
_MINUTE: Final = 60.0
_MAX_NAMES: Final = 5
_MAX_MESSAGES: Final = 3
SUMMARY = "decisions"


class _Kind(Enum):
    """The reason why a decision is logged."""

    WRITTEN = auto()
    NEWS = auto()
    """It is the first one, or differs from the previous one."""
    DUE = auto()
    """It is unchanged, and its line is due again."""
    FAILURE = auto()
    """It is an unchanged failure."""
    NOTHING = auto()


@dataclass(slots=True)
class _Known:
    """What the log knows of one autoscaler."""

    latest: Decision
    due: float
    """When an unchanged decision is logged again, on the monotonic clock."""
    repeated: int = 0
    """Unchanged decisions since the last line."""


class DecisionLog:
    """Logs decisions. Each shard's thread calls `cycle_ended` for its own autoscalers, the main thread all the rest."""

    def __init__(self, logger: Logger, clock: Clock) -> None:
        """Logs only changes until `every` is set."""
        self._logger = logger
        self._clock = clock
        self._known: dict[str, _Known] = {}
        self._allowances = {
            _Kind.NEWS: TokenBucket(MAX_NEWS, _MINUTE / MAX_NEWS),
            _Kind.FAILURE: TokenBucket(MAX_FAILURES, _MINUTE / MAX_FAILURES),
        }
        self._lock = threading.Lock()
        """Protects the allowances."""
        self.every = False
        """Whether each decision is logged."""

    def follow(self, names: Collection[str]) -> None:
        """Forget all autoscalers but these."""
        for name in self._known.keys() - names:
            self._known.pop(name, None)

    def cycle_ended(self, decisions: Sequence[Decision], odd: dict[str, Exception]) -> None:
        """Log the decisions of one connection's cycle. `odd` receives the exceptions, by the autoscaler's name."""
        now = self._clock.monotonic()
        judged = each(decisions, lambda made: (made, self._judge(made, now)), odd)
        if self.every:
            each([made for made, _ in judged], lambda made: self._write(made, now), odd)
            return
        told = [(made, kind) for made, kind in judged if kind is not _Kind.NOTHING]
        often = Counter[_Kind](kind for _, kind in told)
        with self._lock:
            crowded = [kind for kind, allowance in self._allowances.items() if not allowance.take(now, often[kind])]
        each([made for made, kind in told if kind not in crowded], lambda made: self._write(made, now), odd)
        if rest := [made for made, kind in told if kind in crowded]:
            self._summarize(rest, odd)

    def _judge(self, made: Decision, now: float) -> _Kind:
        known = self._known.get(made.name)
        if known is None:
            self._known[made.name] = _Known(made, _next_due(made.name, now))
            return _Kind.WRITTEN if made.written is not None else _Kind.NEWS
        before, known.latest = known.latest, made
        if made.written is not None or differs(before, made):
            known.repeated = 0
            return _Kind.WRITTEN if made.written is not None else _Kind.NEWS
        known.repeated += 1
        if now >= known.due:
            return _Kind.DUE
        return _Kind.FAILURE if made.error is not None else _Kind.NOTHING

    def _write(self, made: Decision, now: float) -> None:
        known = self._known.get(made.name)
        line.log(self._logger, made, None if known is None or self.every else known.repeated or None)
        if known is not None:
            known.repeated = 0
            if now >= known.due:
                known.due = _next_due(made.name, now)

    def _summarize(self, decisions: Sequence[Decision], odd: dict[str, Exception]) -> None:
        """Log one line about many decisions."""
        told = each(decisions, lambda made: (headline(made), made.error is not None), odd)
        failures = sum(has_failed for _, has_failed in told)
        known = [(condition, has_failed) for condition, has_failed in told if condition is not None]
        messages = Counter([condition.message for condition, has_failed in known if has_failed])
        (self._logger.warning if failures else self._logger.info)(
            SUMMARY,
            adapter=decisions[0].target.adapter,
            autoscalers=len(told),
            failed=failures,
            reasons=dict(Counter([condition.reason for condition, _ in known]).most_common()),
            messages=[message for message, _ in messages.most_common(_MAX_MESSAGES)],
            names=[made.name for made in decisions[:_MAX_NAMES]],
        )


def _next_due(name: str, now: float) -> float:
    """Return the autoscaler's time in the next ten minutes. A hash of its name spreads many autoscalers."""
    moment = crc32(name.encode()) / 2**32 * REPEAT_SECONDS
    return now + ((moment - now) % REPEAT_SECONDS or REPEAT_SECONDS)
