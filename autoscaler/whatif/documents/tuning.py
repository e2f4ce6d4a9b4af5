"""What the search for better values came to."""

from datetime import datetime, timedelta
from math import prod
from typing import Final

from autoscaler.documents.base import Document
from autoscaler.whatif.changes import autoscaler_changes
from autoscaler.whatif.documents.changes import KeyChangeDocument, change_documents
from autoscaler.whatif.documents.instance_times import InstanceTimeDocument, instance_time_document
from autoscaler.whatif.replay.instance_times import InstanceTime
from autoscaler.whatif.tune.search import Candidate, Point, Score
from autoscaler.whatif.tune.tuning import Setup, Tuned

_DAY: Final = timedelta(hours=23)
"""Nearly: the history begins and ends with cycles."""


class ScoreDocument(Document):
    """What one candidate came to in the part of the history that is searched."""

    instance_hours: float
    time_above_target: float
    """Share of the time, 0 to 1, in which the load needed more than was ready, by the targets in force now."""
    changes: int
    """Of size."""


class CandidateDocument(ScoreDocument):
    """One of the best choices: none costs less without being above target for longer."""

    settings: tuple[KeyChangeDocument, ...]
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
    """The search for the least instance-hours under a limit on the time above target."""

    name: str
    origin: str
    """What the history was read from."""
    limit: float
    """Of the share of the time above target, 0 to 1."""
    seed: int
    tried: tuple[ScoreDocument, ...]
    """All candidates; the configuration first."""
    combinations: int
    """How many there are of the values that were tried."""
    front: tuple[CandidateDocument, ...]
    """The best choices, by their instance-hours."""
    choice: tuple[KeyChangeDocument, ...]
    """What the choice has otherwise; empty: nothing found is better than the configuration."""
    keeps_limit: bool
    """Whether the choice keeps the limit in the part that was searched; false: no candidate does."""
    keeps_limit_held_back: bool
    """Whether it does in the part that was held back."""
    refuted: bool
    """Whether, in that part, the choice breaks the limit and is above target for longer than the configuration."""
    searched: PartDocument
    held_back: PartDocument
    start_up: InstanceTimeDocument | None
    """How long an instance took to be ready, at the end of the history; null: it is not known."""
    termination: InstanceTimeDocument
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
) -> TuningDocument:
    """Its document. `start_up` and `termination`: what was used; `yaml`: that of the choice."""
    choice = _settings(setup, found, found.chosen)
    demand, cut = setup.parts.searched, setup.parts.cut
    begin, end = datetime.fromtimestamp(demand.at[0], cut.tzinfo), datetime.fromtimestamp(demand.at[-1], cut.tzinfo)
    parts = [
        PartDocument(
            since=since,
            until=until,
            seconds=one.measures.covered_seconds,
            in_force=_score(one.score),
            choice=_score(other.score),
        )
        for since, until, one, other in (
            (begin, cut, found.in_force.searched, found.best.searched),
            (cut, end, found.in_force.held_back, found.best.held_back),
        )
    ]
    return TuningDocument(
        name=setup.scaler.name,
        origin=origin,
        limit=found.limit,
        seed=seed,
        tried=tuple([_score(each.score) for each in found.tried]),
        combinations=prod(found.choices.space.sizes),
        front=tuple([_candidate(setup, found, each) for each in found.front]),
        choice=choice,
        keeps_limit=found.keeps_limit,
        keeps_limit_held_back=found.best.held_back.score.above <= found.limit,
        refuted=found.refuted,
        searched=parts[0],
        held_back=parts[1],
        start_up=None if start_up is None else instance_time_document(start_up),
        termination=instance_time_document(termination),
        saturated_seconds=setup.parts.saturated_seconds,
        short_history=end - begin < _DAY,
        yaml=yaml if choice and not found.refuted else None,
    )


def _score(score: Score) -> ScoreDocument:
    return ScoreDocument(instance_hours=score.cost, time_above_target=score.above, changes=score.changes)


def _candidate(setup: Setup, found: Tuned, candidate: Candidate) -> CandidateDocument:
    score = candidate.score
    return CandidateDocument(
        instance_hours=score.cost,
        time_above_target=score.above,
        changes=score.changes,
        settings=_settings(setup, found, candidate.point),
        choice=candidate.point == found.chosen,
    )


def _settings(setup: Setup, found: Tuned, point: Point) -> tuple[KeyChangeDocument, ...]:
    return change_documents(autoscaler_changes(setup.scaler, found.choices.at(point)))
