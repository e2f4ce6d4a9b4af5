"""Requests of pause, resume and override to the daemon, and their results."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, TypeAlias

import typer

from autoscaler.cli.options import ELSEWHERE, duration, selector
from autoscaler.cli.output import exit_on_error, show
from autoscaler.cli.server import NotFound, Server, ServerDown
from autoscaler.cli.source import Where, unknown
from autoscaler.cli.tables.steering import bounds, scope
from autoscaler.errors import ServerError
from autoscaler.labels import Selector
from autoscaler.quantity import format_age, format_duration
from autoscaler.text import clean, count
from autoscaler.view.steering import PauseDocument, SteeringDocument
from autoscaler.view.summary import AutoscalerList, SteeredList

For: TypeAlias = Annotated[
    str | None,
    typer.Option("--for", metavar="DURATION", help="How long, as in 2h or 1h30m. Default: until it is resumed."),
]
Reason: TypeAlias = Annotated[
    str, typer.Option("--reason", metavar="TEXT", help="Why; shown with the autoscaler, and logged.")
]


@dataclass(frozen=True, slots=True)
class Chosen:
    """The autoscalers that a command targets: one by name, or several."""

    name: str | None
    selector: Selector | None
    """Without a name; None: all."""

    @classmethod
    def of(cls, name: str | None, every: bool, labels: str | None) -> "Chosen":
        """Return the choice. Exactly one of the three must be given. Raises typer.BadParameter."""
        chosen = selector(labels)
        if (name is not None) + every + (chosen is not None) != 1:
            raise typer.BadParameter("give one of the three", param_hint="NAME, --all, --selector")
        if chosen is not None and not chosen.requirements:
            raise typer.BadParameter("it matches every autoscaler; use --all", param_hint="--selector")
        return cls(name, chosen)


def change(where: Where, chosen: Chosen, verb: str, body: Mapping[str, Any], span: str | None = None) -> None:
    """Send the request, and print what is in force then, for `span` as the user wrote it.

    Exits with 1 if it is refused or no daemon answers. Raises typer.BadParameter for a span that is none.
    """
    body = {**body, **lasting(span)}
    with exit_on_error():
        server = where.connect_to_change()
        try:
            lines = (
                _change_several(server, chosen.selector, verb, body, span)
                if chosen.name is None
                else _change_one(server, chosen.name, verb, body, span)
            )
        except ServerDown as down:
            other = "name its configuration with --config.file, or " if where.server is None else "or "
            raise ServerError(f"{down}, and only it can {verb}; start it, {other}{ELSEWHERE}") from None
        finally:
            server.close()
    show(lines)


def _change_one(server: Server, name: str, verb: str, body: Mapping[str, Any], span: str | None) -> list[str]:
    try:
        steering = server.post(SteeringDocument, "autoscalers", name, verb, body=body)
        return [_in_force(name, steering, {verb: span})]
    except NotFound:
        page = server.get(AutoscalerList, "autoscalers", limit=10_000)
        raise unknown(name, [each.name for each in page.autoscalers]) from None


def _change_several(
    server: Server, selector: Selector | None, verb: str, body: Mapping[str, Any], span: str | None
) -> list[str]:
    which = {"all": True} if selector is None else {"labelSelector": selector.text}
    done = server.post(SteeredList, verb, body={**body, **which})
    what = "resumed" if done.pause is None else _paused(done.pause, datetime.now(UTC), span)
    return [*(f"{clean(name)}: {what}" for name in done.autoscalers), f"{count(done.total, 'autoscaler')}: {what}"]


def lasting(span: str | None) -> Mapping[str, str]:
    """What `--for` adds to a request. Raises typer.BadParameter."""
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
        parts.append(f"{bounds(override)} in force {_until(override.until, now, spans.get('override'))}")
    return f"{clean(name)}: " + ("; ".join(parts) or "resumed; no pause or override is in force")


def _paused(pause: PauseDocument, now: datetime, span: str | None) -> str:
    return f"{scope(pause)} is paused {_until(pause.until, now, span)}"


def _until(until: datetime | None, now: datetime, span: str | None) -> str:
    return "until it is resumed" if until is None else f"for {span or format_age(until - now)}"
