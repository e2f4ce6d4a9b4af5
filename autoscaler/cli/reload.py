"""`autoscaler reload`: for the service's unit, so that `systemctl reload` fails if the daemon refuses."""

import typer

from autoscaler.cli.options import ELSEWHERE, ConfigFile, ServerUrl
from autoscaler.cli.output import error_lines, exit_on_error
from autoscaler.cli.server import ServerDown
from autoscaler.cli.source import Where
from autoscaler.errors import ServerError


def reload(*, server: ServerUrl = None, config_file: ConfigFile = None) -> None:
    """Reload the daemon's configuration. Exits with 1 and the problems if the daemon refuses it."""
    with exit_on_error():
        daemon = Where(server, None, config_file).connect_to_change()
        try:
            problems = daemon.reload()
        except ServerDown as down:
            raise ServerError(f"{down}; start it, or {ELSEWHERE}") from None
        finally:
            daemon.close()
    if problems:
        lines = ["the reload was refused, and the previous configuration stays in force:", *error_lines(problems)]
        typer.echo("\n".join(lines), err=True)
        raise typer.Exit(1)
