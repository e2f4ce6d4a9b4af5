"""Drains of instances that leave: which have begun, and how they ended. They change no size.

The memory of a drain is committed with the first cycle that sees its instance wait, before its action begins, and again
with the cycle that sees its end. The action itself runs outside of cycles (`autoscaler.drain`).
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated, Final, Self

from msgspec import Struct
from msgspec.structs import replace
from pydantic import AfterValidator, Field, Strict, ValidationInfo, field_validator, model_validator

from autoscaler.document import Document
from autoscaler.fields.part import Part
from autoscaler.fields.types import AdapterName, PositiveDuration, Section, Text, at_most, scope_of
from autoscaler.model import AwaitingDrain, DrainOutcome, DrainReport, Event, EventType
from autoscaler.quantity import format_age, format_duration
from autoscaler.rules.rule import Cycle, Rule, Said, Written
from autoscaler.rules.shown import Line, ShownInstance, ShownSettings
from autoscaler.target import Adapter, Command

BEGAN: Final = "DrainBegan"
"""Of an event."""
ENDED: Final = "DrainEnded"
"""Of an event."""
_HOW: Final = {
    DrainOutcome.DONE: "is drained and was let go",
    DrainOutcome.TIMED_OUT: "was let go at the drain's timeout",
    DrainOutcome.GONE: "is gone, or was let go by its back end or another client",
}


class DrainAction(StrEnum):
    """How an instance is drained, as the configuration calls it."""

    NOMAD = "nomad"
    """Its Nomad node is drained."""
    HTTP = "http"
    """A URL of the instance is asked until it answers that the instance is drained."""
    COMMAND = "command"
    """A program runs on the daemon's machine until it succeeds."""


@dataclass(frozen=True, slots=True)
class NodeDrainRule:
    """A drain of the instance's node."""

    adapter: str
    """The connection whose adapter drains nodes."""
    deadline: timedelta
    """After which the back end ends what is left on the node."""


ACTIONS: Final = tuple(DrainAction)
MAX_TIMEOUT: Final = timedelta(hours=48)
"""No Auto Scaling group waits longer. Source: User Guide, "Amazon EC2 Auto Scaling lifecycle hooks"."""
_SHARE: Final = 4 / 5
"""Of the timeout: a node's deadline. What Nomad stops at it still has its `kill_timeout`."""
_URL: Final = re.compile(r"https?://\{address\}(:[0-9]{1,5})?(/[!-~]*)?")
_MARK: Final = re.compile(r"\{[^{}]*\}")
_MARKS: Final = frozenset({"{address}", "{instance}"})


def _check_url(url: str) -> str:
    if not _URL.fullmatch(url):
        raise ValueError(
            "this is not a valid drain URL; its host is the instance's address, as in "
            "http://{address}:8080/drain?of={instance}"
        )
    if unknown := sorted(set(_MARK.findall(url)) - _MARKS):
        raise ValueError(f"{unknown[0][:64]} stands for nothing; write {{address}} or {{instance}}")
    return url


def _drains_nodes(name: str, info: ValidationInfo) -> str:
    kind = scope_of(info)["adapters"].get(name)
    if kind is not None and not kind.implements("drain_node"):
        raise ValueError(f"adapter {name!r} drains no nodes; name a connection of type nomad")
    return name


class NomadKeys(Section):
    """Drains the Nomad node that is the instance."""

    adapter: Annotated[AdapterName, AfterValidator(_drains_nodes)]
    """The name of the Nomad connection in `adapters`."""
    deadline: PositiveDuration | None = None
    """After which Nomad stops the allocations that are left. Default: four fifths of the drain's timeout."""


@dataclass(frozen=True, slots=True)
class HttpDrainRule(Part):
    """Asks the instance until it answers that it is drained."""

    url: Annotated[Text, AfterValidator(_check_url)]
    """Is posted to every few seconds. `{address}` is the instance's private address, `{instance}` its name."""
    until: Annotated[int, Strict(), Field(ge=200, le=599)] = 200
    """The status that ends the drain. After any other answer the daemon asks again."""


class DrainKeys(Section):
    """What happens to an instance that leaves before its back end ends it: exactly one of nomad, http and command."""

    hook: Text | None = None
    """The lifecycle hook on which instances wait (aws-asg). Default: the group's only terminating hook."""
    timeout: Annotated[PositiveDuration, at_most(MAX_TIMEOUT)] = timedelta(minutes=15)
    """After which an instance is let go, drained or not; at most 48h."""
    nomad: NomadKeys | None = None
    """Drains the Nomad node that is the instance."""
    http: HttpDrainRule | None = None
    """Asks the instance until it answers that it is drained."""
    command: Command | None = None
    """Runs a program on the daemon's machine until it exits with 0; its path is absolute, and no shell runs."""

    @model_validator(mode="after")
    def _one_action(self) -> Self:
        given = [action for action in ACTIONS if getattr(self, action) is not None]
        if len(given) != 1:
            found = f"found {' and '.join(given)}; keep one" if given else "found none; add one"
            raise ValueError(f"expected exactly one of {', '.join(ACTIONS)}, {found}")
        deadline, timeout = None if self.nomad is None else self.nomad.deadline, self.timeout
        if deadline is not None and deadline > timeout:
            raise ValueError(
                f"deadline {format_duration(deadline)} of nomad is longer than timeout {format_duration(timeout)}, "
                "after which the instance is let go; shorten it, or lengthen timeout"
            )
        return self

    def problem(self, adapter: str, kind: type[Adapter]) -> str | None:
        """Return what an autoscaler on this connection, of this type, cannot have of it; None: it can have all."""
        known = kind.drain_keys
        given = [key for key in ("hook", *ACTIONS) if getattr(self, key) is not None]
        if not known:
            return f"adapter {adapter!r} cannot keep an instance that leaves, so nothing can be drained; remove drain"
        wrong = next((key for key in given if key not in known), None)
        return wrong and f"adapter {adapter!r} does not take {wrong}; known: {', '.join(sorted(known))}"


class Keys(Section):
    """The key of an autoscaler."""

    drain: DrainKeys | None = None
    """What happens to an instance that leaves before its back end ends it. Default: nothing."""

    @field_validator("drain")
    @classmethod
    def _drainable(cls, drain: DrainKeys | None, info: ValidationInfo) -> DrainKeys | None:
        ref = info.data.get("scale_target_ref")
        kind = None if ref is None else scope_of(info)["adapters"].get(ref.adapter)
        problem = None if drain is None or ref is None or kind is None else drain.problem(ref.adapter, kind)
        if problem is not None:
            raise ValueError(problem)
        return drain


class Drain(Struct, frozen=True, gc=False):
    """The drain of one instance, from the first cycle that sees it wait until the instance is gone."""

    instance: str
    began: datetime
    action: DrainAction
    detail: str = ""
    """How the action went so far: "its node has allocations", "it answered 503"; may be empty."""
    ended: datetime | None = None
    """None: it is under way."""
    outcome: DrainOutcome | None = None
    """None: it is under way."""


class DrainMemory(Struct, frozen=True, gc=False):
    """The drains of instances that wait to be let go, and of those just gone."""

    drains: tuple[Drain, ...] = ()


class ShownDrain(ShownSettings):
    """How instances are drained."""

    drain: str | None = None
    """What happens to an instance that leaves, such as `by command, for at most 15m`; null: nothing."""

    @classmethod
    def of_rule(cls, rule: "DrainRule") -> "ShownDrain":
        """Return the way and the time."""
        hook = "" if rule.hook is None else f" on the hook {rule.hook}"
        return cls(drain=f"by {rule.action}{hook}, for at most {format_duration(rule.timeout)}")

    def as_lines(self) -> Iterable[Line]:
        """Yield the way and the time."""
        if self.drain is not None:
            yield Line("Drain", self.drain)


class DrainDocument(Document):
    """The drain of an instance that leaves, under way."""

    action: DrainAction
    began: datetime
    detail: str
    """How the action went so far; may be empty."""


class ShownInstanceDrain(ShownInstance):
    """The drain of an instance."""

    drain: DrainDocument | None = None
    """null: it has none, or it has ended."""

    @classmethod
    def of_memory(cls, memory: DrainMemory) -> "Mapping[str, ShownInstanceDrain]":
        """Return instance's name -> its drain, for the drains under way."""
        return {each.instance: cls(drain=DrainDocument.of(each)) for each in memory.drains if each.ended is None}

    def words(self, now: datetime) -> str:
        """Return how the instance drains, since when, and the last answer; empty: it does not."""
        if self.drain is None:
            return ""
        detail = f": {self.drain.detail}" if self.drain.detail else ""
        return f"drains by {self.drain.action} for {format_age(now - self.drain.began)}{detail}"


@dataclass(frozen=True, slots=True)
class DrainRule(Rule):
    """How an autoscaler's instances are drained. Exactly one of `nomad`, `http` and `command` is given."""

    name = "drain"
    keys = Keys
    memory = DrainMemory
    documents = (ShownDrain, ShownInstanceDrain)
    follows_target = True

    timeout: timedelta = timedelta(minutes=15)
    """After which an instance is let go, drained or not."""
    hook: str | None = None
    """The lifecycle hook on which instances wait (AWS). None: the group's only terminating hook."""
    nomad: NodeDrainRule | None = None
    http: HttpDrainRule | None = None
    command: tuple[str, ...] = ()
    """The program and its arguments; the program's path is absolute."""

    @property
    def action(self) -> DrainAction:
        """Which of the three it is."""
        if self.nomad is not None:
            return DrainAction.NOMAD
        return DrainAction.COMMAND if self.http is None else DrainAction.HTTP

    @classmethod
    def configured(cls, written: Written[Keys]) -> "DrainRule | None":
        """Return the rule that the file has."""
        own = written.body.drain
        if own is None:
            return None
        nomad = own.nomad
        deadline = _SHARE * own.timeout if nomad is None or nomad.deadline is None else nomad.deadline
        return cls(
            timeout=own.timeout,
            hook=own.hook,
            nomad=None if nomad is None else NodeDrainRule(nomad.adapter, deadline),
            http=own.http,
            command=tuple([str(word) for word in own.command or ()]),  # msgspec writes no subclass of str
        )

    def simulated(self) -> None:
        """Return None: nothing is drained."""
        return

    def follow(self, cycle: Cycle, memory: DrainMemory | None) -> Said:
        """Return the drains under way and those just ended.

        A dry run drains nothing. An instance whose drain has ended is remembered while its back end lists it, so that
        it is not drained again.
        """
        known = () if memory is None else memory.drains
        state = cycle.state
        if cycle.scaler.dry_run:
            return Said(None, () if memory is None else tuple(self.ended(memory)))
        if state is None or state.awaiting_drain is None or (not state.awaiting_drain and not known):
            return Said(memory)
        reports = {each.instance: each for each in cycle.observed.drains}
        listed = {each.name for each in state.instances}
        return _follow(self, state.awaiting_drain, listed, reports, {each.instance: each for each in known}, cycle.now)

    @staticmethod
    def ended(memory: DrainMemory) -> Iterable[Event]:
        """Return an event for each drain under way, which ends because the configuration no longer has it."""
        text = "is no longer drained, because the configuration has changed"
        return [_event(each, ENDED, text) for each in memory.drains if each.ended is None]


def drains_of(memories: Mapping[str, object]) -> tuple[Drain, ...]:
    """Return the drains under way and those just ended, from what an autoscaler's rules remember."""
    memory = memories.get(DrainRule.name)
    return memory.drains if isinstance(memory, DrainMemory) else ()


def _follow(
    rule: DrainRule,
    awaiting: Sequence[AwaitingDrain],
    listed: Collection[str],
    reports: Mapping[str, DrainReport],
    known: Mapping[str, Drain],
    now: datetime,
) -> Said:
    waiting = {each.instance for each in awaiting}
    drains, events = list[Drain](), list[Event]()
    for before in known.values():
        drain = _followed(before, reports.get(before.instance), waits=before.instance in waiting, now=now)
        if drain.ended is not None and before.ended is None:
            events.append(_ended(drain, now))
        if drain.ended in (None, now) or drain.instance in listed:
            drains.append(drain)
    for each in awaiting:
        if each.instance not in known:
            drain = Drain(each.instance, now, rule.action)
            drains.append(drain)
            timeout = format_duration(rule.timeout)
            events.append(_event(drain, BEGAN, f"is drained by {rule.action}, for at most {timeout}"))
    return Said(DrainMemory(tuple(drains)) if drains else None, tuple(events))


def _followed(drain: Drain, report: DrainReport | None, *, waits: bool, now: datetime) -> Drain:
    if drain.ended is not None:
        return drain
    outcome = None if report is None else report.outcome
    if report is not None and report.detail != drain.detail:
        drain = replace(drain, detail=report.detail)
    if not waits:
        return replace(drain, ended=now, outcome=outcome or DrainOutcome.GONE)
    if report is not None and outcome is not None and report.released:
        return replace(drain, ended=now, outcome=outcome)
    return drain


def _ended(drain: Drain, now: datetime) -> Event:
    how = _HOW[drain.outcome or DrainOutcome.GONE]
    took = format_age(now - drain.began)
    text = f"{how} after {took}{f': {drain.detail}' if drain.detail else ''}"
    return _event(drain, ENDED, text)


def _event(drain: Drain, reason: str, text: str) -> Event:
    late = drain.outcome is DrainOutcome.TIMED_OUT
    return Event(EventType.WARNING if late else EventType.NORMAL, reason, f"instance {drain.instance} {text}")
