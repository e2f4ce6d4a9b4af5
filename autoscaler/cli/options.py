"""Options that several commands share."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final, TypeAlias

import typer

from autoscaler.cli.output import Form
from autoscaler.errors import QuantityError, SelectorError
from autoscaler.labels import Selector
from autoscaler.quantity import parse_duration
from autoscaler.service import CONFIG
from autoscaler.times import last_time, parse_time

ServerUrl: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--server",
        metavar="URL",
        envvar="AUTOSCALER_SERVER",
        help="Where the daemon answers: http://HOST:PORT, https://HOST:PORT or unix:///PATH. Default: the daemon that "
        "runs the file of --config.file, the service, then http://127.0.0.1:9797.",
    ),
]
HttpConfigFile: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--http.config.file", metavar="FILE", help="Credentials and TLS for requests to it, in promtool's format."
    ),
]
ConfigFile: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--config.file",
        metavar="FILE",
        help=f"The daemon's configuration. Default: {CONFIG}, if it exists.",
    ),
]


@dataclass(frozen=True, slots=True)
class Where:
    """The options that locate the daemon and, where none answers, its state."""

    server: ServerUrl = None
    """--server or $AUTOSCALER_SERVER; None: neither is given."""
    http_config_file: HttpConfigFile = None
    config_file: ConfigFile = None
    """The daemon's configuration, which names its control socket and its state; None: the service's."""


OutputForm: TypeAlias = Annotated[Form, typer.Option("-o", "--output", metavar="FORMAT", help="text, json or yaml.")]


class Action(StrEnum):
    """What is done with an adapter or the webhook."""

    TEST = "test"


OnlyTest: TypeAlias = Annotated[Action, typer.Argument(metavar="ACTION", help="The only action is test.")]
Name: TypeAlias = Annotated[str, typer.Argument(metavar="NAME", help="The autoscaler.")]
SelectorText: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "-l",
        "--selector",
        metavar="SELECTOR",
        help="Those whose labels match: team=shop, env!=test, tier in (web,api), team, !old; joined by commas.",
    ),
]

TIME_FORMS: Final = "10m (ago), +10m (from now), 14:30 or 2026-01-31T14:30 (local time), 2026-01-31T14:30:00Z"
Since: TypeAlias = Annotated[str, typer.Option("--since", metavar="TIME", help=f"The start: {TIME_FORMS}.")]
Until: TypeAlias = Annotated[str, typer.Option("--until", metavar="TIME", help="The end, in the same forms.")]
At: TypeAlias = Annotated[
    str | None, typer.Option("--at", metavar="TIME", help=f"The time that is asked about: {TIME_FORMS}.")
]


def duration(text: str | None, option: str) -> timedelta | None:
    """Return the duration of an option; None: it is not given. Raises typer.BadParameter."""
    try:
        return None if text is None else parse_duration(text)
    except QuantityError as error:
        raise typer.BadParameter(str(error), param_hint=option) from None


def selector(text: str | None) -> Selector | None:
    """Return the selector of `-l`. Raises typer.BadParameter."""
    try:
        return None if text is None else Selector.parse(text)
    except SelectorError as error:
        raise typer.BadParameter(str(error), param_hint="--selector") from None


def instant(text: str, option: str) -> datetime:
    """Return the time of an option, in UTC. Raises typer.BadParameter for another form.

    Shown times are cut to seconds or to thousandths: `--since` is the first time that is shown like this one, `--until`
    and `--at` are the last.
    """
    try:
        return (parse_time if option == "--since" else last_time)(text, datetime.now(UTC))
    except ValueError as error:
        raise typer.BadParameter(f"{error}; write {TIME_FORMS}", param_hint=option) from None


def span(since: str, until: str) -> tuple[datetime, datetime]:
    """Return the times of `--since` and `--until`. Raises typer.BadParameter."""
    begin, end = instant(since, "--since"), instant(until, "--until")
    if begin >= end:
        raise typer.BadParameter("must be before --until", param_hint="--since")
    return begin, end
