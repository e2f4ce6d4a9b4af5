"""The result of the search for better values."""

from datetime import UTC, datetime, timedelta
from math import prod
from typing import Final

from autoscaler.documents.base import Document
from autoscaler.whatif.changes import Change, autoscaler_changes
from autoscaler.whatif.compare.measures import Measures
from autoscaler.whatif.replay.instance_times import InstanceTime
from autoscaler.whatif.tune.search import Point, front
from autoscaler.whatif.tune.tuning import Setup, Tuned, score_of

_DAY: Final = timedelta(hours=23)
"""Nearly a day: a history begins and ends with cycles."""


class ScoreDocument(Document):
    """What the search compares."""

    instance_hours: float
    unserved: float
    """The share of the demand left unserved, 0 to 1, by the targets in force now."""
    changes: int
    """Of size."""


class CandidateDocument(ScoreDocument):
    """One of the best combinations: no other costs less without leaving more of the demand unserved."""

    settings: tuple[Change, ...]
    """How it differs from the configuration; empty if it is the configuration."""
    choice: bool
    """Whether it is the choice."""


class PartDocument(Document):
    """The configuration and the choice over a part of the history."""

    since: datetime
    until: datetime
    seconds: float
    """The time that counts: without gaps and saturated cycles."""
    in_force: ScoreDocument
    choice: ScoreDocument


class TuningDocument(Document):
    """The search for the least instance-hours under a limit on the demand left unserved."""

    name: str
    origin: str
    """Where the history was read from."""
    limit: float
    """Of the share of the demand left unserved, 0 to 1."""
    seed: int
    tried: tuple[ScoreDocument, ...]
    """All that were tried; the configuration first."""
    combinations: int
    """The number of combinations that could have been tried."""
    front: tuple[CandidateDocument, ...]
    """The best combinations, by their instance-hours."""
    choice: tuple[Change, ...]
    """How the choice differs from the configuration; empty if nothing better was found."""
    keeps_limit: bool
    """Whether the choice keeps the limit in the part that was searched; false: no combination does."""
    keeps_limit_held_back: bool
    """Whether the choice keeps the limit in the part that was held back."""
    refuted: bool
    """Whether the choice breaks the limit in the part that was held back, and is worse there than the configuration."""
    searched: PartDocument
    """From the first cycle to the last, without the blocks that were held back."""
    held_back: PartDocument
    """All blocks that were held back."""
    blocks: tuple[PartDocument, ...]
    """Each of them, in order of time."""
    worst: int
    """The place in `blocks`, from 0, of the one in which the choice leaves most of the demand unserved."""
    notes: tuple[str, ...]
    """What the metrics show of the load."""
    start_up: InstanceTime | None
    """How long an instance took to be ready, at the end of the history; null if it is unknown."""
    termination: InstanceTime
    """How long an instance that leaves is paid for."""
    saturated_seconds: float
    """The time that does not count: at the maximum and above target, more may have been needed than was measured."""
    short_history: bool
    """Whether the history is shorter than a day, so that it lacks the load of a whole day."""
    yaml: str | None
    """The section `autoscalers` with the choice; null: keep the configuration as it is."""


def tuning_document(setup: Setup, found: Tuned, seed: int, yaml: str) -> TuningDocument:
    """The document of a search. `yaml`: of the choice."""
    demand, best, now = setup.parts.searched, found.best, found.in_force
    begin, end = (datetime.fromtimestamp(at, UTC) for at in (demand.at[0], demand.at[-1]))
    blocks = setup.parts.blocks

    def settings(point: Point) -> tuple[Change, ...]:
        return autoscaler_changes(setup.base.scaler, found.choices.at(point))

    chosen = found.search.best.point
    choice = settings(chosen)
    return TuningDocument.of(
        found,
        limit=found.search.limit,
        name=setup.base.scaler.name,
        origin=setup.origin,
        seed=seed,
        tried=tuple([ScoreDocument.of(each.score) for each in found.search.tried]),
        combinations=prod(found.choices.space.sizes),
        front=tuple(
            [
                CandidateDocument.of(each.score, settings=settings(each.point), choice=each.point == chosen)
                for each in front(found.search.tried)
            ]
        ),
        choice=choice,
        searched=_part(begin, end, now.searched, best.searched),
        held_back=_part(blocks[0].since, blocks[-1].until, now.held_back, best.held_back),
        blocks=tuple(
            [
                _part(block.since, block.until, one, other)
                for block, one, other in zip(blocks, now.blocks, best.blocks, strict=True)
            ]
        ),
        worst=best.worst,
        notes=tuple(setup.notes),
        start_up=now.start_up,
        termination=setup.termination,
        saturated_seconds=setup.parts.saturated_seconds,
        short_history=end - begin < _DAY,
        yaml=yaml if choice and not found.refuted else None,
    )


def _part(since: datetime, until: datetime, in_force: Measures, choice: Measures) -> PartDocument:
    scores = [ScoreDocument.of(score_of(each)) for each in (in_force, choice)]
    return PartDocument(
        since=since, until=until, seconds=in_force.covered_seconds, in_force=scores[0], choice=scores[1]
    )
