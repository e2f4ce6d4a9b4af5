"""`autoscaler pause`, `resume` and `override`: stop writes of sizes, or set other bounds, for some time."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Annotated, Any, Final, TypeAlias

import typer

from autoscaler.cli.client import asking
from autoscaler.cli.options import Name, SelectorText, duration, selector
from autoscaler.cli.output import show
from autoscaler.model import Direction
from autoscaler.quantity import format_age, format_duration
from autoscaler.text import clean, count
from autoscaler.view.steering import OverrideDocument, PauseDocument, SteeringDocument
from autoscaler.view.summary import SteeredList

_INT32: Final = 2**31 - 1
For: TypeAlias = Annotated[
    str | None,
    typer.Option("--for", metavar="DURATION", help="How long, as in 2h or 1h30m. Default: until it is resumed."),
]
Reason: TypeAlias = Annotated[
    str, typer.Option("--reason", metavar="TEXT", help="Why; shown with the autoscaler, and logged.")
]
OneName: TypeAlias = Annotated[str | None, typer.Argument(metavar="NAME", help="The autoscaler.")]
Every: TypeAlias = Annotated[bool, typer.Option("--all", help="All autoscalers that are configured.")]


class Way(StrEnum):
    """A direction as people call it."""

    OUT = "out"
    UP = "up"
    IN = "in"
    DOWN = "down"
    BOTH = "both"


_DIRECTIONS: Final = {Way.UP: Direction.OUT, Way.DOWN: Direction.IN}


def pause(
    ctx: typer.Context,
    name: OneName = None,
    *,
    every: Every = False,
    labels: SelectorText = None,
    direction: Annotated[
        Way,
        typer.Option(
            "--direction",
            metavar="DIRECTION",
            help="The direction in which no size is written: out (or up), in (or down), or both.",
        ),
    ] = Way.BOTH,
    span: For = None,
    reason: Reason = "",
) -> None:
    """Stop writing sizes, in one direction or both. Decisions are still made and shown.

    The pause is kept in the state, survives restarts, and replaces an earlier one. With --all or -l one request pauses
    all of them, or none. Autoscalers that are configured later are not paused.
    """
    way = _DIRECTIONS.get(direction) or Direction(direction.value)
    _change(ctx, name, _several(name, every, labels), "pause", {"direction": way.value, "reason": reason}, span)


def resume(
    ctx: typer.Context,
    name: OneName = None,
    *,
    every: Every = False,
    labels: SelectorText = None,
    pause: Annotated[bool, typer.Option("--pause", help="End only the pause.")] = False,
    override: Annotated[bool, typer.Option("--override", help="End only the override.")] = False,
    reason: Reason = "",
) -> None:
    """End the pause and the override, or only one of them. If none is in force, nothing happens.

    With --all or -l one request resumes all of them, or none.
    """
    both = pause == override
    body = {"pause": both or pause, "override": both or override, "reason": reason}
    _change(ctx, name, _several(name, every, labels), "resume", body)


def override(
    ctx: typer.Context,
    name: Name,
    *,
    minimum: Annotated[
        int | None, typer.Option("--min", metavar="N", min=0, max=_INT32, help="In place of minReplicas.")
    ] = None,
    maximum: Annotated[
        int | None, typer.Option("--max", metavar="N", min=1, max=_INT32, help="In place of maxReplicas.")
    ] = None,
    span: For = None,
    reason: Reason = "",
) -> None:
    """Set other bounds. An omitted bound stays as configured; equal --min and --max fix the size.

    The override is kept in the state, survives restarts, and replaces an earlier one. The target's own limits still
    apply.
    """
    if minimum is None and maximum is None:
        raise typer.BadParameter("give one or both", param_hint="--min, --max")
    if minimum is not None and maximum is not None and minimum > maximum:
        raise typer.BadParameter(
            f"--min {minimum} is above --max {maximum}; lower --min, or raise --max", param_hint="--min, --max"
        )
    _change(ctx, name, {}, "override", {"minimum": minimum, "maximum": maximum, "reason": reason}, span)


def _several(name: str | None, every: bool, labels: str | None) -> Mapping[str, Any]:
    """Return what a request about several says of them. Exactly one of the three must be given; else BadParameter."""
    chosen = selector(labels)
    if (name is not None) + every + (chosen is not None) != 1:
        raise typer.BadParameter("give one of the three", param_hint="NAME, --all, --selector")
    if chosen is None:
        return {"all": every}
    if not chosen.requirements:
        raise typer.BadParameter("it matches every autoscaler; use --all", param_hint="--selector")
    return {"labelSelector": chosen.text}


def _change(
    ctx: typer.Context,
    name: str | None,
    several: Mapping[str, Any],
    verb: str,
    given: Mapping[str, Any],
    span: str | None = None,
) -> None:
    """Send the request, and print what is in force then, for `span` as the user wrote it.

    Exits with 1 if it is refused or no daemon answers. Raises typer.BadParameter for a span that is none.
    """
    body = {**given, **_lasting(span)}
    with asking(ctx) as client:
        if name is not None:
            path = f"/autoscalers/{{name}}/{verb}"
            steering = client.change(lambda server: server.post(SteeringDocument, path, name, body=body))
            show([_in_force(name, steering, {verb: span})])
            return
        done = client.change(lambda server: server.post(SteeredList, f"/{verb}", body={**body, **several}))
        what = "resumed" if done.pause is None else _paused(done.pause, datetime.now(UTC), span)
        show([*(f"{clean(one)}: {what}" for one in done.autoscalers), f"{count(done.total, 'autoscaler')}: {what}"])


def _lasting(span: str | None) -> Mapping[str, str]:
    """Return what `--for` adds to a request. Raises typer.BadParameter."""
    given = duration(span, "--for")
    if given is None:
        return {}
    if given <= timedelta():
        raise typer.BadParameter("expected a duration above 0, such as 2h; `resume` ends it", param_hint="--for")
    return {"for": format_duration(given)}


def _in_force(name: str, steering: SteeringDocument, spans: Mapping[str, str | None]) -> str:
    """`spans`: the verb of a request -> how long it is in force from now on, as the user wrote it."""
    now, parts = datetime.now(UTC), []
    pause, override = steering.pause, steering.override
    if pause is not None:
        parts.append(_paused(pause, now, spans.get("pause")))
    if override is not None:
        parts.append(f"{override.bounds} in force {_until(override.until, now, spans.get('override'))}")
    return f"{clean(name)}: " + ("; ".join(parts) or "resumed; no pause or override is in force")


def _paused(pause: PauseDocument, now: datetime, span: str | None) -> str:
    return f"{scope(pause)} is paused {_until(pause.until, now, span)}"


def _until(until: datetime | None, now: datetime, span: str | None) -> str:
    return "until it is resumed" if until is None else f"for {span or format_age(until - now)}"


_SCOPES: Final[Mapping[Direction, str]] = {
    Direction.IN: "scaling in",
    Direction.OUT: "scaling out",
    Direction.BOTH: "scaling",
}


def scope(pause: PauseDocument) -> str:
    """Return what a pause stops: `scaling in`, `scaling`."""
    return _SCOPES[pause.direction]


def asked(given: PauseDocument | OverrideDocument, now: datetime) -> str:
    """Return who asked, for how long and why."""
    end = "until it is resumed" if given.until is None else f"for another {format_age(given.until - now)}"
    return f"by {given.by}, {end}" + (f": {given.reason}" if given.reason else "")
