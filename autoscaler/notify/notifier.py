"""Sends what waits in the outbox, in a thread of its own: no receiver delays a cycle, a reload or the main thread."""

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Final

from autoscaler.clock import Clock
from autoscaler.config.settings import Webhook
from autoscaler.errors import message_of
from autoscaler.logger import Logger
from autoscaler.model import Notice, NoticeType
from autoscaler.notify.webhook import Result, post
from autoscaler.record.outbox import Outbox, Waiting
from autoscaler.text import listed
from autoscaler.threads import NoThread, spawn

_MAX_PAUSE: Final = 60.0
"""Seconds between tries. The pause begins with 1 s, and doubles with each failure."""
_NAMED: Final = 3
"""Problems of a configuration that a notice lists; it counts the others."""
_MAX_UNSAVED: Final = 100


class Notifier:
    """Used by the main thread."""

    def __init__(
        self,
        outbox: Outbox,
        clock: Clock,
        logger: Logger,
        count: Callable[[str, int], None],
        host: str,
        leads: Callable[[], bool] = lambda: True,
    ) -> None:
        """`count` is called with a result (one of Result, or `dropped`) and the number of notices that had it.

        `leads` returns whether this daemon leads: a standby adds its own notices, which the leader sends.
        """
        self._leads = leads
        self._outbox = outbox
        self._clock = clock
        self._logger = logger
        self._count = count
        self._host = host
        self._webhook: Webhook | None = None
        self._sending: Future[None] | None = None
        self._due = 0.0
        """On the monotonic clock."""
        self._failures = 0
        """How many tries have failed since the last success."""
        self._unsaved: list[Notice] = []
        """Notices of this daemon that are not in the outbox yet."""

    def follow(self, webhook: Webhook | None) -> None:
        """Set the receiver of notices. None: the daemon sends none, and decisions add none to the outbox."""
        if webhook == self._webhook:
            return
        self._webhook = webhook
        self._outbox.open = webhook is not None
        self._due, self._failures = 0.0, 0

    def reload_refused(self, problems: Sequence[str]) -> None:
        """Add a notice that this daemon has refused a configuration, unless too many wait."""
        if self._webhook is not None and len(self._unsaved) < _MAX_UNSAVED:
            message = listed([*problems[:_NAMED]], _NAMED, max(0, len(problems) - _NAMED))
            self._unsaved.append(Notice(NoticeType.RELOAD_REFUSED, self._host, message))

    def turn(self) -> None:
        """Begin to send what waits, if it is due and nothing is being sent. Called about every second."""
        webhook = self._webhook
        if webhook is None or self._clock.monotonic() < self._due:
            return
        if self._sending is not None:
            if not self._sending.done():
                return
            self._take_over(self._sending)
        try:
            self._sending = spawn("notices", lambda: self._send_all(webhook))
        except NoThread as failure:
            self._logger.error("notices_failed", error=str(failure))  # noqa: TRY400 - an expected failure, not a bug

    def _take_over(self, sent: "Future[None]") -> None:
        self._sending = None
        try:
            sent.result()
        except Exception as error:  # noqa: BLE001 - not even a bug here may end what runs
            self._failed(message_of(error))

    def _send_all(self, webhook: Webhook) -> None:
        """In the notifier's thread. Ends with the outbox's last notice, or with the first that fails."""
        sent = True
        while sent and self._webhook is webhook:
            self._tidy()  # before each notice: a receiver can be so slow that some always wait
            sent = self._leads() and self._outbox.send_oldest(lambda one: self._send(webhook, one))

    def _tidy(self) -> None:
        """Add this daemon's own notices to the outbox, and delete what is beyond its limits."""
        unsaved = self._unsaved[:]
        if unsaved:
            self._outbox.add(unsaved, self._clock.moment())
            del self._unsaved[: len(unsaved)]
        if dropped := self._outbox.trim(self._clock.moment()):
            self._count("dropped", dropped)
            self._logger.error("notices_dropped", notices=dropped, error="the outbox was full, or they were a day old")

    def _send(self, webhook: Webhook, waiting: Waiting) -> bool:
        """Send one notice. Returns whether it is done with."""
        answer = post(webhook, waiting.id, waiting.at, waiting.notice, self._clock.now())
        self._count(answer.result, 1)
        if answer.result is Result.FAILED:
            self._failed(f"the receiver of notices: {answer.detail}")
            return False
        if answer.result is Result.REFUSED:
            error = f"the receiver of notices {answer.detail}; this notice is not sent again"
            self._logger.error("notice_refused", id=waiting.id, type=waiting.notice.type, error=error)
        self._failures = 0
        return True

    def _failed(self, error: str) -> None:
        pause = min(_MAX_PAUSE, 2.0**self._failures)
        self._failures = min(self._failures + 1, 10)
        self._due = self._clock.monotonic() + pause
        self._logger.error("notices_failed", error=f"{error}; the next try is in {pause:.0f} s")
