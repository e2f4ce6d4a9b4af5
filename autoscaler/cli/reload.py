"""`autoscaler reload`: for the service's unit, so that `systemctl reload` fails if the daemon refuses."""

import typer

from autoscaler.cli.options import ConfigFile, ServerUrl
from autoscaler.cli.output import error_lines, exit_on_error
from autoscaler.cli.server import Server
from autoscaler.cli.source import Where


def reload(*, server: ServerUrl = None, config_file: ConfigFile = None) -> None:
    """Reload the daemon's configuration. Exits with 1 and the problems if the daemon refuses it."""
    with exit_on_error():
        problems = Where(server, None, config_file).order(Server.reload)
    if problems:
        lines = ["the reload was refused, and the previous configuration stays in force:", *error_lines(problems)]
        typer.echo("\n".join(lines), err=True)
        raise typer.Exit(1)
