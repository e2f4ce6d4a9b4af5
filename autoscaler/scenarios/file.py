"""The sections of a file of tests, as they are written."""

import operator
import re
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Annotated, Any, Final, Literal, NamedTuple, TypeAlias

from pydantic import Field, PlainValidator, model_validator

from autoscaler.fields.types import CountOrZero, Flag, PositiveDuration, PositiveQuantity, Section, SyncPeriod, Text
from autoscaler.model import Direction
from autoscaler.observe.selectors import NAME, Matcher, selectors, written
from autoscaler.scenarios.notation import Values
from autoscaler.target import ConfigPath, Duration

_OPERATORS: Final[Mapping[str, Callable[[int, int], bool]]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "=": operator.eq,
    "==": operator.eq,
    "!=": operator.ne,
}
_BOUND: Final = re.compile(r"\s*(<=?|>=?|==?|!=)?\s*([0-9]{1,10})\s*", re.ASCII)
_METRIC_NAME: Final = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
_CLAIM: Final = re.compile(r"\s*(size|ready)\b\s*([<>=!].*)", re.ASCII)


class Bound(NamedTuple):
    """What a number is to be: `10`, `>= 4`."""

    operator: str
    number: int

    def holds(self, number: int) -> bool:
        """Return whether a number is like that."""
        return _OPERATORS[self.operator](number, self.number)

    def __str__(self) -> str:
        return f"{self.number}" if self.operator in ("=", "==") else f"{self.operator} {self.number}"


class Claim(NamedTuple):
    """What a size is to be: `size >= 4`, `ready < 2`."""

    subject: Literal["size", "ready"]
    bound: Bound

    def __str__(self) -> str:
        return f"{self.subject} {'' if self.bound.operator not in ('=', '==') else '= '}{self.bound}"


def _bound(value: Any) -> Bound:
    found = _BOUND.fullmatch(str(value)) if isinstance(value, str | int) and not isinstance(value, bool) else None
    if found is None:
        raise ValueError(f'{str(value)[:64]!r} is not a size; write a number, as in 10 or ">= 4"')
    return Bound(found[1] or "=", int(found[2]))


def _claim(value: Any) -> Claim:
    found = _CLAIM.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        raise ValueError(f"{str(value)[:64]!r} is not a condition; write one as in size >= 4 or ready < 2")
    return Claim("size" if found[1] == "size" else "ready", _bound(found[2]))


def _values(value: Any) -> Values:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError("expected values in promtool's notation, as in 100+10x20")
    return Values(str(value))


def _signal(value: Any) -> Any:
    if not isinstance(value, dict):
        return _values(value)
    return {labels_of(series): _values(each) for series, each in value.items()}


Labels: TypeAlias = tuple[tuple[str, str], ...]
Signal: TypeAlias = Values | Mapping[Labels, Values]
"""One series for each user of a query, or the series by their labels."""


def labels_of(series: str) -> Labels:
    """Return the labels of a series as promtool writes it: `up{job="a"}`. Raises ValueError."""
    found = selectors(series)
    if len(found) != 1 or found[0].range is not None or any(each.operator != "=" for each in found[0].matchers):
        raise ValueError(f"{series[:64]!r} is not a series; write it as in '{{instance=\"web-1\"}}'")
    return tuple(sorted((each.label, each.value) for each in found[0].matchers))


def openmetrics_series(text: str) -> str:
    """Return a series as OpenMetrics writes it. Raises ValueError."""
    labels = dict(labels_of(text))
    name = labels.pop(NAME, "")
    if not _METRIC_NAME.fullmatch(name):
        raise ValueError(f"{text[:64]!r} names no metric; write it as in 'up{{instance=\"web-1\"}}'")
    return name + written([Matcher(label, "=", value) for label, value in labels.items()])


BoundText: TypeAlias = Annotated[Bound, PlainValidator(_bound)]
ClaimText: TypeAlias = Annotated[Claim, PlainValidator(_claim)]
ValuesText: TypeAlias = Annotated[Values, PlainValidator(_values)]
SignalText: TypeAlias = Annotated[Any, PlainValidator(_signal)]


class Expectation(Section):
    """What is to be true of an autoscaler."""

    at: Text | None = None
    within: PositiveDuration | None = None
    """Of `at`: it may become true until so much later."""
    size: BoundText | None = None
    """The size that is asked for."""
    ready: BoundText | None = None
    """The instances that are ready."""
    reason: Text | None = None
    """The reason of one of the decision's conditions."""
    always: ClaimText | None = None
    never: ClaimText | None = None
    changes: BoundText | None = None
    """How often the daemon changes the size."""
    begin: Text | None = Field(None, alias="from")
    to: Text | None = None

    @model_validator(mode="after")
    def _one_form(self) -> "Expectation":
        given = {name for name in type(self).model_fields if getattr(self, name) is not None}
        moment = given & {"size", "ready", "reason"}
        ranges = given & {"always", "never", "changes"}
        if (bool(moment) + len(ranges)) != 1:
            raise ValueError("write `at` with size, ready or reason; or one of always, never and changes")
        if moment and ("at" not in given or given & {"begin", "to"}):
            raise ValueError("size, ready and reason need `at`, and take no `from` and `to`")
        if ranges and given & {"at", "within"}:
            raise ValueError("always, never and changes take `from` and `to`, not `at` and `within`")
        return self


_VERBS: Final[Mapping[str, tuple[frozenset[str], frozenset[str]]]] = {
    "deployment": (frozenset({"lasts"}), frozenset({"replicas"})),
    "outage": (frozenset({"lasts"}), frozenset()),
    "resize": (frozenset({"replicas"}), frozenset()),
    "pause": (frozenset(), frozenset({"direction", "lasts"})),
    "override": (frozenset(), frozenset({"min_replicas", "max_replicas", "lasts"})),
    "resume": (frozenset(), frozenset()),
    "clock": (frozenset(), frozenset()),
    "restart": (frozenset(), frozenset({"lasts"})),
}
"""What happens -> the keys that it needs, and the others that it may have."""


class Event(Section):
    """Something that happens at a time: exactly one of the keys after `at`, with what it needs."""

    at: Text
    deployment: Text | None = None
    """Autoscaler whose target is deployed: scaling is held meanwhile."""
    outage: Text | None = None
    """prometheus.NAME or adapters.NAME: it does not answer meanwhile."""
    resize: Text | None = None
    """Autoscaler whose target another one sets to `replicas`."""
    pause: Text | None = None
    override: Text | None = None
    resume: Text | None = None
    """Autoscaler that an operator pauses, gives other bounds or resumes."""
    clock: Text | None = None
    """The daemon's clock is set forward or back: +10m, -1h."""
    restart: Flag | None = None
    """The daemon is started again."""
    lasts: PositiveDuration | None = Field(None, alias="for")
    replicas: CountOrZero | None = None
    direction: Direction = Direction.BOTH
    min_replicas: CountOrZero | None = None
    max_replicas: CountOrZero | None = None

    @model_validator(mode="after")
    def _one_verb(self) -> "Event":
        given = {name for name in self.model_fields_set if getattr(self, name) is not None} - {"at"}
        verbs = given & _VERBS.keys()
        if len(verbs) != 1:
            raise ValueError(f"write exactly one of {', '.join(_VERBS)}")
        needs, takes = _VERBS[next(iter(verbs))]
        keys = {name: field.alias or name for name, field in type(self).model_fields.items()}
        for missing in needs - given:
            raise ValueError(f"{next(iter(verbs))} needs `{keys[missing]}` beside it")
        for other in given - verbs - needs - takes:
            raise ValueError(f"{next(iter(verbs))} takes no `{keys[other]}`; remove it")
        return self

    @property
    def verb(self) -> str:
        """The key that says what happens."""
        return next(name for name in _VERBS if getattr(self, name) is not None)

    @property
    def subject(self) -> str:
        """The autoscaler, source or connection that the event affects, as the file names it."""
        return str(getattr(self, self.verb))


class Subject(Section):
    """`autoscalers.NAME` of a test."""

    replicas: CountOrZero | None = None
    """The size at the start. Default: minReplicas, at least 1."""
    start_up: Duration = timedelta(0)
    """How long a new instance takes until it is ready."""
    warm_up: Duration = timedelta(0)
    """The target's own warm-up, as an Auto Scaling group has one."""
    values: Mapping[Text, SignalText] = Field(default_factory=dict)
    """By the metric's name: what its query answers."""
    load: Mapping[Text, ValuesText] = Field(default_factory=dict)
    """By the metric's name: a total, which the ready instances share."""
    requests: Mapping[Text, PositiveQuantity] = Field(default_factory=dict)
    """What each instance reserves, by resource."""
    expect: tuple[Expectation, ...] = ()


class QueryAnswer(Section):
    """The answer to one query, for all who use it."""

    expr: Text | None = None
    """As the configuration has it."""
    ref: Text | None = None
    """A shared query of the configuration."""
    values: SignalText

    @model_validator(mode="after")
    def _one_name(self) -> "QueryAnswer":
        if (self.expr is None) is (self.ref is None):
            raise ValueError("write either `expr` or `ref`")
        return self


class Test(Section):
    """One scenario."""

    name: Text
    start: Text
    timezone: Text | None = None
    duration: PositiveDuration | None = None
    """Default: up to the last time that is named."""
    tick: SyncPeriod | None = None
    """In place of every syncPeriod."""
    interval: PositiveDuration = timedelta(minutes=1)
    """From one of the values to the next."""
    autoscalers: Annotated[Mapping[Text, Subject], Field(min_length=1)]
    queries: tuple[QueryAnswer, ...] = ()
    series: Mapping[Text, ValuesText] = Field(default_factory=dict)
    """Series, as PromQL selects each -> its values. A Prometheus evaluates every query over them."""
    events: tuple[Event, ...] = ()


class File(Section):
    """A file of tests."""

    config: ConfigPath | None = None
    """The configuration, relative to this file."""
    tests: Annotated[tuple[Test, ...], Field(min_length=1)]
