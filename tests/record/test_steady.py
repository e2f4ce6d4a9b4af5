"""A cycle in which only time goes by writes no memory, and the memory keeps its windows all the same."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import event, select

from autoscaler.decide import decide
from autoscaler.errors import StateError
from autoscaler.model import Autoscaler, History, Observation, Observed
from autoscaler.record import schema
from autoscaler.record.ledger import Ledger
from tests.clocks import FakeClock
from tests.decide.build import state as target
from tests.decide.build import value
from tests.record.conftest import Opener, each_database
from tests.record.samples import FLEET, QUEUE, START, scaler
from tests.replaced import replace

PERIOD = timedelta(seconds=15)
NAMES = ("api", "job", "web")
SIZE = 6


def queue(name: str) -> Autoscaler:
    return replace(scaler(name), metrics=(QUEUE,))


class Fleet:
    """Cycles of several autoscalers of one shard, whose targets have the same size all the time."""

    def __init__(self, opener: Opener, names: Sequence[str] = NAMES) -> None:
        self.opener, self.clock = opener, FakeClock(START)
        self.scalers = {name: queue(name) for name in names}
        self.open()

    def open(self) -> None:
        """Open the state, as after a kill."""
        self.opener.close()
        self.state = self.opener.state(clock=self.clock)
        self.ledger: Ledger = self.state.ledger(FLEET)
        self.follow()

    def follow(self) -> None:
        self.ledger.follow(list(self.scalers.values()))
        self.ledger.claim()

    def history(self) -> dict[str, History]:
        self.ledger.follow_clock(self.clock.moment())
        return dict(self.ledger.recall(list(self.scalers.values())))

    def cycle(self, load: int = SIZE, failing: Sequence[str] = ()) -> dict[str, int | None]:
        """Decide about all but those that fail. Returns the sizes that are wanted."""
        self.clock.advance(PERIOD.total_seconds())
        known = self.history()
        seen = {name: Observation(target(SIZE), (value(load * 1000),)) for name in known if name not in failing}
        made = [decide(self.scalers[name], seen[name], known[name], self.clock.now()) for name in seen]
        still = [replace(one, change=None) for one in made]
        assert self.ledger.record(self.scalers, Observed(seen), still) == {}
        return {one.name: one.desired for one in made}

    def written(self) -> list[str]:
        """Return the statements of a steady cycle that write memories."""
        found = list[str]()

        def note(_c: Any, _cursor: Any, statement: str, parameters: Any, *_: Any) -> None:
            found.append(statement)

        engine = self.ledger._context.database._engine
        event.listen(engine, "before_cursor_execute", note)
        self.cycle()
        event.remove(engine, "before_cursor_execute", note)
        return [one for one in found if one.startswith("UPDATE autoscaler")]


@pytest.fixture
def fleet(opener: Opener) -> Fleet:
    found = Fleet(opener)
    for _ in range(3):
        found.cycle()
    return found


@each_database
def test_a_steady_cycle_writes_no_memory(fleet: Fleet) -> None:
    assert fleet.written() == []
    fleet.cycle(failing=["api"])
    assert len(fleet.written()) == 1, "api is written again"
    assert fleet.written() == []


def test_a_window_holds_after_ten_steady_minutes_and_a_kill(opener: Opener) -> None:
    """The load drops while the daemon is down. The last recommendation is as old as the last commit, not as the row."""
    fleet = Fleet(opener)
    for _ in range(40):
        fleet.cycle()
    before = fleet.history()
    fleet.open()
    assert fleet.history() == before
    fleet.clock.advance(240)
    assert fleet.cycle(load=1) == dict.fromkeys(NAMES, SIZE), "the window of five minutes has not ended"
    fleet.clock.advance(60)
    assert fleet.cycle(load=1) == dict.fromkeys(NAMES, 1)


def test_an_autoscaler_that_fails_keeps_the_time_of_its_last_decision(fleet: Fleet) -> None:
    """Its shard goes on to commit, and its own window goes by."""
    for _ in range(30):
        fleet.cycle(failing=["api"])
    before = fleet.history()
    assert before["web"].at == before["api"].at + 30 * PERIOD  # type: ignore[operator]  # both were decided
    fleet.open()
    assert fleet.history() == before
    assert fleet.cycle(load=1) == {"api": 1, "job": SIZE, "web": SIZE}


def test_an_autoscaler_that_leaves_the_shard_keeps_the_time_of_its_last_decision(fleet: Fleet) -> None:
    """Another shard decides about it from then on, and this one must not make it younger."""
    before, api = fleet.history()["api"], fleet.scalers.pop("api")
    fleet.follow()
    other = fleet.state.ledger("other")
    other.follow([api])
    other.claim()
    fleet.cycle()
    other.follow_clock(fleet.clock.moment())
    assert other.recall([api])["api"] == before
    for _ in range(3):
        fleet.cycle()
    fleet.scalers["api"] = api
    other.end()
    fleet.follow()
    assert fleet.history()["api"] == before


@each_database
def test_a_superseded_shard_makes_no_memory_younger(fleet: Fleet) -> None:
    before = fleet.history()
    fleet.ledger = fleet.state.ledger(FLEET)
    fleet.follow()
    fleet.cycle(failing=["api"])
    fleet.cycle(failing=["api", "job"])
    fleet.open()
    after = fleet.history()
    assert after["api"] == before["api"]
    assert after["job"].at == before["job"].at + PERIOD  # type: ignore[operator]  # it was decided


def test_the_newest_decision_is_read_from_the_recorded_cycles(fleet: Fleet) -> None:
    fleet.cycle(failing=["api"])
    known = fleet.history()
    fleet.opener.close()
    latest = fleet.opener.archive().latest()
    assert {name: made.now for name, made in latest.items()} == {name: each.at for name, each in known.items()}


@each_database
def test_many_writers_are_deleted_in_steps(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("autoscaler.record.housekeeping._ROWS_AT_ONCE", 2)

    def others() -> int:
        with fleet.ledger._context.readers.begin() as connection:
            ids = connection.execute(select(schema.writer.c.id)).scalars().all()
        return len([one for one in ids if one >= schema.FIRST_WRITER]) - 1

    for _ in range(3):
        fleet.open()
        fleet.cycle()
    assert others() == 3
    for left in (1, 0):
        fleet.state.tidy(fleet.clock.now())
        assert others() == left


@each_database
def test_a_state_that_lost_commits_is_noticed(fleet: Fleet) -> None:
    """The writer's row is an older one, so the memories are, too."""
    before = fleet.history()
    with fleet.ledger._context.database.writing() as connection:
        connection.execute(schema.writer.update().values(commits=schema.writer.c.commits - 1))
    with pytest.raises(StateError, match="does not hold what this daemon wrote last"):
        fleet.cycle()
    assert fleet.history() == before, "what this daemon knows is newer"
    fleet.cycle()
    assert fleet.history()["web"].at == before["web"].at + 2 * PERIOD  # type: ignore[operator]  # it was decided


def test_a_cycle_that_was_not_recorded_makes_no_memory_younger(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    """An autoscaler leaves the shard after a commit that failed."""
    before, api = fleet.history()["api"], fleet.scalers["api"]

    def fail(*_: object) -> None:
        raise StateError("the disk is full")

    with monkeypatch.context() as failing:
        failing.setattr("autoscaler.record.ledger.save_sightings", fail)
        with pytest.raises(StateError, match="disk"):
            fleet.cycle()
    del fleet.scalers["api"]
    fleet.follow()
    other = fleet.state.ledger("other")
    other.follow([api])
    other.claim()
    other.follow_clock(fleet.clock.moment())
    assert other.recall([api])["api"] == before


def test_a_lost_departure_makes_no_memory_younger(fleet: Fleet) -> None:
    """A standby is promoted that lacks the commit in which an autoscaler left the shard."""
    before, api = fleet.history()["api"], fleet.scalers.pop("api")
    table = schema.autoscaler
    with fleet.ledger._context.database.writing() as connection:
        row = connection.execute(select(table).where(table.c.name == "api")).mappings().one()
    fleet.follow()
    with fleet.ledger._context.database.writing() as connection:
        connection.execute(table.update().where(table.c.name == "api").values(dict(row)))
    for _ in range(3):
        fleet.cycle()
    fleet.scalers["api"] = api
    fleet.follow()
    assert fleet.history()["api"] == before


def test_an_intent_that_a_standby_lacks_is_kept_while_its_shard_goes_on(fleet: Fleet) -> None:
    """The row names the writer again, which makes it younger; this process knows better."""
    table, is_api = schema.autoscaler, schema.autoscaler.c.name == "api"
    with fleet.ledger._context.database.writing() as connection:
        row = connection.execute(select(table).where(is_api)).mappings().one()
    fleet.clock.advance(PERIOD.total_seconds())
    known, seen = fleet.history()["api"], Observation(target(SIZE), (value(9000),))
    assert fleet.ledger.intend([decide(fleet.scalers["api"], seen, known, fleet.clock.now())]) == {}
    intent = fleet.history()["api"].pending
    assert intent is not None
    with fleet.ledger._context.database.writing() as connection:
        connection.execute(table.update().where(is_api).values(dict(row)))
    for _ in range(3):
        fleet.cycle(failing=["api"])
    with pytest.raises(StateError, match="does not hold what this daemon wrote last"):
        fleet.cycle()
    assert fleet.history()["api"].pending == intent


@each_database
def test_a_late_commit_of_a_former_shard_is_noticed(fleet: Fleet) -> None:
    """The former shard hangs in a commit in which only time goes by, and another one has read the memory before."""
    api = fleet.scalers["api"]
    fleet.ledger._context.claims.release(fleet.ledger._owner)  # as `end` does while the commit hangs
    other = fleet.state.ledger("other")
    other.follow([api])
    other.claim()
    other.follow_clock(fleet.clock.moment())
    before = other.recall([api])["api"]
    fleet.cycle()
    seen = Observation(target(SIZE), (value(SIZE * 1000),))
    made = replace(decide(api, seen, before, fleet.clock.now()), change=None)
    with pytest.raises(StateError, match="does not hold what this daemon wrote last"):
        other.record({"api": api}, Observed({"api": seen}), [made])
    other.follow_clock(fleet.clock.moment())
    after = other.recall([api])["api"]
    assert after.at == before.at + PERIOD  # type: ignore[operator]  # it was decided
    made = replace(decide(api, seen, after, fleet.clock.now()), change=None)
    assert other.record({"api": api}, Observed({"api": seen}), [made]) == {}
