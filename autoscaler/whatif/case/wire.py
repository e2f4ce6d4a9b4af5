"""Recorded cycles as JSON values, and back. Unknown keys are ignored, and missing ones have their defaults.

The keys are the fields of the model. Errors, and values of one of several types, have their class as the key `kind`.
"""

from datetime import datetime
from typing import Any, Final, TypeAlias

import msgspec
from msgspec.structs import replace

from autoscaler.errors import AutoscalerError, TargetError, error_class, error_of
from autoscaler.model import (
    Autoscaler,
    CivilTime,
    Conflict,
    Decision,
    Failure,
    Held,
    History,
    InstanceReading,
    Observation,
    Proposed,
    TargetState,
    Unchanged,
    ValueReading,
    Written,
)
from autoscaler.whatif.past.past import Cycle

FORMAT: Final = 1
"""Version of the format. A reader refuses a newer one."""
MOST_LINE_BYTES: Final = 8 * 2**20
"""Of a decompressed line: a cycle of ten thousand instances takes six million. In memory it takes twenty times."""


class CaseError(AutoscalerError):
    """A case cannot be written or read; the message names the file, the line and the problem."""


class Header(msgspec.Struct, frozen=True, kw_only=True):
    """The first line."""

    case: int
    """Version of the format."""
    program: str
    """Version of the program that made the decisions and wrote the file."""
    autoscaler: str
    since: datetime
    until: datetime
    anonymized: bool = False


_Kinds: TypeAlias = tuple[type, ...]
_TARGETS: Final[_Kinds] = (TargetState,)
_READINGS: Final[_Kinds] = (InstanceReading, ValueReading, Failure)
_OUTCOMES: Final[_Kinds] = (Written, Unchanged, Held, Conflict, Proposed)


class _ConcludedDecision(Decision, frozen=True):
    """A decision whose outcome is a plain value: msgspec has no union of dataclasses."""

    outcome: Any = None


def reason(error: Exception) -> object:
    """The system's reason for an error of a file, without the name of the file."""
    return getattr(error, "strerror", None) or error


def cycle_values(cycle: Cycle, made: Decision) -> Any:
    """A cycle as JSON values. `made`: its decision."""
    observed = cycle.observation
    return {
        "cycle": {
            "at": msgspec.to_builtins(cycle.at),
            "observation": {
                "target": _values_of(observed.target),
                "readings": [_values_of(each) for each in observed.readings],
                "victims": list(observed.victims),
                "fallbacks": [_values_of(each) for each in observed.fallbacks],
                "civil": msgspec.to_builtins(observed.civil),
            },
            "decision": msgspec.to_builtins(replace(made, outcome=None)) | {"outcome": _values_of(made.outcome)},
            "history": msgspec.to_builtins(cycle.history),
        }
    }


def line_from(values: Any, scaler: Autoscaler | None) -> Autoscaler | Cycle:
    """The content of a line after the first. `scaler`: the last configuration before it, to which a cycle belongs.

    Raises msgspec.ValidationError, TypeError, LookupError, ValueError.
    """
    if ("configuration" in values) == ("cycle" in values):
        raise ValueError("expected either `configuration` or `cycle`")
    if "configuration" in values:
        return msgspec.convert(values["configuration"], Autoscaler)
    if scaler is None:
        raise ValueError("a cycle stands before the configuration that it belongs to")
    cycle = values["cycle"]
    seen, decision = cycle["observation"], msgspec.convert(cycle["decision"], _ConcludedDecision)
    outcome = _from_values(decision.outcome, _OUTCOMES)
    return Cycle(
        msgspec.convert(cycle["at"], datetime),
        Observation(
            _from_values(seen["target"], _TARGETS),
            tuple([_from_values(each, _READINGS) for each in seen["readings"]]),
            msgspec.convert(seen.get("victims", ()), tuple[str, ...]),
            tuple([_from_values(each, _READINGS) for each in seen.get("fallbacks", ())]),
            msgspec.convert(seen.get("civil", {}), CivilTime),
        ),
        scaler,
        Decision(**(msgspec.structs.asdict(decision) | {"outcome": outcome})),
        msgspec.convert(cycle.get("history"), History | None),
    )


def _values_of(value: Any) -> Any:
    """A value of one of several types, a target's error or None, as JSON values."""
    if value is None:
        return None
    if isinstance(value, TargetError):
        return {"kind": error_class(value), "message": str(value)}
    if isinstance(value, Failure):
        return {"kind": Failure.__name__, "message": value.message}
    return {"kind": type(value).__name__, **msgspec.to_builtins(value)}


def _from_values(values: Any, kinds: _Kinds) -> Any:
    """`kinds`: the possible types, besides a target's errors."""
    if values is None:
        return None
    name = values["kind"]
    for kind in kinds:
        if kind.__name__ == name:
            return msgspec.convert(values, kind)
    return error_of(name, msgspec.convert(values["message"], str), TargetError)
