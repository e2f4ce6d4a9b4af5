"""`autoscaler backup`: writes the daemon's state into one file."""

from pathlib import Path
from typing import Annotated

import typer

from autoscaler.cli.find_daemon import state_place
from autoscaler.cli.options import ConfigFile
from autoscaler.cli.output import exit_on_error
from autoscaler.cli.tables.contents import sentence


def backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The new file; it must not exist.")],
    *,
    empty: Annotated[bool, typer.Option("--empty", help="Also write a state without autoscalers.")] = False,
    config_file: ConfigFile = None,
) -> None:
    """Write the daemon's whole present state into one new file. The daemon may run.

    A state on PostgreSQL is backed up with pg_dump. A state without autoscalers is refused, because it is probably not
    the one that is meant.
    """
    with exit_on_error():
        from autoscaler.record.backup import back_up, place_of  # noqa: PLC0415 - slow

        url, folder, _ = state_place(config_file)
        contents = back_up(url, folder, file, empty=empty)
        place = place_of(url, folder)
    typer.echo(f"{file}: {sentence(contents)}, {file.stat().st_size:,} bytes, of {place}")
