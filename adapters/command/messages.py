"""The messages between the daemon and the programs of a connection. Their JSON Schema is made from it."""

from datetime import datetime
from typing import Annotated, Final, Literal, TypeAlias

from msgspec import Meta, Struct

VERSION: Final = 1
"""Of the messages. A program may refuse another one."""

Size: TypeAlias = Annotated[int, Meta(ge=0, le=2**31 - 1)]
Time: TypeAlias = Annotated[datetime, Meta(tz=True)]
ReadError: TypeAlias = Literal["Unavailable", "NotFound", "NotScalable", "Forbidden"]
WriteError: TypeAlias = ReadError | Literal["NotWritten", "Refused"]


class Message(Struct, frozen=True, rename="camel", omit_defaults=True, forbid_unknown_fields=True):
    """A JSON object with camelCase keys. Other keys are errors."""


class Target(Message, frozen=True):
    """The scaleTargetRef of an autoscaler."""

    name: str
    namespace: str | None = None
    region: str | None = None


class ObserveRequest(Message, frozen=True):
    """Standard input of the program `observe`."""

    version: int
    now: Annotated[Time, Meta(description="The cycle's time.")]
    seconds_left: Annotated[float, Meta(description="After it the program gets SIGTERM.")]
    targets: tuple[Target, ...]


class Instance(Message, frozen=True):
    """One instance of a target."""

    name: Annotated[str, Meta(min_length=1, description="Unique and lasting. Also an identity.")]
    phase: Literal["Pending", "Running", "Failed"] = "Running"
    ready: Annotated[bool | None, Meta(description="null: the back end knows no health.")] = None
    deleting: Annotated[bool, Meta(description="It leaves, and does not count.")] = False
    identities: Annotated[tuple[str, ...], Meta(description="All that a sample's label may contain.")] = ()
    started_at: Time | None = None
    ready_transition: Annotated[Time | None, Meta(description="When `ready` last changed.")] = None
    weight: Annotated[int, Meta(ge=1, description="Units of size that it counts for.")] = 1
    detail: Annotated[str, Meta(description="Why it is pending or not ready.")] = ""


class Reason(Message, frozen=True):
    """Why scaling in one direction has to wait."""

    reason: Annotated[str, Meta(description="A CamelCase word for the condition.")]
    message: str


class Hold(Message, frozen=True):
    """Operations of the back end that scaling must not disturb."""

    scale_out: Reason | None = None
    scale_in: Reason | None = None


class Limits(Message, frozen=True):
    """The target's own bounds on its size."""

    minimum: Size = 0
    maximum: Size | None = None


class TargetAnswer(Message, frozen=True):
    """The state of one target: `replicas`, or `error` and `message`."""

    target: Annotated[Target, Meta(description="As in the request.")]
    replicas: Annotated[Size | None, Meta(description="The size that is set; never the number that runs.")] = None
    status_replicas: Annotated[
        Size | None,
        Meta(description="The size that exists. Default: the instances that neither leave nor have failed."),
    ] = None
    instances: Annotated[
        Annotated[tuple[Instance, ...], Meta(max_length=100_000)] | None, Meta(description="null: they are unknown.")
    ] = None
    limits: Limits = Limits()
    hold: Hold = Hold()
    revision: Annotated[str | None, Meta(description="Changes whenever the target does, and guards a write.")] = None
    warnings: Annotated[tuple[str, ...], Meta(description="What the operator should know.")] = ()
    error: ReadError | None = None
    message: Annotated[str, Meta(description="Of the error: what was found, and the remedy.")] = ""


class ObserveAnswer(Message, frozen=True):
    """Standard output of the program `observe`. A target that it omits has failed."""

    targets: tuple[TargetAnswer, ...]


class Change(Message, frozen=True):
    """One decision to write."""

    id: Annotated[str, Meta(description="Unique to the decision.")]
    size: Annotated[Size, Meta(description="The size to set.")]
    decided_from: Annotated[Size, Meta(description="The size just before.")]
    revision: Annotated[str | None, Meta(description="As `observe` answered.")]
    reason: Annotated[str, Meta(description="One sentence for the back end's own records.")]
    victims: Annotated[tuple[str, ...], Meta(description="Instances to remove first, best victim first.")]


class ScaleRequest(Message, frozen=True):
    """Standard input of the program `scale`."""

    version: int
    now: Annotated[Time, Meta(description="The cycle's time.")]
    seconds_left: Annotated[float, Meta(description="After it the program gets SIGTERM.")]
    target: Target
    change: Change


class ScaleAnswer(Message, frozen=True):
    """Standard output of the program `scale`: `outcome`, or `error` and `message`."""

    outcome: Literal["Written", "Unchanged", "Held", "Conflict"] | None = None
    size: Annotated[Size | None, Meta(description="Of Written: the size that was set. Default: as asked.")] = None
    reason: Annotated[str, Meta(description="Of Held: a CamelCase word for the condition.")] = ""
    error: WriteError | None = None
    message: Annotated[str, Meta(description="Of Held, Conflict and an error.")] = ""
