"""`autoscaler restore`: replaces the daemon's state by a backup."""

from pathlib import Path
from typing import Annotated

import typer

from autoscaler.cli.options import ConfigFile
from autoscaler.cli.output import exit_on_error
from autoscaler.cli.source import state_place
from autoscaler.cli.tables.contents import sentence


def restore(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The file from `autoscaler backup`.")],
    *,
    replace: Annotated[
        bool,
        typer.Option(
            "--replace",
            help="Replace an existing state. An SQLite file is kept under another name; "
            "the rows of a PostgreSQL database are deleted.",
        ),
    ] = False,
    config_file: ConfigFile = None,
) -> None:
    """Replace the daemon's state by a backup. The daemon must not run.

    The state is the one that the configuration names now (state.url). So a backup of SQLite can be moved to PostgreSQL.
    """
    with exit_on_error():
        from autoscaler.record import backup  # noqa: PLC0415 - slow

        url, folder, _ = state_place(config_file)
        contents = backup.restore(url, folder, file, replacing=replace)
        place = backup.place_of(url, folder)
    typer.echo(f"{place}: {sentence(contents)}")
    if contents.kept is not None:
        typer.echo(f"the previous state is kept as {contents.kept}")
