"""What a rule is: its settings, what it says in one cycle, and what it remembers.

A rule is one file, or a package if it has parts: a class with its settings as fields. Whatever it does not override
does nothing. A new rule has

- its file, and a line in `RULES`; `headroom.py` is the shortest example with a key of the file, `manual.py` of a hold,
  `warm_up.py` of a key of a document (`text` is enough for a setting that one line shows),
- tests/rules/test_NAME.py, and a case in tests/conformance/inert.py and in tests/daemon/test_rules.py,
- a section in docs/beyond-hpa.md, its key in docs/configuration.md, and new schemas (`autoscaler/config/schema.py`).
"""

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import Any, ClassVar, Final, Generic, NamedTuple, Self, TypeVar, cast

from msgspec import Struct
from pydantic import BaseModel, create_model

from autoscaler.fields.find_values import Loc
from autoscaler.fields.queries import SharedQuery
from autoscaler.fields.types import Section
from autoscaler.hpa.controller import Goal, Rest
from autoscaler.hpa.instances import NOTHING_ASIDE, SetAside
from autoscaler.hpa.proposals import Measured
from autoscaler.model import (
    Autoscaler,
    Bound,
    Bounds,
    ConfiguredRule,
    Direction,
    Event,
    History,
    ManualControls,
    MetricType,
    NoticeType,
    Observation,
    Reading,
    TargetState,
)
from autoscaler.rules.shown import Shown

_SectionT = TypeVar("_SectionT", bound=BaseModel)
_KeysT = TypeVar("_KeysT")


class Hold(NamedTuple):
    """Why the size may not change in a direction. It is shown only in cycles in which it prevents a change."""

    reason: str
    """A CamelCase word that no other rule has, for the condition AbleToScale."""
    message: str
    direction: Direction = Direction.BOTH
    """Of the changes that it prevents. IN: the size may still grow."""
    spares_bounds: bool = False
    """Whether the size still returns into the bounds.

    That is no return to a maximum that is `recommended`, as a schedule's: the size falls to it as metrics ask.
    """
    first: bool = False
    """Whether it stands before the target's own hold. All others stand behind it, in the order of RULES.

    The first hold that prevents a change gives the condition's reason, and the messages of all are joined.
    """

    def prevents(self, *, out: bool, forced: bool) -> bool:
        """Return whether it prevents a change that lets the size grow (`out`) or fall.

        `forced`: the change is a return into the bounds.
        """
        return self.direction is not (Direction.IN if out else Direction.OUT) and not (forced and self.spares_bounds)


class RuleCondition(NamedTuple):
    """The state of a rule's own condition."""

    status: bool
    reason: str
    message: str
    since: datetime | None = None
    """When a new status began; None: now."""


class Said(NamedTuple):
    """What a rule says in one cycle. The defaults say nothing."""

    memory: Struct | None = None
    """What it remembers next, of the type `Rule.memory`; None: nothing, also if it remembered something.

    The state keeps it by the names of its fields.
    """
    events: tuple[Event, ...] = ()
    condition: RuleCondition | None = None
    """Of the type `Rule.condition`. None: it stays as it was."""
    minimum: Bound | None = None
    """In place of the minimum of the specification and of the rules before."""
    maximum: Bound | None = None
    """In place of the maximum of the specification and of the rules before."""
    at_least: Bound | None = None
    """Raises the minimum to it, unless the maximum is below it."""
    ends_zero: bool = False
    """Whether the minimum ends a zero of the autoscaler's own at once, also while all metrics fail.

    HPA waits for a metric with a value.
    """
    holds: tuple[Hold, ...] = ()
    rest: Rest | None = None
    """Why the target needs nothing: the size goes to the minimum at once, unless something holds it."""
    size_reset: bool = False
    """Whether a deployment has reset the size, which has not returned yet. The rules after it see that."""


SILENCE: Final = Said()


class Cycle(ABC):
    """What a rule sees of one cycle."""

    __slots__ = ("history", "now", "observed", "said", "scaler", "set_aside", "state")

    def __init__(self, scaler: Autoscaler, observed: Observation, history: History, now: datetime) -> None:
        self.scaler, self.observed, self.history, self.now = scaler, observed, history, now
        target = observed.target
        self.state: TargetState | None = target if isinstance(target, TargetState) else None
        """None: the target could not be read; then only time passes."""
        self.said: dict[str, Said] = {}
        """What the rules before have said, by name."""
        self.set_aside: SetAside = NOTHING_ASIDE
        """The instances whose samples do not count in this cycle, once the metrics are measured."""

    @abstractmethod
    def measure(self) -> Sequence[Measured]:
        """Return what each metric proposes, after the rules. It is measured once; empty while `state` is None."""

    @property
    def civil(self) -> datetime:
        """The civil time, in UTC, by which calendars count. While it is in doubt, rules only add or keep instances."""
        return self.now + self.observed.civil.ahead

    @property
    def size_reset(self) -> bool:
        """Whether a deployment has reset the size, which has not returned yet."""
        return any(each.size_reset for each in self.said.values())

    @property
    def minimums(self) -> Sequence[Bound]:
        """The minimums that the rules before set."""
        return [each.minimum for each in self.said.values() if each.minimum is not None]

    def condition_since(self, kind: str) -> tuple[bool, datetime] | None:
        """Return the status of a condition after the last cycle, and since when it has it; None: it was not set."""
        for each in self.history.hpa.conditions:
            if each.type == kind:
                return each.status, each.last_transition
        return None


def with_keys(section: type[_SectionT], others: Iterable[type[BaseModel] | None]) -> type[_SectionT]:
    """Return a section, or a document, with the keys of others behind its own, in their order."""
    bases: Any = (*reversed([each for each in others if each is not None]), section)
    made: Any = create_model(
        section.__name__.lstrip("_"), __base__=bases, __module__=section.__module__, __doc__=section.__doc__
    )
    return cast("type[_SectionT]", made)


class Written(NamedTuple, Generic[_KeysT]):
    """The sections that an autoscaler's rules are made of. Each has the keys of all rules."""

    body: _KeysT
    """The autoscaler's: the key `warmUp` of the file is `body.warm_up`. No two rules have the same key."""
    min_replicas: int
    max_replicas: int
    metrics: Sequence[Any]
    """Those of its metrics, in order."""
    metric_keys: Sequence[str]
    """The key of each of them, such as `external`."""
    controller: Any
    queries: Mapping[str, SharedQuery]
    """The shared ones, by name."""
    schedules: Mapping[str, Sequence[Any]]
    """The entries of the shared ones, by name."""

    @property
    def wakes(self) -> bool:
        """Whether a metric has a value while nothing runs."""
        return not all(each.of_instances for each in self.metrics)


def plain_metrics(body: Mapping[str, Any]) -> Iterator[tuple[Loc, Mapping[str, Any]]]:
    """Yield each metric's body from an autoscaler's plain values, with its place; others are reported elsewhere."""
    metrics = body.get("metrics")
    for place, metric in enumerate(metrics if isinstance(metrics, list) else ()):
        for key, of_type in metric.items() if isinstance(metric, dict) else ():
            if isinstance(of_type, dict):
                yield ("metrics", place, key), of_type


def wakes(body: Mapping[str, Any]) -> bool:
    """Return whether a metric has a value while nothing runs, from an autoscaler's plain values.

    True also for metrics that are not a list, which is reported elsewhere.
    """
    metrics = body.get("metrics")
    return not isinstance(metrics, list) or any(
        isinstance(each, dict) and each.get("type") in (MetricType.OBJECT, MetricType.EXTERNAL) for each in metrics
    )


class Rule(ConfiguredRule):
    """A rule, as it is configured for one autoscaler: a frozen dataclass whose fields are its settings.

    A decision asks every rule `follow`, in the order of RULES. If it measures, it then asks each `set_aside`,
    `proposed` for each metric, and `outcomes`; if the target may be scaled, it asks `goal`. A rule whose `follow` calls
    `Cycle.measure` has the first three asked then, before the `follow` of the rules after it. After a write it asks
    `after_write`. All of them only return values: a rule keeps nothing between the calls but its memory.

    msgspec keeps the settings in the state by their names, under `name`: numbers, texts, times, tuples, frozen
    dataclasses and Structs. ConfiguredRule (`autoscaler.model.rule`) has the rest: `name`, which each rule must have;
    `by_calendar`, for each rule that reads `Cycle.civil`; and what rules do outside of decisions.
    """

    __slots__ = ()

    keys: ClassVar[type[Section] | None] = None
    """Its keys of an autoscaler in the file, each with a default that configures nothing; None: there are none."""
    controller_keys: ClassVar[type[Section] | None] = None
    """Its keys of the controller: defaults of all autoscalers."""
    instance_metric_keys: ClassVar[type[Section] | None] = None
    """Its keys of a metric with a sample for each instance."""
    total_metric_keys: ClassVar[type[Section] | None] = None
    """Its keys of a metric whose samples belong to no instance."""
    memory: ClassVar[type[Struct] | None] = None
    """The type of what it remembers; None: it remembers nothing.

    When the wall clock is set, its times move as well: those in structs, tuples and dicts, and no others.
    """
    condition: ClassVar[str | None] = None
    """The type of its condition; None: it has none."""
    by_default: ClassVar[bool] = False
    """Whether an autoscaler that does not configure it has it too, with the defaults of its settings."""

    documents: ClassVar[Sequence[type[Shown]]] = ()
    """Its own keys of the API's documents, each with what `describe` and the page say of them."""
    warns: ClassVar[Collection[str]] = ()
    """Reasons of its condition that need an operator."""
    fails: ClassVar[Collection[str]] = ()
    """Reasons of its condition that say that something failed."""
    rests: ClassVar[str] = ""
    """The reason of its step where the target needs nothing (`Said.rest`)."""
    notices: ClassVar[Mapping[str, NoticeType]] = MappingProxyType({})
    """Reasons of its events of which operators are told, with the kind of notice."""

    @classmethod
    def configured(cls, written: Written[Any]) -> Self | None:
        """Return the rule as an autoscaler's sections have it; None: they do not configure it."""
        return None

    @classmethod
    def plain_problems(cls, body: Mapping[str, Any]) -> Iterable[tuple[Loc, str]]:
        """Return what is wrong with its keys together with other keys, from an autoscaler's plain values.

        The values may have any form, which is checked elsewhere. `check` shows these problems together with all others.
        """
        return ()

    @classmethod
    def problems(cls, written: Written[Any]) -> Iterable[tuple[Loc, str]]:
        """Return what is wrong with its keys together with other keys: the place in the autoscaler, and the message.

        Called only for an autoscaler that has no other problem.
        """
        return ()

    @classmethod
    def hints(cls, written: Written[Any]) -> Iterable[tuple[Loc, str]]:
        """Return what is probably not meant: the place in the autoscaler, and the message."""
        return ()

    def follow(self, cycle: Cycle, memory: Any) -> Said:
        """Return what the rule says. This is the first stage of every cycle, also while the target cannot be read.

        `cycle.state` is None then, and bounds and holds have no effect. An exception fails this autoscaler's cycle.
        """
        return SILENCE

    def set_aside(self, state: TargetState, now: datetime) -> SetAside | None:
        """Return running instances whose samples do not count; None: the rule leaves this to the next rule."""
        return None

    def proposed(self, scaler: Autoscaler, state: TargetState, measured: Measured) -> Measured:
        """Return what one metric proposes with this rule. Called before `outcomes`."""
        return measured

    def outcomes(self, cycle: Cycle, measured: Sequence[Measured], said: Said) -> tuple[Sequence[Measured], Said]:
        """Return what the metrics propose with this rule, and what the rule says now. `said`: what it said before.

        Called only in cycles that read metrics.
        """
        return measured, said

    def goal(self, cycle: Cycle, bounds: Bounds, said: Said, *, held: bool) -> tuple[Goal | None, Said]:
        """Return a size that neither windows nor policies delay, and what the rule says now.

        Called only for a rule that has said something. `bounds`: those in force. `held`: something prevents the size
        from growing now.
        """
        return None, said

    @staticmethod
    def after_write(memory: Any, size: int, at: datetime, *, answered: bool) -> Any:
        """Return what the rule remembers after a write of `size`. `answered`: whether the back end accepted it."""
        return memory

    def ends_rest(self, scaler: Autoscaler) -> Sequence[tuple[str, Reading] | None]:
        """Return which value of each metric ends a rest, in words and as a reading; None: none of this metric."""
        return [None] * len(scaler.metrics)

    @staticmethod
    def bounds(memory: Any, manual: ManualControls) -> tuple[Bound | None, Bound | None]:
        """Return the minimum and the maximum that hold until the next decision; None: it sets none.

        `memory`: after the last decision; None: there is none. `manual`: what operators ask for now.
        """
        return None, None

    @staticmethod
    def hold(manual: ManualControls) -> Hold | None:
        """Return the hold that operators have asked for, even if it prevents no change now; None: they have not."""
        return None

    @staticmethod
    def shown(memory: Any) -> object:
        """Return the part of the memory whose change is news: the daemon then logs and keeps the decision."""
        return None

    @staticmethod
    def needs_operator(memory: Any) -> bool:
        """Return whether an operator must act because of what the rule remembers."""
        return False

    @staticmethod
    def ended(memory: Any) -> Iterable[Event]:
        """Return the events of an autoscaler that has a memory of this rule, and whose configuration lacks it now."""
        return ()
