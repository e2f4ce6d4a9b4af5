"""A state of schema version 1 that is damaged, or whose takeover is cut short."""

import os
import signal
import sqlite3
import sys
from datetime import datetime
from pathlib import Path

import pytest
from sqlalchemy import create_engine, event
from sqlalchemy.engine import Engine

from autoscaler.errors import StateError
from autoscaler.model import History
from autoscaler.record import Retention, State, conversion, schema
from tests.record import version1
from tests.record.conftest import Opener
from tests.record.old_state import CONTENTS, alter, dump, dump_of, plant, recalled, scaler
from tests.record.version1 import plain


def test_what_stands_in_the_old_file_s_log_alone_is_taken_over(sqlite_opener: Opener) -> None:
    """The older version was killed: its last commits are in the write-ahead log and nowhere else."""
    file = plant(sqlite_opener.folder)
    running = sqlite3.connect(file)
    running.execute("PRAGMA journal_mode=WAL")
    running.execute("UPDATE intent SET size = 9")
    running.commit()
    left = {suffix: Path(f"{file}{suffix}").read_bytes() for suffix in ("", "-wal")}
    running.close()
    for suffix, content in left.items():
        Path(f"{file}{suffix}").write_bytes(content)
    unfinished = recalled(sqlite_opener.state(), ["lost"])["lost"].unfinished
    assert unfinished is not None
    assert unfinished.size == 9
    kept = sqlite3.connect(file.with_name("state.db.v1"))
    assert kept.execute("SELECT DISTINCT size FROM intent").fetchall() == [(9,)]
    kept.close()


def test_an_empty_old_state_becomes_an_empty_new_one(sqlite_opener: Opener) -> None:
    """The older version was started once and never decided anything."""
    tables = ("autoscaler", "spec", "slot", "intent", "decision", "event", "sighting", "steering")
    alter(plant(sqlite_opener.folder), *[f"DELETE FROM {table}" for table in tables])
    state = sqlite_opener.state()
    assert state.taken_over is not None
    assert (state.taken_over.autoscalers, state.taken_over.events) == (0, 0)
    assert recalled(state, ["web"]) == {"web": History()}


def test_where_there_are_too_many_decisions_the_latest_are_taken(old: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    """A start must not take minutes; every autoscaler keeps its newest, and with it its memory."""
    monkeypatch.setattr(conversion, "MOST_DECISIONS", 10)
    state = old.state()
    assert state.taken_over is not None
    assert state.taken_over.decisions < 10 + len(CONTENTS["scalers"])
    assert {name: plain(decision) for name, decision in state.archive.latest().items()} == CONTENTS["latest"]


def test_a_decision_that_cannot_be_read_is_left_out_and_said(sqlite_opener: Opener) -> None:
    """It costs itself; its autoscaler's memory stands elsewhere."""
    lost = CONTENTS["records"]["web"][5]["decision"]["now"]
    micros = round(datetime.fromisoformat(lost).timestamp() * 10**6)
    statement = f"UPDATE decision SET basis_at = NULL, body = x'00' WHERE at = {micros} AND autoscaler_id = 2"
    alter(plant(sqlite_opener.folder), statement)
    state = sqlite_opener.state()
    assert state.taken_over is not None
    (problem,) = state.taken_over.problems
    assert problem.startswith(f"autoscaler 'web': its decision of {lost}: a recorded value cannot be read: ")
    times = [record["decision"]["now"] for record in CONTENTS["records"]["web"]]
    times.remove(lost)
    assert [plain(record.decision.now) for record in state.archive.records("web")] == times
    assert plain(recalled(state, ["web"])["web"]) == CONTENTS["recalled"]["web"]


def test_a_newest_decision_that_cannot_be_read_leaves_the_memory_whole(sqlite_opener: Opener) -> None:
    """A forgotten scale event would let a policy be exceeded."""
    alter(plant(sqlite_opener.folder), "UPDATE decision SET body = x'00' WHERE autoscaler_id = 2")
    state = sqlite_opener.state()
    assert plain(recalled(state, ["web", "worker"])) == {name: CONTENTS["recalled"][name] for name in ("web", "worker")}
    assert "could not be read" in str(state.archive.latest()["web"].error)


def test_an_autoscaler_whose_specification_cannot_be_read_starts_anew(sqlite_opener: Opener) -> None:
    """And its neighbours do not."""
    alter(plant(sqlite_opener.folder), "UPDATE spec SET body = x'00' WHERE autoscaler_id = 2")
    state = sqlite_opener.state()
    assert state.taken_over is not None
    assert {problem.partition(":")[0] for problem in state.taken_over.problems} == {"autoscaler 'web'"}
    assert recalled(state, ["web"])["web"].conditions == ()
    assert plain(recalled(state, ["worker"])) == {"worker": CONTENTS["recalled"]["worker"]}


def test_sightings_that_cannot_be_read_are_left_out_and_said(sqlite_opener: Opener) -> None:
    """The target's instances then count as first seen now."""
    alter(plant(sqlite_opener.folder), "UPDATE sighting SET body = x'00' WHERE target LIKE '%job%'")
    state = sqlite_opener.state()
    assert state.taken_over is not None
    (problem,) = state.taken_over.problems
    assert "job/group" in problem
    assert "when its instances were first seen" in problem
    fleet, worker = scaler("odd ä name").target, scaler("worker").target
    assert not state.ledger(worker.adapter).sightings([worker])
    assert len(state.ledger(fleet.adapter).sightings([fleet])) == 1


def test_a_pause_that_cannot_be_read_is_not_lost(old: Opener) -> None:
    """Without it the autoscaler would scale what its operator holds: nothing is taken over, and all stays as it was."""
    spoil = "UPDATE steering SET body = {} WHERE name = 'web'"
    if old.url is None:
        alter(old.folder / "state.db", spoil.format("x'00'"))
    else:
        run_on(old.url, spoil.format("'\\x00'"))
    with pytest.raises(StateError, match="autoscaler 'web': its pause or override cannot be taken over"):
        old.state()
    with pytest.raises(StateError, match="written by an older version; start this version's daemon once"):
        old.archive()
    if old.url is None:
        alter(old.folder / "state.db", "DELETE FROM steering WHERE name = 'web'")
    else:
        run_on(old.url, "DELETE FROM steering WHERE name = 'web'")
    assert plain(recalled(old.state(), ["worker"])) == {"worker": CONTENTS["recalled"]["worker"]}


def run_on(url: str, statement: str) -> None:
    engine = create_engine(url.replace("postgresql:", "postgresql+psycopg:"))
    with engine.begin() as connection:
        connection.exec_driver_sql(statement)
    engine.dispose()


def test_a_file_in_the_old_one_s_place_is_not_replaced(sqlite_opener: Opener) -> None:
    """It may be the only copy of an earlier state."""
    file = plant(sqlite_opener.folder)
    kept = file.with_name("state.db.v1")
    kept.write_text("an earlier one")
    with pytest.raises(StateError, match=r"state\.db\.v1, where it would be kept, is there already; move that file"):
        sqlite_opener.state()
    assert kept.read_text() == "an earlier one"
    assert dump(file) == dump_of(version1.state(), sqlite_opener.folder)


def test_a_disk_that_is_too_small_leaves_the_old_state_as_it_was(sqlite_opener: Opener) -> None:
    """With room again the next start takes it over."""
    file = plant(sqlite_opener.folder)

    def fill(connection: sqlite3.Connection, _record: object) -> None:
        connection.execute("PRAGMA max_page_count = 30")  # SQLite then says what it says on a full disk

    event.listen(Engine, "connect", fill)
    try:
        with pytest.raises(StateError, match=r"state .*state\.db: the disk is full; free some space"):
            sqlite_opener.state()
    finally:
        event.remove(Engine, "connect", fill)
    assert {path.name for path in file.parent.iterdir()} == {"state.db", "state.db.lock"}
    assert plain(recalled(sqlite_opener.state(), ["web"])) == {"web": CONTENTS["recalled"]["web"]}


def test_an_old_state_that_is_being_used_is_left_alone(sqlite_opener: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody looks into the file with sqlite3: what they write would be lost."""
    monkeypatch.setattr("autoscaler.record.database._BUSY_SECONDS", 0.05)
    file = plant(sqlite_opener.folder)
    other = sqlite3.connect(file, isolation_level=None)
    other.execute("PRAGMA journal_mode=WAL")
    other.execute("BEGIN")
    other.execute("SELECT * FROM steering").fetchall()
    with pytest.raises(StateError, match="another process holds it locked; end that process"):
        sqlite_opener.state()
    other.close()
    assert sqlite_opener.state().taken_over is not None


class _Killed:
    """Kills this process with SIGKILL at its n-th step: what it does to a name of a file, or every fifth statement."""

    FILES = ("os.link", "os.rename", "os.remove", "os.chmod", "sqlite3.connect")

    def __init__(self, steps: int) -> None:
        self.left = steps
        self.statements = 0

    def step(self) -> None:
        self.left -= 1
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def audit(self, event_name: str, _arguments: tuple[object, ...]) -> None:
        if event_name in self.FILES:
            self.step()

    def statement(self, *_: object) -> None:
        self.statements += 1
        if self.statements % 5 == 0:
            self.step()


def take_over_and_die(folder: Path, steps: int) -> bool:
    """In a process of its own. Returns whether it was killed."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            killed = _Killed(steps)
            sys.addaudithook(killed.audit)
            event.listen(Engine, "after_cursor_execute", killed.statement)
            State.open(None, folder, Retention())
            status = 0
        finally:
            os._exit(status)
    _, ended = os.waitpid(child, 0)
    assert os.WIFSIGNALED(ended) or os.WEXITSTATUS(ended) == 0
    return os.WIFSIGNALED(ended)


@pytest.mark.slow
def test_killed_at_any_moment_it_is_taken_over_by_the_next_start(tmp_path: Path) -> None:
    """Never both by halves: the name holds the whole old state or the whole new one, and the next start goes on."""
    killed, seen = True, set[int]()
    steps = 0
    while killed:
        steps += 1
        folder = tmp_path / str(steps)
        file = plant(folder)
        killed = take_over_and_die(folder, steps)
        connection = sqlite3.connect(file)
        (found,) = connection.execute("SELECT version FROM schema_version").fetchone()
        (owners,) = connection.execute("SELECT count(*) FROM autoscaler").fetchone()
        connection.close()
        seen.add(found)
        assert owners == len(CONTENTS["scalers"]), steps
        state = State.open(None, folder, Retention())
        assert (state.taken_over is None) == (found == schema.VERSION), steps
        assert plain(recalled(state, ["web"])) == {"web": CONTENTS["recalled"]["web"]}, steps
        state.close()
        names = {path.name for path in folder.iterdir()}
        assert names == {"state.db", "state.db.v1", "state.db.lock"}, steps
    assert seen == {1, schema.VERSION}
    assert steps > 25
