"""What documents and the log say of open schedules."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from autoscaler.log import line
from autoscaler.model import ManualControls, Rules
from autoscaler.record.state import State
from autoscaler.rules.schedules import Schedules
from autoscaler.view.explain import explanation
from autoscaler.view.story import why
from autoscaler.view.summary import summary
from autoscaler.windows import ScheduleEntry
from tests.decide.build import NOW, QUEUE_15, scaler
from tests.replaced import replace
from tests.view.lives import Recorded, open_state

DAY = timedelta(days=1)
NIGHT = ScheduleEntry("night", "UTC", "0 0 * * *", 2 * DAY, max_replicas=2)


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[State]:
    with open_state(tmp_path) as state:
        yield state


def test_an_open_schedule_is_explained(opened: State) -> None:
    """Its bound has a step with its name, and it is the reason of the decision."""
    life = Recorded(opened.ledger("fleet"), replace(scaler(QUEUE_15), rules=Rules([Schedules((NIGHT,))])), 2)
    made = life.queue(75)
    (record,) = opened.archive.records("web")
    document = explanation(record)
    assert "the maximum of schedule night is 2 (TooManyReplicas) -> 2" in document.lines
    assert document.bounds is not None
    assert (document.bounds.maximum, document.bounds.maximum_of) == (2, "the maximum of schedule night")
    assert why(record.decision) == "queue 37.5 of 15 asks for 5; the maximum of schedule night is 2"
    shown = summary("web", life.autoscaler, made, ManualControls(), configured=True)
    assert [(each.name, each.minimum, each.maximum) for each in dict(shown)["schedules"]] == [("night", None, 2)]
    assert line.keys(made)["schedules"] == ["night"]


def test_an_explanation_foresees_the_end_of_a_schedule(opened: State) -> None:
    """Nothing else changes, and the metric has asked for more all along."""
    ends = (NOW + replace(scaler(QUEUE_15)).sync_period * 4).replace(tzinfo=None)
    night = ScheduleEntry("night", "UTC", start=ends - DAY, end=ends, max_replicas=2)
    life = Recorded(opened.ledger("fleet"), replace(scaler(QUEUE_15), rules=Rules([Schedules((night,))])), 2)
    life.queue(75)
    (record,) = opened.archive.records("web")
    move = explanation(record).if_unchanged
    assert move is not None
    assert (move.size, move.in_seconds.total_seconds()) == (4, 45)
