"""Recorded cycles as plain JSON values, and back; unknown keys are ignored, and what is missing has its default.

The model's own fields are the keys. Only what JSON has no word for is written otherwise: errors, and which of several
kinds a reading or an outcome is.
"""

from dataclasses import MISSING, fields, is_dataclass
from datetime import datetime
from typing import Any, Final, TypeVar, get_type_hints

import msgspec
from msgspec.structs import replace

from autoscaler import errors
from autoscaler.errors import AutoscalerError, MetricError, TargetError
from autoscaler.model import (
    Autoscaler,
    Conflict,
    Decision,
    Held,
    History,
    InstanceReading,
    Observation,
    Outcome,
    Proposed,
    Reading,
    TargetState,
    Unchanged,
    ValueReading,
    Written,
)

_T = TypeVar("_T")


class Header(msgspec.Struct, frozen=True, kw_only=True):
    """The first line."""

    case: int
    """Version of the format."""
    program: str
    """Version of the program that made the decisions, and wrote the file."""
    autoscaler: str
    since: datetime
    until: datetime
    anonymized: bool = False


class _Error(msgspec.Struct, frozen=True, tag="error", tag_field="kind"):
    error: str
    """Its class."""
    message: str


def _tagged(kind: type, tag: str) -> Any:
    """A struct with the fields of a class of the model, and a key `kind` that tells which it is."""
    return msgspec.defstruct(f"_{kind.__name__}", _fields(kind), tag=tag, tag_field="kind", frozen=True)


def _fields(kind: type) -> list[Any]:
    """(name, type) or (name, type, default) of each field."""
    hints = get_type_hints(kind)
    if is_dataclass(kind):
        return [
            (each.name, hints[each.name])
            if each.default is MISSING and each.default_factory is MISSING
            else (each.name, hints[each.name], _default(each.default, each.default_factory))
            for each in fields(kind)
        ]
    return [
        (each.name, hints[each.name])
        if each.default is msgspec.NODEFAULT and each.default_factory is msgspec.NODEFAULT
        else (each.name, hints[each.name], _default(each.default, each.default_factory))
        for each in msgspec.structs.fields(kind)
    ]


def _default(value: Any, factory: Any) -> Any:
    if value is MISSING or value is msgspec.NODEFAULT:
        return msgspec.field(default_factory=factory)
    return msgspec.field(default=value)


_KINDS: Final = {
    kind: _tagged(kind, tag)
    for kind, tag in (
        (TargetState, "target"),
        (InstanceReading, "instances"),
        (ValueReading, "values"),
        (Written, "written"),
        (Unchanged, "unchanged"),
        (Held, "held"),
        (Conflict, "conflict"),
        (Proposed, "proposed"),
    )
}
_MODEL: Final = {wire: kind for kind, wire in _KINDS.items()}
_Target: Any = _KINDS[TargetState] | _Error
_Reading: Any = _KINDS[InstanceReading] | _KINDS[ValueReading] | _Error
_Outcome: Any = (
    _KINDS[Written] | _KINDS[Unchanged] | _KINDS[Held] | _KINDS[Conflict] | _KINDS[Proposed] | _Error
)  # fmt: skip
_Observation: Any = msgspec.defstruct(
    "_Observation",
    [
        ("target", _Target),
        ("readings", tuple[_Reading, ...]),
        ("victims", tuple[str, ...], ()),
        ("fallbacks", tuple[_Reading | None, ...], ()),
    ],
    frozen=True,
)
_Decision: Any = msgspec.defstruct(
    "_Decision",
    [("outcome", _Outcome | None, None) if each[0] == "outcome" else each for each in _fields(Decision)],
    frozen=True,
    kw_only=True,
)
_Cycle: Any = msgspec.defstruct(
    "_Cycle",
    [("at", datetime), ("observation", _Observation), ("decision", _Decision), ("history", History | None, None)],
    frozen=True,
)
_Line: Any = msgspec.defstruct(
    "_Line", [("configuration", Autoscaler | None, None), ("cycle", _Cycle | None, None)], frozen=True
)


class Cycle(msgspec.Struct, frozen=True):
    """One cycle."""

    at: datetime
    observation: Observation
    decision: Decision
    history: History | None


def header_values(header: Header) -> Any:
    """As JSON has it."""
    return msgspec.to_builtins(header)


def header_from(values: Any) -> Header:
    """Raises msgspec.ValidationError."""
    return msgspec.convert(values, Header)


def configuration_values(scaler: Autoscaler) -> Any:
    """As JSON has it."""
    return {"configuration": msgspec.to_builtins(scaler)}


def cycle_values(cycle: Cycle) -> Any:
    """As JSON has it."""
    observed, made = cycle.observation, cycle.decision
    wire = _Cycle(
        cycle.at,
        _Observation(
            _wire(observed.target),
            tuple(map(_wire, observed.readings)),
            observed.victims,
            tuple(map(_wire, observed.fallbacks)),
        ),
        _Decision(**(msgspec.structs.asdict(made) | {"outcome": _wire(made.outcome)})),
        cycle.history,
    )
    return {"cycle": msgspec.to_builtins(wire)}


def line_from(values: Any) -> Autoscaler | Cycle:
    """What a line after the first holds. Raises msgspec.ValidationError, ValueError."""
    line = msgspec.convert(values, _Line)
    if (line.configuration is None) == (line.cycle is None):
        raise ValueError("expected either `configuration` or `cycle`")
    if line.configuration is not None:
        scaler: Autoscaler = line.configuration
        return scaler
    cycle, seen = line.cycle, line.cycle.observation
    decision = Decision(**(msgspec.structs.asdict(cycle.decision) | {"outcome": None}))
    return Cycle(
        cycle.at,
        Observation(
            _model(seen.target, TargetError),
            tuple([_model(each, MetricError) for each in seen.readings]),
            seen.victims,
            tuple([_model(each, MetricError) for each in seen.fallbacks]),
        ),
        replace(decision, outcome=_model(cycle.decision.outcome, TargetError)),
        cycle.history,
    )


def _wire(value: TargetState | Reading | Outcome | MetricError | None) -> Any:
    if value is None:
        return None
    if isinstance(value, AutoscalerError):
        return _Error(_class_of(value), str(value))
    kind = _KINDS[type(value)]
    return kind(*[getattr(value, name) for name in kind.__struct_fields__])


def _model(wire: Any, error: type[AutoscalerError]) -> Any:
    """`error`: the root of those that may stand here."""
    if wire is None:
        return None
    if isinstance(wire, _Error):
        found = getattr(errors, wire.error, error)
        is_one = isinstance(found, type) and issubclass(found, error)
        return (found if is_one else error)(wire.message)
    return _MODEL[type(wire)](**msgspec.structs.asdict(wire))


def _class_of(error: AutoscalerError) -> str:
    """The nearest of our own tree: an adapter may have some of its own."""
    return next(parent.__name__ for parent in type(error).__mro__ if parent.__module__ == errors.__name__)
