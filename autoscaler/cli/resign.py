"""`autoscaler resign`: lets another daemon lead."""

import typer

from autoscaler.cli.options import ELSEWHERE, ConfigFile, ServerUrl
from autoscaler.cli.output import exit_on_error
from autoscaler.cli.server import ServerDown
from autoscaler.cli.source import Where
from autoscaler.errors import ServerError


def resign(*, server: ServerUrl = None, config_file: ConfigFile = None) -> None:
    """Let a standby lead, of the daemons that share a PostgreSQL state: before an upgrade, say.

    The daemon ends its cycles and frees the lease, which a standby takes within `ha.retryPeriod`. It stands by itself,
    and may lead again after twice `ha.leaseDuration`.
    """
    with exit_on_error():
        daemon = Where(server, None, config_file).connect_to_change()
        try:
            problems = daemon.resign()
        except ServerDown as down:
            raise ServerError(f"{down}; start it, or {ELSEWHERE}") from None
        finally:
            daemon.close()
        if problems:
            raise ServerError("; ".join(problems))
    typer.echo("resigned")
