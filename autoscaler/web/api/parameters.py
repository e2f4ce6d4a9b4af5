"""The bodies of requests."""

import re
from datetime import datetime
from typing import Annotated, Any, Final, TypeAlias

from pydantic import BeforeValidator, Field, WithJsonSchema

from autoscaler.model import Direction
from autoscaler.quantity import parse_duration
from autoscaler.view.parameters import INT32, LabelSelector, Parameters

_UNITS: Final = {"y": 1, "w": 2, "d": 4, "h": 5, "m": 6, "s": 7, "ms": 7}
"""Unit of a duration -> how many digits may follow the first."""
_SPAN: Final = "^" + "".join(f"([1-9][0-9]{{0,{more}}}{unit})?" for unit, more in _UNITS.items()) + "$"


Plain: TypeAlias = Annotated[str, Field(max_length=1000, pattern=r"^[^\x00-\x1f\x7f]*$")]
"""One line of text."""


def _span(text: Any) -> str:
    if not isinstance(text, str) or not text or not re.fullmatch(_SPAN, text):
        raise ValueError(f"{str(text)[:64]} is not accepted; use 90s, 1h30m or 2d")
    return text


Span: TypeAlias = Annotated[
    str, BeforeValidator(_span), WithJsonSchema({"type": "string", "minLength": 1, "pattern": _SPAN})
]
"""A duration in Prometheus' form, longer than 0."""


def _whole(value: Any) -> Any:
    """Return 3 for 3.0: JSON does not distinguish them."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


Minimum: TypeAlias = Annotated[int, Field(strict=True, ge=0, le=INT32), BeforeValidator(_whole)]
Maximum: TypeAlias = Annotated[int, Field(strict=True, ge=1, le=INT32), BeforeValidator(_whole)]


class ChangeBody(Parameters):
    """The reason and the end of a change. The connection identifies the user."""

    reason: Plain = ""


class TemporaryChangeBody(ChangeBody):
    """A change that may expire."""

    span: Span | None = Field(default=None, alias="for", examples=["2h", "1d12h"])
    """The duration, such as `2h` or `1h30m`. Default: until it is removed."""

    def end(self, now: datetime) -> datetime | None:
        """Return when it expires; None: never."""
        return None if self.span is None else now + parse_duration(self.span)


class PauseBody(TemporaryChangeBody):
    """Write no size in a direction. Decisions are still made and shown."""

    direction: Direction = Direction.BOTH


class OverrideBody(TemporaryChangeBody):
    """Temporary bounds. An omitted bound stays as configured."""

    minimum: Minimum | None = None
    maximum: Maximum | None = None


class ResumeBody(ChangeBody):
    """Restore the configuration."""

    pause: Annotated[bool, Field(strict=True)] = True
    """Whether to remove the pause."""
    override: Annotated[bool, Field(strict=True)] = True
    """Whether to remove the override."""


class ManyBody(ChangeBody):
    """The selected autoscalers: give one of the two."""

    label_selector: LabelSelector | None = None
    """Autoscalers whose labels match."""
    all: Annotated[bool, Field(strict=True)] = False
    """true: every configured autoscaler."""


class PauseManyBody(ManyBody, PauseBody):
    """Write no size in a direction, for all autoscalers or those whose labels match now."""


class ResumeManyBody(ManyBody, ResumeBody):
    """Restore the configuration of all autoscalers or of those whose labels match."""
