"""`autoscaler forget`: deletes an autoscaler from the state."""

from typing import Annotated

import typer

from autoscaler.cli.find_daemon import state_place
from autoscaler.cli.options import ConfigFile
from autoscaler.cli.output import exit_on_error
from autoscaler.clock import SystemClock
from autoscaler.text import clean


def forget(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The autoscaler.")],
    *,
    config_file: ConfigFile = None,
) -> None:
    """Delete an autoscaler from the state: its recommendations and scale events, its decisions and its events.

    Refused while a daemon serves it. A pause or an override stays.
    """
    with exit_on_error():
        from autoscaler.record import forgetting  # noqa: PLC0415 - slow

        url, folder, _ = state_place(config_file)
        targets = forgetting.forget(url, folder, name, SystemClock().moment())
    typer.echo(f"{clean(name)}: forgotten, with {', '.join(clean(str(target)) for target in targets)}")
