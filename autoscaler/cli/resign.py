"""`autoscaler resign`: lets another daemon lead."""

import typer

from autoscaler.cli.options import ConfigFile, ServerUrl
from autoscaler.cli.output import exit_on_error
from autoscaler.cli.server import Server
from autoscaler.cli.source import Where
from autoscaler.errors import ServerError


def resign(*, server: ServerUrl = None, config_file: ConfigFile = None) -> None:
    """Let a standby lead, of the daemons that share a PostgreSQL state: before an upgrade, say.

    The daemon ends its cycles and frees the lease, which a standby takes within `ha.retryPeriod`. This daemon
    then stands by, and may lead again after twice `ha.leaseDuration`.
    """
    with exit_on_error():
        problems = Where(server, None, config_file).order(Server.resign)
        if problems:
            raise ServerError("; ".join(problems))
    typer.echo("resigned")
