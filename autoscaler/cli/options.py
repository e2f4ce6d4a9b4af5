"""Options that several commands share."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Final, TypeAlias

import typer

from autoscaler.cli.output import Form
from autoscaler.errors import QuantityError, SelectorError
from autoscaler.labels import Selector
from autoscaler.quantity import parse_duration
from autoscaler.times import last_time, parse_time

ELSEWHERE: Final = "give its address with --server or $AUTOSCALER_SERVER"
"""The remedy for a daemon that does not answer."""

ServerUrl: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--server",
        metavar="URL",
        envvar="AUTOSCALER_SERVER",
        help="Where the daemon answers: http://HOST:PORT, https://HOST:PORT or unix:///PATH. "
        "Default: its control socket, then for reading http://127.0.0.1:9797.",
    ),
]
HttpConfigFile: TypeAlias = Annotated[
    Path | None,
    typer.Option("--http.config.file", metavar="FILE", help="Credentials and TLS, in promtool's format."),
]
ConfigFile: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--config.file",
        metavar="FILE",
        help="The daemon's configuration. Default: /etc/autoscaler/autoscaler.yaml, if it exists.",
    ),
]
OutputForm: TypeAlias = Annotated[Form, typer.Option("-o", "--output", metavar="FORMAT", help="text, json or yaml.")]
Name: TypeAlias = Annotated[str, typer.Argument(metavar="NAME", help="The autoscaler.")]
OneName: TypeAlias = Annotated[str | None, typer.Argument(metavar="NAME", help="The autoscaler.")]
"""For commands that also accept several autoscalers."""
SelectorText: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "-l",
        "--selector",
        metavar="SELECTOR",
        help="Those whose labels match: team=shop, env!=test, tier in (web,api), team, !old; joined by commas.",
    ),
]
Every: TypeAlias = Annotated[bool, typer.Option("--all", help="All autoscalers that are configured.")]

TIME_FORMS: Final = "10m (ago), 14:30 or 2026-01-31T14:30 (local time), 2026-01-31T14:30:00Z"
Since: TypeAlias = Annotated[str, typer.Option("--since", metavar="TIME", help=f"The start: {TIME_FORMS}.")]

Until: TypeAlias = Annotated[
    str,
    typer.Option("--until", metavar="TIME", help="The end, in the same forms.", show_default="now"),
]

PastSource: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--prometheus",
        metavar="NAME",
        help="Read the past from this source of the configuration instead of the state.",
    ),
]
PastSize: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--size",
        metavar="QUERY",
        help="With --prometheus: PromQL for the past size of the target. "
        "Default: autoscaler_current_replicas of this autoscaler.",
    ),
]
StartUp: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--start-up",
        metavar="DURATION",
        help="How long an instance takes to become ready, if no instance in the state shows it. Default: 60s.",
    ),
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


def moment(text: str, option: str, *, to_its_end: bool = False) -> datetime:
    """Return the time of an option, in UTC. Raises typer.BadParameter for another form.

    `to_its_end`: return the last time that is shown like a time that is cut to seconds or to thousandths.
    """
    try:
        return (last_time if to_its_end else parse_time)(text, datetime.now(UTC))
    except ValueError as error:
        raise typer.BadParameter(f"{error}; expected {TIME_FORMS}", param_hint=option) from None


def span(since: str, until: str) -> tuple[datetime, datetime]:
    """Return the times of `--since` and `--until`. Raises typer.BadParameter."""
    begin, end = moment(since, "--since"), moment(until, "--until")
    if begin >= end:
        raise typer.BadParameter("must be before --until", param_hint="--since")
    return begin, end
