"""Turns the messages of programs into the values of the adapter contract."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

import msgspec

from adapters.command import messages
from autoscaler.target import (
    Conflict,
    Held,
    Hold,
    HoldReason,
    Instance,
    Limits,
    Phase,
    ScaleChange,
    ScaleOutcome,
    TargetError,
    TargetForbidden,
    TargetNotFound,
    TargetNotScalable,
    TargetNotWritten,
    TargetRef,
    TargetRefused,
    TargetState,
    TargetUnavailable,
    Unchanged,
    Written,
)
from autoscaler.target.http import Malformed, beginning, decoded

_ERRORS: Final[Mapping[str, type[TargetError]]] = {
    "Unavailable": TargetUnavailable,
    "NotFound": TargetNotFound,
    "NotScalable": TargetNotScalable,
    "Forbidden": TargetForbidden,
    "NotWritten": TargetNotWritten,
    "Refused": TargetRefused,
}


class _Answer(msgspec.Struct):
    """An ObserveAnswer whose entries are decoded one by one, so that a wrong one costs its own target."""

    targets: list[msgspec.Raw]


class _Entry(msgspec.Struct):
    """Which target an entry is about."""

    target: messages.Target


def message_of(target: TargetRef) -> messages.Target:
    """Return the target as it is written in a message."""
    return messages.Target(target.name, target.namespace, target.region)


def states(output: bytes, targets: Sequence[TargetRef], program: str) -> Mapping[TargetRef, TargetState | TargetError]:
    """Return the answer for each target. What is wrong, omitted or given twice is an error of its own target.

    `program`: its path, for messages. Raises TargetUnavailable when the output as a whole is wrong.
    """
    try:
        entries = decoded(output, _Answer).targets
    except Malformed as error:
        raise TargetUnavailable(f"{program}: {error}{_quoted(output)}") from None
    asked = {message_of(target): target for target in targets}
    found: dict[TargetRef, TargetState | TargetError] = {}
    nameless = ""
    for entry in entries:
        try:
            target = asked.get(decoded(bytes(entry), _Entry).target)
        except Malformed as error:
            nameless = f"; of an entry that names no target: {error}"
            continue
        if target in found:
            found[target] = TargetUnavailable(
                f"{program} answered for {target} more than once; one entry for each target is expected"
            )
        elif target is not None:
            found[target] = _state(bytes(entry), f"{program} answered for {target}")
    for target in targets:
        if target not in found:
            found[target] = TargetUnavailable(
                f"{program} did not answer for {target}; an entry for each target is expected{nameless}"
            )
    return found


def outcome(output: bytes, change: ScaleChange, program: str) -> ScaleOutcome:
    """Return the outcome of a write. Raises TargetError: TargetUnavailable when the output is wrong."""
    try:
        answer = decoded(output, messages.ScaleAnswer)
    except Malformed as error:
        raise TargetUnavailable(
            f"{program}: {error}{_quoted(output)}; whether the size was written is unknown"
        ) from None
    if (answer.outcome is None) is (answer.error is None):
        raise TargetUnavailable(
            f"{program}: expected an outcome or an error, found {'neither' if answer.error is None else 'both'}; "
            "whether the size was written is unknown"
        )
    match answer.outcome:
        case "Written":
            return Written(change.size if answer.size is None else answer.size)
        case "Unchanged":
            return Unchanged()
        case "Held":
            return Held(HoldReason(answer.reason or "Held", answer.message))
        case "Conflict":
            return Conflict(answer.message or f"{program} found another size than {change.decided_from}")
    raise _error(answer.error or "", answer.message, program)


def _state(entry: bytes, what: str) -> TargetState | TargetError:
    try:
        answer = decoded(entry, messages.TargetAnswer)
        instances = tuple(map(_instance, answer.instances or ()))
    except (Malformed, OverflowError) as error:  # the latter of a time that UTC does not have
        return TargetUnavailable(f"{what}: {error}")
    if answer.error is not None and answer.replicas is None:
        return _error(answer.error, answer.message, what)
    if answer.replicas is None or answer.error is not None:
        return TargetUnavailable(f"{what} {'both' if answer.error else 'neither'} of replicas and error; write one")
    return TargetState(
        answer.replicas,
        _existing(answer, instances) if answer.status_replicas is None else answer.status_replicas,
        instances,
        Limits(answer.limits.minimum, answer.limits.maximum),
        Hold(_hold_reason(answer.hold.scale_out), _hold_reason(answer.hold.scale_in)),
        answer.revision,
        answer.warnings,
    )


def _error(word: str, message: str, what: str) -> TargetError:
    return _ERRORS[word](message or f"{what} {word}, without a message")


def _existing(answer: messages.TargetAnswer, instances: Iterable[Instance]) -> int:
    if answer.instances is None:
        return answer.replicas or 0
    return sum(one.weight for one in instances if not one.deleting and one.phase is not Phase.FAILED)


def _instance(one: messages.Instance) -> Instance:
    return Instance(
        one.name,
        Phase(one.phase),
        ready=one.ready,
        ready_transition=_utc(one.ready_transition),
        started_at=_utc(one.started_at),
        deleting=one.deleting,
        identities=frozenset({one.name, *one.identities}),
        weight=one.weight,
        detail=one.detail,
    )


def _utc(time: datetime | None) -> datetime | None:
    return None if time is None else time.astimezone(UTC)


def _hold_reason(reason: messages.Reason | None) -> HoldReason | None:
    return None if reason is None else HoldReason(reason.reason, reason.message)


def _quoted(output: bytes) -> str:
    return f"; it begins {beginning(output)!r}" if output.strip() else "; it is empty"
