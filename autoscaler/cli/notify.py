"""`autoscaler notify test`: sends one notice, to try the webhook and its receiver."""

import socket
from datetime import UTC, datetime
from uuid import uuid4

import typer

from autoscaler.cli.find_daemon import configuration
from autoscaler.cli.options import ConfigFile, OnlyTest
from autoscaler.cli.output import exit_on_error


def notify(
    what: OnlyTest,  # noqa: ARG001 - there is one
    *,
    config_file: ConfigFile = None,
) -> None:
    """Send a notice to the webhook of the configuration, once. The daemon need not run.

    Exits with 1 unless the receiver accepts it.
    """
    with exit_on_error():
        settings = configuration(config_file)
    webhook = settings.notify.webhook
    if webhook is None:
        typer.echo(f"{settings.path} has no notify.webhook, so it sends no notices", err=True)
        raise typer.Exit(1)
    from autoscaler.model import Notice, NoticeType  # noqa: PLC0415 - slow
    from autoscaler.notify.webhook import Result, post  # noqa: PLC0415 - slow

    now, event_id = datetime.now(UTC), uuid4().hex
    answer = post(webhook, event_id, now, Notice(NoticeType.TEST, socket.gethostname(), "a test"), now)
    typer.echo(f"notice {event_id}: {answer.result}, {answer.detail}", err=answer.result is not Result.DELIVERED)
    if answer.result is not Result.DELIVERED:
        raise typer.Exit(1)
