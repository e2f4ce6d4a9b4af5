"""The drain of one instance, in a thread of its own.

It makes attempts until one succeeds or the drain's timeout passes. Then it lets the instance go.
"""

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from msgspec.structs import replace

from autoscaler.clock import Clock
from autoscaler.drain import command, http, nodes
from autoscaler.drain.attempt import ActionContext, Attempt
from autoscaler.errors import TargetError, named
from autoscaler.logger import Logger
from autoscaler.model import AwaitingDrain, Call, DrainOutcome, DrainReport, TargetRef
from autoscaler.rules.drain import DrainAction, DrainRule
from autoscaler.target import Adapter
from autoscaler.target.answers import checked_error

CALL_SECONDS: Final = 10.0
"""Limit of one call of an adapter."""
PAUSES: Final = {DrainAction.NOMAD: 5.0, DrainAction.HTTP: 2.0, DrainAction.COMMAND: 10.0}
"""Seconds from one attempt of the action, or to let the instance go, to the next."""
STEP_SECONDS: Final = 1.0
"""Longest pause without a look whether the drain goes on."""
_HEARTBEAT_SHARE: Final = 1 / 3
"""Share of a heartbeat after which the next one is sent, so that two may fail."""


@dataclass(frozen=True, slots=True)
class Tools:
    """What all drains of a shard use."""

    adapter: Adapter
    nodes: Mapping[str, Adapter]
    """The adapters whose back ends have nodes, by connection."""
    clock: Clock
    logger: Logger
    is_current: Callable[[], bool]
    """Whether the shard may still act; callable from any thread."""
    local: bool
    """Whether the instances are processes of this machine."""
    pauses: Mapping[DrainAction, float]


class Job:
    """One drain. `run` has a thread of its own; the shard's thread calls `follow`, `wait_for_turn` and `stop`."""

    def __init__(self, tools: Tools, target: TargetRef, waiting: AwaitingDrain, rule: DrainRule, until: float) -> None:
        """`until`: the drain's timeout, on the monotonic clock."""
        self.target: Final = target
        self.waiting, self.rule, self.until = waiting, rule, until
        self.report = DrainReport(waiting.instance)
        """Replaced as a whole."""
        self.begun = False
        """Whether it has its thread."""
        self.over = threading.Event()
        """Set when `run` has ended."""
        self._tools = tools
        self._stopped = threading.Event()
        self._extended = tools.clock.monotonic() - (waiting.heartbeat.total_seconds() if waiting.heartbeat else 0.0)
        """When the last heartbeat was sent. An earlier daemon's is unknown, so the first one is due at once."""

    def follow(self, waiting: AwaitingDrain, rule: DrainRule, until: float) -> None:
        """Set the instance, the rule and the timeout (monotonic seconds) of the next attempt."""
        self.waiting, self.rule, self.until = waiting, rule, until

    @property
    def failed(self) -> bool:
        """Whether its thread has ended without a result, so that the drain must begin again."""
        return self.over.is_set() and not self.report.released

    def wait_for_turn(self, detail: str) -> None:
        """Set the detail, which says why the drain has no thread yet."""
        self.report = replace(self.report, detail=detail)

    def stop(self) -> None:
        """Begin no other attempt, and do not let the instance go. A running attempt ends within seconds."""
        self._stopped.set()

    def run(self) -> None:
        """Drain the instance until it is done or timed out, and then let the back end end it."""
        try:
            outcome = self._drain()
            if outcome is not None:
                self.report = replace(self.report, outcome=outcome)
                self._release(outcome)
        except Exception as error:  # noqa: BLE001 - a bug must only affect this drain, which the next cycle begins again
            self._note(f"the drain failed: {named(error)}", failed=True)
        finally:
            self.over.set()

    def _drain(self) -> DrainOutcome | None:
        """Return how the action ended; None: this daemon no longer drains the instance."""
        while self.goes_on():
            attempt = self._attempt()
            if attempt.done:
                self.report = replace(self.report, detail=attempt.detail)
                return DrainOutcome.DONE
            if self._may_act():  # an attempt that was stopped failed for that reason alone
                self._note(attempt.detail)
            self._pause(self._tools.pauses[self.rule.action])
        return DrainOutcome.TIMED_OUT if self._may_act() else None

    def _attempt(self) -> Attempt:
        rule, tools = self.rule, self._tools
        now = ActionContext(self.waiting, self._call(), self.until - tools.clock.monotonic(), self.goes_on)
        try:
            if rule.nomad is not None:
                return nodes.drain(tools.nodes, rule.nomad, now)
            if rule.http is not None:
                return http.ask(rule.http, now, local=tools.local)
            return command.drain(rule.command, now)
        except TargetError as error:
            return Attempt(done=False, detail=str(checked_error(error)))
        except Exception as error:  # noqa: BLE001 - foreign code must only affect its own instance
            return Attempt(done=False, detail=f"the {rule.action} action failed: {named(error)}")

    def _release(self, outcome: DrainOutcome) -> None:
        """Let the instance go; again and again until the back end accepts it."""
        tools, instance, detail = self._tools, self.waiting.instance, self.report.detail
        while self._may_act():
            try:
                tools.adapter.release(self.target, instance, self._call())
            except TargetError as error:
                self._note(f"it was not let go: {checked_error(error)}", failed=True)
            except Exception as error:  # noqa: BLE001 - foreign code must only affect its own instance
                self._note(f"it was not let go: {named(error)}", failed=True)
            else:
                self.report = replace(self.report, released=True, detail=detail)
                tools.logger.info("drain_ended", target=str(self.target), instance=instance, outcome=outcome)
                return
            self._pause(tools.pauses[self.rule.action], timed=False)

    def goes_on(self) -> bool:
        """Return whether to go on with the action. Keeps the instance waiting."""
        if not self._may_act() or self._tools.clock.monotonic() >= self.until:
            return False
        self._extend()
        return True

    def _may_act(self) -> bool:
        return not self._stopped.is_set() and self._tools.is_current()

    def _extend(self) -> None:
        heartbeat, clock = self.waiting.heartbeat, self._tools.clock
        if heartbeat is None or clock.monotonic() - self._extended < _HEARTBEAT_SHARE * heartbeat.total_seconds():
            return
        self._extended = clock.monotonic()
        try:
            self._tools.adapter.extend(self.target, self.waiting.instance, self._call())
        except TargetError as error:
            self._note(f"its wait was not extended: {checked_error(error)}", failed=True)
        except Exception as error:  # noqa: BLE001 - foreign code must only affect its own instance
            self._note(f"its wait was not extended: {named(error)}", failed=True)

    def _pause(self, seconds: float, *, timed: bool = True) -> None:
        """Wait, with heartbeats. `timed`: no longer than until the drain's timeout."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0 and (self.goes_on() if timed else self._may_act()):
            rest = self.until - self._tools.clock.monotonic() if timed else left
            self._stopped.wait(max(0.0, min(left, rest, STEP_SECONDS)))

    def _call(self) -> Call:
        clock = self._tools.clock
        moment = clock.moment()
        deadline = clock.monotonic() + CALL_SECONDS
        return Call(moment.now, deadline, moment, self._may_act)

    def _note(self, detail: str, *, failed: bool = False) -> None:
        """Note how it goes. Logged once while it stays the same. `failed`: by the back end that lets instances wait."""
        if detail and detail != self.report.detail:
            logger, where = self._tools.logger, {"target": str(self.target), "instance": self.waiting.instance}
            if failed:
                logger.warning("drain_troubled", **where, error=detail)
            else:
                logger.info("drain_goes_on", **where, detail=detail)
        self.report = replace(self.report, detail=detail)
