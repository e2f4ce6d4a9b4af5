"""`autoscaler backup`, `restore` and `forget`: what keeps the state of a daemon, or a part of it no longer."""

from pathlib import Path
from typing import Annotated

import typer

from autoscaler.cli.find_daemon import state_place
from autoscaler.cli.options import ConfigFile, Name
from autoscaler.cli.output import exit_on_error
from autoscaler.clock import SystemClock
from autoscaler.record import backup as backups
from autoscaler.record import forgetting
from autoscaler.text import clean, count
from autoscaler.times import rfc3339


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
        url, folder, _ = state_place(config_file)
        contents = backups.back_up(url, folder, file, empty=empty)
        place = backups.place_of(url, folder)
    typer.echo(f"{file}: {_sentence(contents)}, {file.stat().st_size:,} bytes, of {place}")


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
        url, folder, _ = state_place(config_file)
        if file is None:
            contents = backups.end_copied(url, folder)
        else:
            contents = backups.restore(url, folder, file, replacing=replace)
        place = backups.place_of(url, folder)
    typer.echo(f"{place}: {_sentence(contents)}")
    if contents.kept is not None:
        typer.echo(f"the previous state is kept as {contents.kept}")


def forget(name: Name, *, config_file: ConfigFile = None) -> None:
    """Delete an autoscaler from the state: its recommendations and scale events, its decisions and its events.

    Refused while a daemon serves it. A pause or an override stays.
    """
    with exit_on_error():
        url, folder, _ = state_place(config_file)
        targets = forgetting.forget(url, folder, name, SystemClock().moment())
    typer.echo(f"{clean(name)}: forgotten, with {', '.join(clean(str(target)) for target in targets)}")


def _sentence(contents: backups.Contents) -> str:
    """Return `2 autoscalers, the last decision of 2026-01-31T14:30:00Z`."""
    last = "no decision"
    if contents.last is not None:
        last = f"the last decision of {rfc3339(contents.last.replace(microsecond=0))}"
    return f"{count(contents.autoscalers, 'autoscaler')}, {last}"
