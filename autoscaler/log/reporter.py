"""Logs decisions, each warning once, and the daemon's events; makes the status for systemd."""

from collections.abc import Collection, Mapping, Sequence
from typing import Final

from autoscaler.clock import Clock
from autoscaler.cycle import CycleResult
from autoscaler.errors import Problem, bug
from autoscaler.isolation import each
from autoscaler.log.decisions import DecisionLog
from autoscaler.logger import Logger
from autoscaler.model import Decision, Reason, ShardName
from autoscaler.record.values import Cut
from autoscaler.rules.manual import OVERRIDE_ENDED, PAUSE_ENDED
from autoscaler.text import listed

_NAMED_IN_STATUS: Final = 3
_LOGGED_DOUBTFUL: Final = 20
"""`check` shows them all."""
_ENDED: Final[Mapping[str, str]] = {PAUSE_ENDED: "pause_ended", OVERRIDE_ENDED: "override_ended"}
"""Reasons of events that are logged, as `paused`, `overridden` and `resumed` are -> the log's event."""


class Reporter:
    """Logs the daemon's work. Shards' threads call `cycle_ended`; the main thread calls the rest."""

    def __init__(self, logger: Logger, clock: Clock) -> None:
        """Logs only changed decisions until `log_every_decision` is called."""
        self._logger = logger
        self._decisions = DecisionLog(logger, clock)
        self._failed: set[str] = set()
        """Names of the autoscalers whose last cycle failed. They are few, and the main thread reads them often."""
        self._hung: tuple[ShardName, ...] = ()
        self._cut: frozenset[str] = frozenset()
        self._refused: Mapping[str, Sequence[Problem]] = {}

    @property
    def failed_names(self) -> Sequence[str]:
        """Return the names of the autoscalers whose last cycle failed, sorted."""
        return sorted(self._failed.copy())

    def cycle_ended(self, batch: CycleResult) -> None:
        """Log decisions, and each new warning of a target."""
        odd = dict[str, Exception]()
        self._decisions.cycle_ended(batch.decisions, odd)
        each(batch.decisions, self._decided, odd)
        for name, error in odd.items():
            self._logger.error("report_failed", autoscaler=name, error=bug(error))
        self._failed.update(batch.broken, odd)
        self._logger.debug(
            "cycle_ended",
            **batch.shard.labels(),
            autoscalers=len(batch.decisions) + len(batch.broken),
            seconds=round(batch.seconds, 4),
            observing_seconds=round(batch.observing_seconds, 4),
            late_seconds=round(batch.late_seconds, 4),
        )

    def _decided(self, decision: Decision) -> None:
        for event in decision.events:
            if event.reason == Reason.TARGET_WARNING:
                self._logger.warning(
                    "target_warning", autoscaler=decision.name, target=str(decision.target), message=event.message
                )
            if event.reason in _ENDED:
                self._logger.info(_ENDED[event.reason], autoscaler=decision.name, message=event.message)
        if decision.error is not None:
            self._failed.add(decision.name)
        else:
            self._failed.discard(decision.name)

    def doubtful(self, event: str, problems: Sequence[Problem]) -> None:
        """Log the first of a configuration's expressions that may never give a value."""
        for problem in problems[:_LOGGED_DOUBTFUL]:
            self._logger.warning(event, message=str(problem), expressions=len(problems))

    def refused(self, problems: Mapping[str, Sequence[Problem]]) -> None:
        """Log the first of what has become wrong in each team's folder; `check` shows all. `problems`: by team."""
        for team, now in problems.items():
            before = frozenset(self._refused.get(team, ()))
            new = next((one for one in now if one not in before), None)
            if new is not None:
                self._logger.warning("team_file_refused", team=team, error=str(new), problems=len(now))
        self._refused = problems

    def log_every_decision(self, every: bool) -> None:
        """Set whether each decision is logged, or only changes."""
        self._decisions.every = every

    def follow(self, names: Collection[str]) -> None:
        """Forget autoscalers that are not among these."""
        self._decisions.follow(names)
        self._failed.intersection_update(names)

    def shards_hung(self, hung: tuple[ShardName, ...]) -> None:
        """Log shards whose cycles have begun to hang, and those that have recovered."""
        for name in hung:
            if name not in self._hung:
                self._logger.error("shard_hung", **name.labels(), error="its cycle is past its deadline; others go on")
        for name in self._hung:
            if name not in hung:
                self._logger.info("shard_recovered", **name.labels())
        self._hung = hung

    def state_cut(self, cuts: Collection[Cut]) -> None:
        """Log once for each tier that the state was cut."""
        for cut in cuts:
            if cut.tier not in self._cut:
                self._logger.warning(
                    "state_cut",
                    tier=cut.tier,
                    until=cut.until.isoformat(),
                    error="the state had grown to state.maxSize, so the oldest of it was deleted; raise it, or shorten "
                    "state.detail or state.retention",
                )
        self._cut = frozenset(cut.tier for cut in cuts)

    def status(self, text: str) -> str:
        """Return the text for `systemctl status`, with the failing autoscalers and hanging shards."""
        failed_now = self.failed_names
        if failed_now:
            text += f"; failing: {listed(failed_now, _NAMED_IN_STATUS)}"
        return text + (f"; hanging: {', '.join(map(str, self._hung))}" if self._hung else "")
