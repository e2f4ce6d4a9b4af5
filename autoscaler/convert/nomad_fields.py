"""The fields of Nomad's scaling policies, as the Nomad Autoscaler 0.5 reads them.

Source: developer.hashicorp.com/nomad/tools/autoscaling/policy, the Nomad Autoscaler's policy/nomad (parser.go,
validate.go) and Nomad's api/scaling.go (defaults). Blocks of HCL are lists in Nomad's API. Nomad takes null for omitted
in its own fields; the Nomad Autoscaler refuses it in most of those of a policy.
"""

import re
from collections.abc import Mapping
from datetime import timedelta
from typing import Annotated, Any, Final, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from autoscaler.convert.hpa import Count, Positive
from autoscaler.convert.imported import MAX_NAME, AnyText

_INTERVAL: Final = timedelta(seconds=10)
_COOLDOWN: Final = timedelta(minutes=5)
_UNITS: Final = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}


def _block(value: Any) -> Any:
    """Return the content of a block: the API has a list of one mapping, a file may have the mapping."""
    if isinstance(value, list):
        return value[0] if len(value) == 1 else value or {}
    return value


def _blocks(value: Any) -> Any:
    """Return label -> content of repeated blocks."""
    if not isinstance(value, list):
        return value
    found: dict[str, Any] = {}
    for each in value:
        if not isinstance(each, dict):
            return value
        found |= each
    return found


def _duration(value: Any) -> Any:
    """Parse a duration as Go writes it: `1m30s`, `1.5h`."""
    if not isinstance(value, str):
        return value
    parts = re.fullmatch(r"(?:(?:\d+\.?\d*|\.\d+)(?:h|ms|m|s|us|µs|ns))+|0", value)
    if parts is None or len(value) > MAX_NAME:
        raise ValueError(f"{value[:MAX_NAME]!r} is not a duration; write it as in 1m30s")
    found = re.findall(r"(\d+\.?\d*|\.\d+)(h|ms|m|s|us|µs|ns)", value)
    try:
        return timedelta(seconds=sum(float(number) * _UNITS[unit] for number, unit in found))
    except OverflowError:
        raise ValueError(f"{value[:MAX_NAME]!r} is too long a duration") from None


def _without_nulls(value: Any) -> Any:
    return {key: each for key, each in value.items() if each is not None} if isinstance(value, dict) else value


_Word: TypeAlias = Annotated[str, BeforeValidator(lambda value: "" if value is None else value)]
"""A text in whose place the Nomad Autoscaler ignores a null."""
_Duration: TypeAlias = Annotated[timedelta, BeforeValidator(_duration)]
_Options: TypeAlias = Annotated[Mapping[str, AnyText], BeforeValidator(_block)]


class _NomadModel(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class _Read(BaseModel):
    """A block of a policy. What the Nomad Autoscaler adds with a later version is kept as an extra field."""

    model_config = ConfigDict(extra="allow", frozen=True)


class Schedule(_Read):
    """When a policy or a check has an effect, in UTC."""

    start: str
    end: str | None = None
    duration: _Duration | None = None


_Schedule: TypeAlias = Annotated[Schedule, BeforeValidator(_block)]


class Check(_Read):
    """One proposal of a policy."""

    source: str = "nomad-apm"
    query: str = ""
    query_window: str = "1m"
    query_window_offset: _Word = ""
    group: _Word = ""
    on_error: _Word = ""
    schedule: _Schedule | None = None
    strategy: Annotated[Mapping[str, _Options], BeforeValidator(_blocks)]


class PolicyBody(_Read):
    """What the Nomad Autoscaler reads."""

    evaluation_interval: _Duration = _INTERVAL
    cooldown: _Duration = _COOLDOWN
    cooldown_on_scale_up: _Duration | None = None
    on_check_error: _Word = ""
    schedule: _Schedule | None = None
    target: Annotated[Mapping[str, _Options], BeforeValidator(_blocks)] = Field(default_factory=dict)
    check: Annotated[Mapping[str, Annotated[Check, BeforeValidator(_block)]], BeforeValidator(_blocks)]


class Policy(_NomadModel):
    """A scaling policy, or the `scaling` block of a group."""

    Type: str = "horizontal"
    Enabled: bool = True
    Min: Count = 1
    """In a job, Nomad's default is the count of the group."""
    Max: Positive
    Target: Annotated[Mapping[str, str], BeforeValidator(_without_nulls)] = Field(default_factory=dict)
    Policy: PolicyBody
