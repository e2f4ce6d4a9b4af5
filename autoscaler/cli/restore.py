"""`autoscaler restore`: replaces the daemon's state by a backup."""

from pathlib import Path
from typing import Annotated

import typer

from autoscaler.cli.find_daemon import state_place
from autoscaler.cli.options import ConfigFile
from autoscaler.cli.output import exit_on_error
from autoscaler.cli.tables.contents import sentence


def restore(
    file: Annotated[
        Path | None,
        typer.Argument(metavar="FILE", help="The file from `autoscaler backup`; none for a state on PostgreSQL."),
    ] = None,
    *,
    replace: Annotated[
        bool, typer.Option("--replace", help="Replace an existing state. Its file is kept under another name.")
    ] = False,
    config_file: ConfigFile = None,
) -> None:
    """Replace the daemon's state by a backup. The daemon must not run.

    A state on PostgreSQL is restored with pg_restore. This command without FILE then ends the leases and claims that
    the copy still has.
    """
    with exit_on_error():
        from autoscaler.record import backup  # noqa: PLC0415 - slow

        url, folder, _ = state_place(config_file)
        if file is None:
            contents = backup.end_copied(url, folder)
        else:
            contents = backup.restore(url, folder, file, replacing=replace)
        place = backup.place_of(url, folder)
    typer.echo(f"{place}: {sentence(contents)}")
    if contents.kept is not None:
        typer.echo(f"the previous state is kept as {contents.kept}")
