"""The connection: it runs one program for each batch of targets, and another one for each write."""

from collections.abc import Mapping, Sequence
from threading import Event
from typing import ClassVar, Final

import msgspec

from adapters.command import answers
from adapters.command.messages import VERSION, Change, ObserveRequest, ScaleRequest
from adapters.command.settings import CommandSettings
from autoscaler.target import (
    Adapter,
    AdapterContext,
    Call,
    ScaleChange,
    ScaleOutcome,
    TargetDeferred,
    TargetError,
    TargetNotWritten,
    TargetRef,
    TargetState,
    TargetUnavailable,
    check_before_write,
    nothing_written,
    programs,
)

_MAX_ANSWER_BYTES: Final = 16 * 2**20
"""Bytes of a program's answer."""
_SHARE: Final = 1 / 8
"""Part of a call's time from SIGTERM to SIGKILL, and again from there to the deadline."""
_GRACE_SECONDS: Final = 1.0
"""The longest of each of these times."""


class CommandAdapter(Adapter):
    """One connection. The names of targets reach the programs on standard input only."""

    Settings: ClassVar = CommandSettings
    target_keys: ClassVar = frozenset({"namespace", "region", "victims"})
    without_requests: ClassVar = True

    @staticmethod
    def target_problem(target: TargetRef, settings: CommandSettings) -> str | None:  # noqa: ARG004 - the contract's
        """Return why the target is invalid: it has no name. The programs know the others."""
        return None if target.name.strip() else "name: it is empty; write a name that the programs know"

    def __init__(self, context: AdapterContext[CommandSettings]) -> None:
        """Runs nothing."""
        self._settings = context.settings
        self._clock = context.clock
        self.concurrent_writes = context.settings.concurrent_writes
        self._closed = Event()

    def observe(self, targets: Sequence[TargetRef], call: Call) -> Mapping[TargetRef, TargetState | TargetError]:
        """Run `observe` for the batch. Raises TargetUnavailable when the program fails as a whole."""
        if not targets:
            return {}
        until, grace = self._time(call, TargetUnavailable)
        of_all = tuple(map(answers.message_of, targets))
        request = ObserveRequest(VERSION, call.now, self._left(until), of_all)
        try:
            output = self._run(self._settings.observe, request, until, grace)
        except programs.ProgramFailed as error:
            raise TargetUnavailable(str(error)) from None
        return answers.states(output, targets, self._settings.observe[0])

    def scale(self, target: TargetRef, change: ScaleChange, call: Call) -> ScaleOutcome:
        """Observe the target once more, and run `scale` if it is as the decision saw it. Raises TargetError."""
        self._time(call, TargetDeferred)
        with nothing_written():
            found = self.observe([target], call)[target]
            if isinstance(found, TargetError):
                raise found
        unsent = check_before_write(str(target), change, found.replicas, found.revision, found.hold)
        return self._write(target, change, call) if unsent is None else unsent

    def examine(self, target: TargetRef) -> str | None:  # noqa: ARG002 - one program scales all targets
        """Return why `scale` could not be run; `observe` is run by the same check."""
        return programs.unusable(self._settings.scale[0])

    def close(self) -> None:
        """End the programs that run."""
        self._closed.set()

    def _write(self, target: TargetRef, change: ScaleChange, call: Call) -> ScaleOutcome:
        until, grace = self._time(call, TargetDeferred)
        asked = Change(change.id, change.size, change.decided_from, change.revision, change.reason, change.victims)
        request = ScaleRequest(VERSION, call.now, self._left(until), answers.message_of(target), asked)
        try:
            output = self._run(self._settings.scale, request, until, grace)
        except programs.NotStarted as error:
            raise TargetNotWritten(str(error)) from None
        except programs.ProgramFailed as error:
            raise TargetUnavailable(f"{error}; whether {target} was written is unknown") from None
        return answers.outcome(output, change, self._settings.scale[0])

    def _time(self, call: Call, otherwise: type[TargetError]) -> tuple[float, float]:
        """Return when a program that begins now gets SIGTERM, and after how many seconds SIGKILL.

        It has ended by the deadline. Raises `otherwise` when none may begin.
        """
        left = call.seconds_left(self._clock.monotonic())
        if left <= 0:
            raise otherwise("no time is left before the cycle's deadline; the next cycle tries again")
        grace = min(_GRACE_SECONDS, left * _SHARE)
        return self._clock.monotonic() + left - 2 * grace, grace

    def _left(self, until: float) -> float:
        return round(until - self._clock.monotonic(), 3)

    def _run(self, command: tuple[str, ...], request: object, until: float, grace_seconds: float) -> bytes:
        return programs.run(
            command,
            lambda: not self._closed.is_set() and self._clock.monotonic() < until,
            env=self._settings.env,
            request=msgspec.json.encode(request) + b"\n",
            largest=_MAX_ANSWER_BYTES,
            grace_seconds=grace_seconds,
        )
