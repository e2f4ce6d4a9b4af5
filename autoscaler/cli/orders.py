"""`autoscaler reload` and `autoscaler resign`: orders to the daemon."""

import typer

from autoscaler.cli.client import asking
from autoscaler.cli.output import error_lines, warn
from autoscaler.errors import ServerError


def reload(ctx: typer.Context) -> None:
    """Reload the daemon's configuration. Exits with 1 and the problems if the daemon refuses it.

    It is for the service's unit, so that `systemctl reload` fails then.
    """
    with asking(ctx) as client:
        if problems := client.change(lambda server: server.order("reload")):
            warn(["the reload was refused, and the previous configuration stays in force:", *error_lines(problems)])
            raise typer.Exit(1)
    typer.echo("reloaded")


def resign(ctx: typer.Context) -> None:
    """Let a standby lead, of the daemons that share a PostgreSQL state: before an upgrade, say.

    The daemon ends its cycles and frees the lease, which a standby takes within `ha.retryPeriod`. This daemon
    then stands by, and may lead again after twice `ha.leaseDuration`.
    """
    with asking(ctx) as client:
        if problems := client.change(lambda server: server.order("resign")):
            raise ServerError("; ".join(problems))
    typer.echo("resigned")
