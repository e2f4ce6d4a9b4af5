"""The text of `tune`."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from autoscaler.layout import Screen
from autoscaler.whatif.changes import Change
from autoscaler.whatif.documents.tuning import CandidateDocument, PartDocument, ScoreDocument, TuningDocument
from autoscaler.whatif.replay.instance_times import InstanceTime, TimeSource
from autoscaler.whatif.tables.tuning import tuning_lines

BEGIN = datetime(2026, 1, 1, 12, tzinfo=UTC)
WINDOW = Change(path="behavior.scaleDown.stabilizationWindowSeconds", before="300", after="60")


def score(hours: float, unserved: float) -> ScoreDocument:
    return ScoreDocument(instance_hours=hours, unserved=unserved, changes=7)


def candidate(hours: float, unserved: float, *settings: Change, choice: bool = False) -> CandidateDocument:
    return CandidateDocument(instance_hours=hours, unserved=unserved, changes=7, settings=settings, choice=choice)


def part(hours: int, choice: ScoreDocument) -> PartDocument:
    until = BEGIN + timedelta(hours=hours)
    return PartDocument(since=BEGIN, until=until, seconds=3600, in_force=score(20, 0.01), choice=choice)


def document(**changes: Any) -> TuningDocument:
    """Three candidates; the choice costs half, and keeps the limit of 5 %."""
    found = TuningDocument(
        name="web",
        origin="state",
        limit=0.05,
        seed=0,
        tried=(score(20, 0.01), score(10, 0.04), score(8, 0.2)),
        combinations=240,
        front=(candidate(8, 0.2, WINDOW), candidate(10, 0.04, WINDOW, choice=True), candidate(20, 0.01)),
        choice=(WINDOW,),
        keeps_limit=True,
        keeps_limit_held_back=True,
        refuted=False,
        searched=part(3, score(10, 0.04)),
        held_back=part(3, score(11, 0.03)),
        blocks=(part(2, score(11, 0.01)), part(3, score(11, 0.045))),
        worst=1,
        notes=(),
        start_up=InstanceTime(seconds=timedelta(seconds=45), source=TimeSource.INSTANCES),
        termination=InstanceTime(seconds=timedelta(0), source=TimeSource.NOTHING),
        saturated_seconds=90,
        short_history=False,
        yaml="",
    )
    return found.model_copy(update=changes)


def text(found: TuningDocument) -> str:
    return "\n".join(tuning_lines(found, Screen()))


def test_the_choice_and_the_configuration_are_marked() -> None:
    assert "choice   10.0" in text(document())
    assert "scaleDown.stabilizationWindowSeconds 60" in text(document())
    assert "now      20.0" in text(document())


def test_small_costs_have_enough_digits() -> None:
    """Over two minutes every choice would cost 0.1."""
    found = document(front=(candidate(0.0612, 0.2, WINDOW), candidate(0.0987, 0.04, WINDOW, choice=True)))
    assert "choice   0.0987 " in text(found)
    assert " 0.0612 " in text(found)


def test_the_time_that_is_left_out_is_named() -> None:
    assert "90s are left out" in text(document())
    assert "left out" not in text(document(saturated_seconds=0))


def test_the_saving_is_given_for_both_parts() -> None:
    assert "50.0% fewer instance-hours" in text(document())
    assert "45.0% fewer instance-hours" in text(document())


def test_a_choice_that_breaks_the_limit_in_the_part_held_back_has_a_warning() -> None:
    """It was fitted to the other part."""
    found = document(keeps_limit_held_back=False, held_back=part(3, score(11, 0.08)))
    assert "the choice leaves 8% unserved, over the limit of 5%" in text(found)
    assert "Note" not in text(document())


def test_a_refuted_choice_is_advised_against() -> None:
    held_back = part(3, score(11, 0.639)).model_copy(update={"in_force": score(20, 0.253)})
    found = text(document(keeps_limit_held_back=False, refuted=True, held_back=held_back))
    assert "Keep what you have: in all that was held back the choice leaves 63.9% of the demand unserved" in found
    assert "and the configuration 25.3%. The limit is 5%." in found
    assert "Note" not in found


def test_a_history_of_less_than_a_day_has_a_warning() -> None:
    """The load of an afternoon says nothing about the night."""
    assert "Warning: the history spans 3h, less than a day" in text(document(short_history=True))
    assert "Warning" not in text(document())


def test_the_worst_block_of_the_choice_is_named() -> None:
    found = text(document())
    assert "In the worst of the 2 blocks that were held back, " in found
    assert "the choice leaves 4.5% of the demand unserved, the configuration 1%." in found


def test_a_metric_that_is_no_load_is_named() -> None:
    assert "jobs looks like a queue" in text(document(notes=("jobs looks like a queue",)))


def test_without_a_better_candidate_the_text_says_so() -> None:
    """Also if none keeps the limit."""
    assert "No candidate is better than the configuration" in text(document(choice=()))
    assert "No candidate keeps the limit of 5%" in text(document(keeps_limit=False))


@pytest.mark.parametrize(
    ("path", "short"),
    [
        ("metrics[cpu].resource.target.averageUtilization", "cpu averageUtilization 60"),
        ("behavior.scaleUp.tolerance", "scaleUp.tolerance 60"),
    ],
)
def test_keys_are_shortened(path: str, short: str) -> None:
    """A line has many of them."""
    found = document(front=(candidate(10, 0.04, Change(path=path, before="300", after="60"), choice=True),))
    assert f" {short}" in text(found)
