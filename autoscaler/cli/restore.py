"""`autoscaler restore`: a backup becomes the daemon's state."""

from pathlib import Path
from typing import Annotated

import typer

from autoscaler.cli.options import StateConfigFile
from autoscaler.cli.output import exit_on_error
from autoscaler.cli.source import state_place
from autoscaler.cli.tables.contents import sentence


def restore(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What `autoscaler backup` wrote.")],
    *,
    replace: Annotated[
        bool,
        typer.Option(
            "--replace",
            help="Replace a state that is there. An SQLite file stays beside it under another name; "
            "what a PostgreSQL database holds is deleted.",
        ),
    ] = False,
    config_file: StateConfigFile = None,
) -> None:
    """Make the daemon's state what a backup holds. The daemon must not run.

    The state is where the configuration says now (state.url): a backup of SQLite restored to PostgreSQL moves it there.
    """
    with exit_on_error():
        from autoscaler.record import backup  # noqa: PLC0415 - slow

        url, folder, _ = state_place(config_file)
        contents = backup.restore(url, folder, file, replacing=replace)
        place = backup.place_of(url, folder)
    typer.echo(f"{place}: {sentence(contents)}")
    if contents.kept is not None:
        typer.echo(f"what was there before is kept as {contents.kept}")
