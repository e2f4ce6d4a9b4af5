"""What the search for better values came to."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from math import prod
from typing import Final

from autoscaler.documents.base import Document
from autoscaler.whatif.changes import Change, autoscaler_changes
from autoscaler.whatif.replay.instance_times import InstanceTime
from autoscaler.whatif.tune.search import Candidate, Point, Score
from autoscaler.whatif.tune.tuning import Evaluated, Setup, Tuned

_DAY: Final = timedelta(hours=23)
"""Nearly: the history begins and ends with cycles."""


class ScoreDocument(Document):
    """What one candidate came to in the part of the history that is searched."""

    instance_hours: float
    unserved: float
    """Share of the demand, 0 to 1, for which nothing was ready: what was missing, times how long. By the targets in
    force now."""
    changes: int
    """Of size."""


class CandidateDocument(ScoreDocument):
    """One of the best choices: none costs less without leaving more of the demand unserved."""

    settings: tuple[Change, ...]
    """What it has otherwise than the configuration; empty: it is the configuration itself."""
    choice: bool
    """Whether it is the one that was chosen."""


class PartDocument(Document):
    """The configuration and the choice over a part of the history."""

    since: datetime
    until: datetime
    seconds: float
    """That count: without gaps, and without the time in which the target was saturated."""
    in_force: ScoreDocument
    choice: ScoreDocument


class TuningDocument(Document):
    """The search for the least instance-hours under a limit on the demand left unserved."""

    name: str
    origin: str
    """What the history was read from."""
    limit: float
    """Of the share of the demand left unserved, 0 to 1."""
    seed: int
    tried: tuple[ScoreDocument, ...]
    """All candidates; the configuration first."""
    combinations: int
    """How many there are of the values that were tried."""
    front: tuple[CandidateDocument, ...]
    """The best choices, by their instance-hours."""
    choice: tuple[Change, ...]
    """What the choice has otherwise; empty: nothing found is better than the configuration."""
    keeps_limit: bool
    """Whether the choice keeps the limit in the part that was searched; false: no candidate does."""
    keeps_limit_held_back: bool
    """Whether it does in what was held back."""
    refuted: bool
    """Whether, in what was held back, the choice breaks the limit, and leaves more unserved than the configuration."""
    searched: PartDocument
    """From the first cycle to the last; the blocks that were held back count in nothing here."""
    held_back: PartDocument
    """All blocks that the search was not judged by."""
    blocks: tuple[PartDocument, ...]
    """Each of them, in order of time."""
    worst: int
    """The place in `blocks`, from 0, of the one in which the choice leaves most of the demand unserved."""
    notes: tuple[str, ...]
    """What the metrics tell of the load: one that looks like a queue, one that does not react to the size."""
    start_up: InstanceTime | None
    """How long an instance took to be ready, at the end of the history; null: it is not known."""
    termination: InstanceTime
    """For how long what leaves is paid for."""
    saturated_seconds: float
    """Left out: at the maximum size and above target, more may have been needed than was seen."""
    short_history: bool
    """Whether the history is of less than a day, so that a day's load is not in it."""
    yaml: str | None
    """The configuration's section `autoscalers` with the choice; null: keep the configuration as it is."""


def tuning_document(
    setup: Setup,
    found: Tuned,
    start_up: InstanceTime | None,
    termination: InstanceTime,
    *,
    origin: str,
    seed: int,
    yaml: str,
    notes: Sequence[str] = (),
) -> TuningDocument:
    """Its document. `start_up` and `termination`: what was used; `yaml`: that of the choice."""
    choice = _settings(setup, found, found.chosen)
    demand = setup.parts.searched
    begin, end = (datetime.fromtimestamp(at, UTC) for at in (demand.at[0], demand.at[-1]))
    blocks = zip(setup.parts.blocks, found.in_force.blocks, found.best.blocks, strict=True)
    return TuningDocument.of(
        found,
        name=setup.scaler.name,
        origin=origin,
        seed=seed,
        tried=tuple([_score(each.score) for each in found.tried]),
        combinations=prod(found.choices.space.sizes),
        front=tuple([_candidate(setup, found, each) for each in found.front]),
        choice=choice,
        keeps_limit_held_back=found.best.held_back.score.unserved <= found.limit,
        searched=_part(begin, end, found.in_force.searched, found.best.searched),
        held_back=_part(
            setup.parts.blocks[0].since, setup.parts.blocks[-1].until, found.in_force.held_back, found.best.held_back
        ),
        blocks=tuple([_part(block.since, block.until, one, other) for block, one, other in blocks]),
        worst=found.best.worst,
        notes=tuple(notes),
        start_up=start_up,
        termination=termination,
        saturated_seconds=setup.parts.saturated_seconds,
        short_history=end - begin < _DAY,
        yaml=yaml if choice and not found.refuted else None,
    )


def _part(since: datetime, until: datetime, in_force: Evaluated, choice: Evaluated) -> PartDocument:
    return PartDocument(
        since=since,
        until=until,
        seconds=in_force.measures.covered_seconds,
        in_force=_score(in_force.score),
        choice=_score(choice.score),
    )


def _score(score: Score) -> ScoreDocument:
    return ScoreDocument(instance_hours=score.cost, unserved=score.unserved, changes=score.changes)


def _candidate(setup: Setup, found: Tuned, candidate: Candidate) -> CandidateDocument:
    score = candidate.score
    return CandidateDocument(
        instance_hours=score.cost,
        unserved=score.unserved,
        changes=score.changes,
        settings=_settings(setup, found, candidate.point),
        choice=candidate.point == found.chosen,
    )


def _settings(setup: Setup, found: Tuned, point: Point) -> tuple[Change, ...]:
    return autoscaler_changes(setup.scaler, found.choices.at(point))
