"""`autoscaler tune`: the values of an autoscaler that would have cost least."""

import dataclasses
import os
import re
from collections.abc import Sequence
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path
from typing import Annotated, Final

import typer

from autoscaler.cli.entry import entry_lines
from autoscaler.cli.options import (
    Name,
    OutputForm,
    PastSize,
    PastSource,
    Since,
    StartUp,
    Termination,
    Until,
    duration,
    span,
)
from autoscaler.cli.output import Form, exit_on_error, screen, show, show_document
from autoscaler.cli.source import DEFAULT_CONFIG, state_place, unknown
from autoscaler.whatif.commands.pasts import Sources, opened, past_of
from autoscaler.whatif.commands.progress import progress, share_of
from autoscaler.whatif.commands.replay import limits_of
from autoscaler.whatif.documents.tuning import tuning_document
from autoscaler.whatif.past.past import Past
from autoscaler.whatif.replay.demand import DemandRecorder
from autoscaler.whatif.replay.instance_times import Terminations
from autoscaler.whatif.replay.reaction import Reactions
from autoscaler.whatif.replay.replay import Candidate
from autoscaler.whatif.tables.tuning import tuning_lines
from autoscaler.whatif.tune.choices import Group
from autoscaler.whatif.tune.search import Point, Score
from autoscaler.whatif.tune.tuning import Setup, check_queried, check_tunable, conserved_part, split, tuned
from autoscaler.whatif.tune.workers import Workers

_MOST_PROCESSES: Final = 64
_CORES: Final = min(_MOST_PROCESSES, len(os.sched_getaffinity(0)))


def tune(
    name: Name,
    *,
    config_file: Annotated[
        Path,
        typer.Option(
            "--config.file", metavar="FILE", help="The configuration to start from; it says where the state is."
        ),
    ] = DEFAULT_CONFIG,
    since: Since = "2d",
    until: Until = "0",
    unserved: Annotated[
        str | None,
        typer.Option(
            "--max-unserved",
            metavar="PERCENT",
            help="Of the demand, as in 1%. Default: that of the configuration.",
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
    start_up: StartUp = None,
    termination: Termination = None,
    processes: Annotated[
        int,
        typer.Option(
            "--processes",
            metavar="N",
            min=1,
            max=_MOST_PROCESSES,
            help="Processes that evaluate at the same time.",
            show_default="one a core",
        ),
    ] = _CORES,
    prometheus: PastSource = None,
    size: PastSize = None,
    output: OutputForm = Form.TEXT,
) -> None:
    """Search targets, stabilization windows, tolerances and policies for the least instance-hours, and print the YAML.

    Each candidate is replayed over the history of the autoscaler with its load conserved. The limit is on the share of
    the demand left unserved: the replicas that the load needed, by the targets in force now, and that were not ready.
    Four blocks of the history are held back, and the choice is tested on them: trust that. No YAML is printed if the
    choice breaks the limit there and does worse than the configuration. Nothing is written.
    """
    begin, end = span(since, until)
    start_up_time, termination_time = duration(start_up, "--start-up"), duration(termination, "--termination")
    limit, kept = _share(unserved), frozenset(keep or ())
    if len(kept) == len(Group):
        raise typer.BadParameter("nothing is left to choose", param_hint="--keep")
    with exit_on_error(), ExitStack() as closing:
        url, folder, settings = state_place(config_file)
        known = {} if settings is None else {each.name: each for each in settings.autoscalers}
        if settings is None or name not in known:
            raise unknown(name, known)
        base = Candidate(name, known[name], start_up=start_up_time, limits=limits_of(known[name], settings))
        check_tunable(base.scaler)
        archive = closing.enter_context(opened(url, folder, prometheus))
        past = past_of(Sources(archive, settings, prometheus, size), base.scaler, begin, end)
        workers = closing.enter_context(Workers(processes))
        terminations = Terminations()
        setup = _read(past, base, kept, terminations, workers, (begin, end))
        setup = dataclasses.replace(setup, termination=terminations.used(termination_time))
        workers.begin(setup)
        with progress(f"{name}: trying") as done:
            count = 0

            def scores(points: Sequence[Point]) -> Sequence[Score]:
                nonlocal count
                found = list[Score]()
                for score in workers.scores(points):
                    found.append(score)
                    count += 1
                    done(count / candidates)
                return found

            found = tuned(setup, scores, workers.evaluations, candidates, limit, seed)
        yaml = entry_lines(config_file, base.scaler, found.choices.at(found.search.best.point))
        document = tuning_document(setup, found, seed, "\n".join(yaml) + "\n")
        if output is not Form.TEXT:
            show_document(document, output)
            return
        show(tuning_lines(document, screen()))
        if document.yaml is not None:
            show(["", *yaml])


def _read(
    past: Past,
    base: Candidate,
    kept: frozenset[Group],
    terminations: Terminations,
    workers: Workers,
    times: tuple[datetime, datetime],
) -> Setup:
    """Read the history once, and hand it to the workers. Raises AutoscalerError."""
    scaler = base.scaler
    demand, reactions = DemandRecorder(scaler), Reactions(scaler)
    recorded, origins = scaler, dict[str, None]()
    with progress(f"{scaler.name}: reading") as done:
        for each in past.cycles():
            demand.add(each)
            terminations.add(each)
            reactions.add(each)
            workers.add(conserved_part(each, first=not origins))
            recorded = each.scaler
            origins[past.origin] = None
            done(share_of(each.at, *times))
    check_queried(scaler, recorded)
    notes = [each.message for each in reactions.findings()]
    return Setup(base, kept, split(demand.demand(), scaler.name), origin=" and the ".join(origins), notes=notes)


def _share(text: str | None) -> float | None:
    """A percentage as a share from 0 to 1. Raises typer.BadParameter."""
    if text is None:
        return None
    if re.fullmatch(r"\d{1,3}(\.\d{1,6})?%?", text, re.ASCII) and (share := float(text.rstrip("%")) / 100) <= 1:
        return share
    raise typer.BadParameter(
        f"{text[:64]!r} is not a valid share; write it as in 1% or 0.5%",
        param_hint="--max-unserved",
    )
