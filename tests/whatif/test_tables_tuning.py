"""The plot and the table of the best choices."""

from datetime import UTC, datetime, timedelta
from typing import Any

from autoscaler.layout import Screen
from autoscaler.whatif.changes import Change
from autoscaler.whatif.documents.tuning import CandidateDocument, PartDocument, ScoreDocument, TuningDocument
from autoscaler.whatif.replay.instance_times import InstanceTime, TimeSource
from autoscaler.whatif.tables.scatter import Mark, scatter
from autoscaler.whatif.tables.tuning import short, tuning_lines

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
    """Three candidates; the choice costs half, and keeps a limit of 5 %."""
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


def text(found: TuningDocument, width: int | None = None) -> str:
    return "\n".join(tuning_lines(found, Screen(width)))


def test_marks_stand_where_their_values_are() -> None:
    """The least x to the left, y from 0 below; the level is a line behind them."""
    marks = [Mark(1, 0.0, "a"), Mark(3, 0.1, "b"), Mark(2, 0.05, "c")]
    title, *rows, axis, below = scatter(marks, 0.05, "cost", "above", Screen(80))
    assert (title, below.strip()) == ("above", "cost")
    assert rows[0].startswith("   10% ┤")
    assert rows[0].endswith("b")
    assert rows[-1] == "    0% ┤a"
    (level,) = [row for row in rows if "┄" in row]
    assert level.index("c") == (rows[0].index("b") + rows[-1].index("a")) // 2
    assert axis.split() == ["1", "3"]


def test_marks_of_one_value_have_a_place() -> None:
    """Every candidate may come to the same."""
    rows = list(scatter([Mark(5, 0.0, "a"), Mark(5, 0.0, "b")], 0.0, "cost", "above", Screen(60)))
    assert any("b" in row for row in rows[1:-2])
    assert not any("a" in row for row in rows[1:-2])


def test_a_terminal_shows_the_plot_and_a_pipe_the_table_alone() -> None:
    """The choice and the configuration as it is are marked in both."""
    plot, pipe = text(document(), 100), text(document())
    for sign in "●◇○┄":
        assert sign in plot
        assert sign not in pipe
    assert "choice   10.0" in pipe
    assert "scaleDown.stabilizationWindowSeconds 60" in pipe
    assert "now      20.0" in pipe


def test_a_short_history_costs_little_and_is_told_apart_all_the_same() -> None:
    """Of two minutes each choice would cost 0.1."""
    found = document(front=(candidate(0.0612, 0.2, WINDOW), candidate(0.0987, 0.04, WINDOW, choice=True)))
    assert "choice   0.0987 " in text(found)
    assert " 0.0612 " in text(found)


def test_what_is_left_out_is_said() -> None:
    """Only where something is."""
    assert "90s are left out" in text(document())
    assert "left out" not in text(document(saturated_seconds=0))


def test_what_the_choice_saves_is_said_of_both_parts() -> None:
    """Of the time that was held back it is what can be expected."""
    assert "50.0% fewer instance-hours" in text(document())
    assert "45.0% fewer instance-hours" in text(document())


def test_a_choice_that_breaks_the_limit_in_the_part_held_back_is_warned_of() -> None:
    """It was fitted to the other part."""
    found = document(keeps_limit_held_back=False, held_back=part(3, score(11, 0.08)))
    assert "the choice leaves 8% unserved, over the limit of 5%" in text(found)
    assert "Mind" not in text(document())


def test_a_choice_that_the_part_held_back_refutes_is_advised_against() -> None:
    """It was printed as YAML with a warning above it."""
    held_back = part(3, score(11, 0.639)).model_copy(update={"in_force": score(20, 0.253)})
    found = text(document(keeps_limit_held_back=False, refuted=True, held_back=held_back))
    assert "Keep what you have: in all that was held back the choice leaves 63.9% of the demand unserved" in found
    assert "and the configuration 25.3%. The limit is 5%." in found
    assert "Mind" not in found


def test_a_history_of_less_than_a_day_is_a_warning() -> None:
    """The load of the afternoon says nothing of the night."""
    assert "Warning: the history spans 3h, less than a day" in text(document(short_history=True))
    assert "Warning" not in text(document())


def test_what_the_choice_does_in_the_worst_block_is_said() -> None:
    """It is what can be expected of it."""
    found = text(document())
    assert "In the worst of the 2 blocks that were held back, " in found
    assert "the choice leaves 4.5% of the demand unserved, the configuration 1%." in found


def test_what_a_metric_tells_of_the_load_is_said() -> None:
    """Before anything that rests on it."""
    assert "jobs looks like a queue" in text(document(notes=("jobs looks like a queue",)))


def test_no_better_choice_is_said() -> None:
    """And that no candidate keeps the limit."""
    assert "Nothing that was tried is better" in text(document(choice=()))
    assert "No candidate keeps the limit of 5%" in text(document(keeps_limit=False))


def test_keys_are_shortened_to_what_tells_them_apart() -> None:
    """A line has many of them."""
    assert short("metrics[cpu].resource.target.averageUtilization") == "cpu averageUtilization"
    assert short("behavior.scaleUp.tolerance") == "scaleUp.tolerance"
