"""`autoscaler tune`: the values of an autoscaler that would have cost least."""

import os
import re
from collections.abc import Sequence
from contextlib import ExitStack
from datetime import datetime, timedelta
from pathlib import Path
from typing import Annotated, Final, NamedTuple

import typer

from autoscaler.cli.entry import entry_lines
from autoscaler.cli.options import TIME_FORMS, Name, PastCache, PastSize, PastSource, Termination, duration, span
from autoscaler.cli.output import Form, exit_on_error, screen, show, show_document
from autoscaler.cli.source import DEFAULT_CONFIG, state_place, unknown
from autoscaler.model import Autoscaler, ConnectionLimits
from autoscaler.whatif.commands.pasts import Asking, Sources, opened, source_of
from autoscaler.whatif.commands.progress import progress, share_of
from autoscaler.whatif.commands.replay import limits_of
from autoscaler.whatif.documents.tuning import tuning_document
from autoscaler.whatif.past.past import Past
from autoscaler.whatif.replay.demand import DemandRecorder
from autoscaler.whatif.replay.instance_times import InstanceTime, Terminations, start_up_used, termination_of
from autoscaler.whatif.replay.reaction import Reactions
from autoscaler.whatif.tables.tuning import tuning_lines
from autoscaler.whatif.tune.choices import Group
from autoscaler.whatif.tune.search import Point, Score
from autoscaler.whatif.tune.tuning import Setup, Tuned, check_asked, check_tunable, conserved_part, split, tuned
from autoscaler.whatif.tune.workers import Workers

_MOST_PROCESSES: Final = 64
_CORES: Final = min(_MOST_PROCESSES, len(os.sched_getaffinity(0)))


class _Wanted(NamedTuple):
    """How to search."""

    candidates: int
    limit: float | None
    seed: int
    kept: frozenset[Group]
    start_up: timedelta | None
    termination: timedelta | None
    processes: int


class _Searched(NamedTuple):
    """What a search came to."""

    setup: Setup
    found: Tuned
    origin: str
    """What the history was read from."""
    start_up: InstanceTime | None
    """That the configuration in force had at the end."""
    termination: InstanceTime
    notes: Sequence[str]
    """What the metrics tell of the load."""


def tune(
    name: Name,
    *,
    config_file: Annotated[
        Path,
        typer.Option(
            "--config.file", metavar="FILE", help="The configuration to start from; it says where the state is."
        ),
    ] = DEFAULT_CONFIG,
    since: Annotated[
        str, typer.Option("--since", metavar="TIME", help=f"Search the history since then: {TIME_FORMS}.")
    ] = "2d",
    until: Annotated[
        str,
        typer.Option("--until", metavar="TIME", help="The history until then; in the same forms.", show_default="now"),
    ] = "0",
    unserved: Annotated[
        str | None,
        typer.Option(
            "--max-unserved",
            metavar="PERCENT",
            help="Of the demand, as in 1%. Default: what the configuration comes to as it is.",
        ),
    ] = None,
    keep: Annotated[
        list[Group] | None,
        typer.Option("--keep", metavar="WHAT", help="Leave target, stabilization, tolerance or policies as they are."),
    ] = None,
    candidates: Annotated[
        int,
        typer.Option("--candidates", metavar="N", min=1, max=100_000, help="How many combinations are tried at most."),
    ] = 200,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="The same seed tries the same.")] = 0,
    start_up: Annotated[
        str | None,
        typer.Option(
            "--start-up",
            metavar="DURATION",
            help="How long an instance takes to be ready, until one was seen to. "
            "Default: the configuration's controller.startUpSeconds.",
        ),
    ] = None,
    termination: Termination = None,
    processes: Annotated[
        int,
        typer.Option(
            "--processes",
            metavar="N",
            min=1,
            max=_MOST_PROCESSES,
            help="That evaluate at the same time.",
            show_default="one a core",
        ),
    ] = _CORES,
    prometheus: PastSource = None,
    size: PastSize = None,
    cache: PastCache = None,
    output: Annotated[Form, typer.Option("-o", "--output", metavar="FORMAT", help="text, json or yaml.")] = Form.TEXT,
) -> None:
    """Search targets, stabilization windows, tolerances and policies for the least instance-hours, and print the YAML.

    Each candidate is replayed over the autoscaler's history with its load conserved. The limit is on the demand left
    unserved: what the load needed more than was ready, by the targets in force now, times how long. Four blocks of the
    history are held back: what the choice does there, and in the worst of them, is what can be expected of it. No YAML
    is printed if it breaks the limit there and does worse than the configuration. Nothing is written.
    """
    begin, end = span(since, until)
    taken = duration(start_up, "--start-up"), duration(termination, "--termination")
    wanted = _Wanted(candidates, _share(unserved), seed, frozenset(keep or ()), *taken, processes)
    if len(wanted.kept) == len(Group):
        raise typer.BadParameter("nothing is left to choose", param_hint="--keep")
    with exit_on_error(), ExitStack() as closing:
        url, folder, settings = state_place(config_file)
        known = {} if settings is None else {each.name: each for each in settings.autoscalers}
        if settings is None or name not in known:
            raise unknown(name, known)
        scaler = known[name]
        check_tunable(scaler)
        asking = Asking(prometheus, cache, size)
        archive = closing.enter_context(opened(url, folder, asking))
        past = source_of(Sources(archive, settings, asking), scaler, begin, end)
        done = _searched(scaler, limits_of(scaler, settings), past, (begin, end), wanted)
        yaml = entry_lines(config_file, scaler, done.found.choices.at(done.found.chosen))
        document = tuning_document(
            done.setup,
            done.found,
            done.start_up,
            done.termination,
            origin=done.origin,
            seed=seed,
            yaml="\n".join(yaml) + "\n",
            notes=done.notes,
        )
        if output is not Form.TEXT:
            show_document(document, output)
            return
        show(tuning_lines(document, screen()))
        if document.yaml is not None:
            show(["", *yaml])


def _searched(
    scaler: Autoscaler,
    limits: ConnectionLimits,
    past: Past,
    times: tuple[datetime, datetime],
    wanted: _Wanted,
) -> "_Searched":
    """Read the history once, hand it to each process, and search. Raises AutoscalerError."""
    recorder, terminations, reactions = DemandRecorder(scaler), Terminations(), Reactions(scaler)
    recorded: Autoscaler | None = None
    origins = dict[str, None]()
    with Workers(wanted.processes) as workers:
        with progress(f"{past.name}: reading") as tell:
            for each in past.moments():
                recorder.add(each)
                terminations.see(each)
                reactions.see(each)
                workers.add(conserved_part(each, first=not origins))
                recorded = each.scaler
                origins[past.origin] = None
                tell(share_of(each.at, *times))
        if recorded is not None:
            check_asked(scaler, recorded)
        termination = termination_of(wanted.termination, terminations.learnt)
        setup = Setup(
            scaler, wanted.kept, split(recorder.demand(), scaler.name), wanted.start_up, termination.seconds, limits
        )
        workers.begin(setup)
        with progress(f"{past.name}: trying") as tell:
            done = 0

            def scores(points: Sequence[Point]) -> Sequence[Score]:
                nonlocal done
                found = list[Score]()
                for score in workers.scores(points):
                    found.append(score)
                    done += 1
                    tell(done / wanted.candidates)
                return found

            found = tuned(setup, scores, workers.whole, wanted.candidates, wanted.limit, wanted.seed)
    used = start_up_used(found.in_force.start_up, wanted.start_up)
    notes = [each.message for each in reactions.findings]
    return _Searched(setup, found, " and the ".join(origins), used, termination, notes)


def _share(text: str | None) -> float | None:
    """Of a percentage, from 0 to 1. Raises typer.BadParameter."""
    if text is None:
        return None
    if re.fullmatch(r"\d{1,3}(\.\d{1,6})?%?", text, re.ASCII) and (share := float(text.rstrip("%")) / 100) <= 1:
        return share
    raise typer.BadParameter(
        f"{text[:64]!r} is not a valid share; write it as in 1% or 0.5%",
        param_hint="--max-unserved",
    )
