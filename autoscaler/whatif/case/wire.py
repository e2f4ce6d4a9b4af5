"""Recorded cycles as JSON values, and back. Unknown keys are ignored, and missing ones have their defaults.

The keys are the fields of the model. Errors, and values of one of several types, have a key `kind`.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from autoscaler import errors
from autoscaler.errors import AutoscalerError, MetricError, TargetError
from autoscaler.model import (
    Autoscaler,
    CivilTime,
    Conflict,
    Decision,
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


_TARGETS: Final[Mapping[str, type]] = {"target": TargetState}
_READINGS: Final[Mapping[str, type]] = {"instances": InstanceReading, "values": ValueReading}
_OUTCOMES: Final[Mapping[str, type]] = {
    "written": Written,
    "unchanged": Unchanged,
    "held": Held,
    "conflict": Conflict,
    "proposed": Proposed,
}
_KIND_OF: Final = {model: kind for kinds in (_TARGETS, _READINGS, _OUTCOMES) for kind, model in kinds.items()}
_ERROR: Final = "error"
_ConcludedDecision: Final[Any] = msgspec.defstruct(
    "_ConcludedDecision",
    [
        (each.name, Any if each.name == "outcome" else each.type, msgspec.field(default=each.default))
        if each.default is not msgspec.NODEFAULT
        else (each.name, each.type)
        for each in msgspec.structs.fields(Decision)
    ],
    kw_only=True,
)
"""A decision whose outcome is a plain value: msgspec has no union of dataclasses."""


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
    outcome = _from_values(decision.outcome, _OUTCOMES, TargetError)
    return Cycle(
        msgspec.convert(cycle["at"], datetime),
        Observation(
            _from_values(seen["target"], _TARGETS, TargetError),
            tuple([_from_values(each, _READINGS, MetricError) for each in seen["readings"]]),
            msgspec.convert(seen.get("victims", ()), tuple[str, ...]),
            tuple([_from_values(each, _READINGS, MetricError) for each in seen.get("fallbacks", ())]),
            msgspec.convert(seen.get("civil", {}), CivilTime),
        ),
        scaler,
        Decision(**(msgspec.structs.asdict(decision) | {"outcome": outcome})),
        msgspec.convert(cycle.get("history"), History | None),
    )


def _values_of(value: Any) -> Any:
    """A value of one of several types, an error or None, as JSON values."""
    if value is None:
        return None
    if isinstance(value, AutoscalerError):
        return {"kind": _ERROR, "error": _class_of(value), "message": str(value)}
    return {"kind": _KIND_OF[type(value)], **msgspec.to_builtins(value)}


def _from_values(values: Any, kinds: Mapping[str, type], error: type[AutoscalerError]) -> Any:
    """`kinds`: the possible types; `error`: the root of the possible errors."""
    if values is None:
        return None
    kind = values["kind"]
    if kind in kinds:
        return msgspec.convert(values, kinds[kind])
    if kind != _ERROR:
        raise ValueError(f"expected a value of the kind {', '.join([*kinds, _ERROR])}")
    found = getattr(errors, values["error"], error)
    is_one = isinstance(found, type) and issubclass(found, error)
    return (found if is_one else error)(msgspec.convert(values["message"], str))


def _class_of(error: AutoscalerError) -> str:
    """The nearest class of this program: adapters may have their own."""
    return next(parent.__name__ for parent in type(error).__mro__ if parent.__module__ == errors.__name__)
