"""`autoscaler export`: writes recorded cycles into a file, for a bug report or a test."""

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from autoscaler.cli.options import Name, Since, StateConfigFile, Until, span
from autoscaler.cli.output import exit_on_error
from autoscaler.cli.source import state_place, unknown
from autoscaler.record import Archive
from autoscaler.text import count
from autoscaler.whatif.case.anonymity import Anonymizer
from autoscaler.whatif.case.writing import write_case
from autoscaler.whatif.commands.progress import Progress, progress, share_of
from autoscaler.whatif.past.past import Cycle
from autoscaler.whatif.past.state_past import StatePast


def export(
    name: Name,
    *,
    output_file: Annotated[
        Path, typer.Option("--output-file", metavar="FILE", help="The new file; usually NAME.jsonl.gz.")
    ],
    since: Since = "1h",
    until: Until = "0",
    anonymize: Annotated[
        bool,
        typer.Option("--anonymize", help="Replace names, addresses, queries, label values and messages by other ones."),
    ] = False,
    config_file: StateConfigFile = None,
) -> None:
    """Write the cycles of an autoscaler into a new file: what was observed, remembered and decided in each.

    `autoscaler replay --case FILE` decides them again, on any machine. The cycles come from the daemon's state, as far
    back as `state.detail` reaches; the daemon may be running. Only you may read the file: it holds names and addresses.
    """
    begin, end = span(since, until)
    with exit_on_error():
        url, folder, _ = state_place(config_file)
        with Archive.open_archive(url, folder) as archive, progress(name) as show:
            if not archive.knows(name):
                raise unknown(name, archive.latest())
            past, anonymizer = StatePast(archive, name, begin, end), Anonymizer()
            cycles = _with_progress(past.cycles(), show, begin, end)
            if anonymize:
                name, cycles = anonymizer.name(name), anonymizer.cycles(cycles)
            done = write_case(output_file, name, begin, end, cycles, anonymized=anonymize)
    first, last = (at.isoformat(timespec="seconds") for at in (done.first, done.last))
    typer.echo(f"{output_file}: {count(done.cycles, 'cycle')}, {first} to {last}, {done.bytes:,} bytes")


def _with_progress(cycles: Iterator[Cycle], show: Progress, since: datetime, until: datetime) -> Iterator[Cycle]:
    for each in cycles:
        show(share_of(each.at, since, until))
        yield each
