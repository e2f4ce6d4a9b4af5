"""A state of schema version 1, opened by today's daemon."""

import os
import signal
import sqlite3
import sys
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import MetaData, create_engine, event, text
from sqlalchemy.engine import Engine

from autoscaler.decide import remember
from autoscaler.errors import StateError
from autoscaler.model import Autoscaler, Decision, History, Observed, TargetRef
from autoscaler.record import Retention, State, conversion, schema
from tests.record import version1
from tests.record.conftest import Opener
from tests.record.samples import observation
from tests.record.version1 import plain

CONTENTS = version1.contents()
END = datetime.fromisoformat(CONTENTS["end"])


def scaler(name: str) -> Autoscaler:
    """One with this name and its target: what a memory belongs to."""
    target = {key: value for key, value in CONTENTS["scalers"][name]["target"].items() if key != "is"}
    return Autoscaler(name, TargetRef(**target), 1, 10, ())


def recalled(state: State, names: Iterable[str] = CONTENTS["scalers"]) -> Mapping[str, History]:
    """What these autoscalers remember, each by a ledger of its connection."""
    scalers = [scaler(name) for name in names]
    ledgers = {connection: state.ledger(connection) for connection in {each.target.adapter for each in scalers}}
    return {each.name: ledgers[each.target.adapter].recall([each])[each.name] for each in scalers}


def plant(folder: Path) -> Path:
    """Write the old state into a folder as `state.db`."""
    folder.mkdir(mode=0o700, exist_ok=True)
    file = folder / "state.db"
    file.write_bytes(version1.state())
    return file


def alter(file: Path, *statements: str) -> None:
    connection = sqlite3.connect(file)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()


def plant_tables(url: str, folder: Path) -> None:
    """The same state on PostgreSQL: every table and row of the file."""
    source = create_engine(f"sqlite:///{plant(folder)}")
    target = create_engine(url.replace("postgresql:", "postgresql+psycopg:"))
    tables = MetaData()
    tables.reflect(source)
    for table in tables.tables.values():
        for column in table.columns:
            column.type = column.type.as_generic()
    tables.create_all(target)
    with source.connect() as reading, target.begin() as writing:
        for table in tables.tables.values():
            if rows := [row._asdict() for row in reading.execute(table.select())]:
                writing.execute(table.insert(), rows)
    source.dispose()
    target.dispose()


@pytest.fixture
def old(opener: Opener) -> Opener:
    """Opens the old state."""
    if opener.url is None:
        plant(opener.folder)
    else:
        plant_tables(opener.url, opener.folder)
    return opener


def test_every_autoscaler_remembers_what_it_remembered(old: Opener) -> None:
    """Windows, policies, conditions, status, unfinished writes and what operators asked for."""
    found = {name: plain(history) for name, history in recalled(old.state()).items()}
    for name, history in CONTENTS["recalled"].items():
        assert found[name] | {"at": None} == history | {"at": None}, name
        assert found[name]["at"] in (history["at"], None), name  # None: its first cycle had only announced a write


def test_a_taken_over_memory_outlives_a_restart(old: Opener) -> None:
    """The second start reads what the first has made."""
    found = recalled(old.state())
    old.close()
    assert recalled(old.state()) == found


def test_the_last_hour_s_decisions_are_taken_over_with_all_that_they_were_made_from(old: Opener) -> None:
    """`explain` and `history` right after the upgrade."""
    state = old.state()
    assert {name: plain(decision) for name, decision in state.archive.latest().items()} == CONTENTS["latest"]
    for name, records in CONTENTS["records"].items():
        found = [record for record in state.archive.records(name) if name != "gone"]
        assert [record.history for record in found] == [None] * len(found)
        found.sort(key=lambda record: record.decision.now)  # the old version knew no other order
        assert [
            {key: plain(getattr(record, key)) for key in ("scaler", "observation", "decision")} for record in found
        ] == [{key: record[key] for key in ("scaler", "observation", "decision")} for record in records], name


def test_a_clock_that_was_set_back_leaves_the_newest_decision_the_newest(old: Opener) -> None:
    """Its time is not the latest; it was committed last."""
    newest = CONTENTS["latest"]["plain"]
    assert newest["now"] < max(record["decision"]["now"] for record in CONTENTS["records"]["plain"])
    *_, last = old.state().archive.records("plain")
    assert plain(last.decision) == newest


def test_one_that_left_the_configuration_long_ago_keeps_its_newest_decision(old: Opener) -> None:
    """It is still remembered, until its retention has passed."""
    found = list(old.state().archive.records("gone"))
    assert [plain(record.decision) for record in found] == [CONTENTS["latest"]["gone"]]


def test_charts_show_the_last_hour(old: Opener) -> None:
    """In milliseconds, which is what the series keep of a time."""
    archive = old.state().archive
    for name, rows in CONTENTS["series"].items():
        found = sorted((plain(row) for row in archive.series(name) if name != "gone"), key=lambda row: row["at"])
        assert [row | {"at": row["at"][:23]} for row in found] == [row | {"at": row["at"][:23]} for row in rows], name


def test_every_event_is_taken_over(old: Opener) -> None:
    """Also those of before the last hour; counted as before."""

    def sorted_rows(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
        return sorted(rows, key=lambda row: (row["last"], row["name"], row["reason"], row["message"]))

    archive = old.state().archive
    assert sorted_rows(map(plain, archive.events())) == sorted_rows(CONTENTS["events"])
    intent_alone = {"fresh": CONTENTS["end"]}  # which the old version did not count
    assert plain(archive.first_seen()) == CONTENTS["first_seen"] | intent_alone


def test_pauses_overrides_and_sightings_are_taken_over(old: Opener) -> None:
    """A pause must hold through an upgrade, and an instance that was warm must not count as new."""
    state = old.state()
    assert plain(state.archive.steering()) == CONTENTS["steering"]
    targets = [scaler("worker").target, scaler("odd ä name").target]
    found = {
        str(target): plain(seen)
        for each in targets
        for target, seen in state.ledger(each.adapter).sightings([each]).items()
    }
    assert found == CONTENTS["sightings"]


def test_a_taken_over_autoscaler_goes_on(old: Opener) -> None:
    """Its next cycle is the next in the old one's order, decided from the memory that was taken over, and recorded."""
    state = old.state()
    web = scaler("web")
    ledger = state.ledger("fleet")
    before = ledger.recall([web])["web"]
    newest = state.archive.latest()["web"]
    made: Decision = replace(newest, now=END, events=(), outcome=None, change=None)
    ledger.record({"web": web}, Observed({"web": observation()}), [made])
    after = remember(web, before, made)
    assert ledger.recall([web])["web"] == after
    old.close()
    state = old.state()
    assert recalled(state, ["web"]) == {"web": after}
    *_, taken, own = state.archive.records("web")
    assert (plain(taken.decision), taken.history) == (CONTENTS["latest"]["web"], None)
    assert (own.decision, own.history) == (made, before)


def test_what_was_taken_over_is_said(old: Opener) -> None:
    """And only by the start that did it."""
    taken = old.state().taken_over
    assert taken is not None
    counts = (taken.autoscalers, taken.decisions, taken.problems)
    decisions = sum(len(records) for records in CONTENTS["records"].values())
    assert counts == (len(CONTENTS["scalers"]), decisions + len(["gone"]), ())
    assert taken.events == sum(row["count"] for row in CONTENTS["events"])
    old.close()
    assert old.state().taken_over is None


def test_the_old_file_stays_beside_the_new_one(sqlite_opener: Opener) -> None:
    """To go back to the older version with it."""
    file = plant(sqlite_opener.folder)
    file.chmod(0o600)
    taken = sqlite_opener.state().taken_over
    kept = file.with_name("state.db.v1")
    assert taken is not None
    assert taken.kept == str(kept)
    assert dump(kept) == dump_of(version1.state(), sqlite_opener.folder)
    assert file.stat().st_mode & 0o777 == 0o600
    sqlite_opener.close()
    assert {path.name for path in file.parent.iterdir()} == {"state.db", "state.db.v1", "state.db.lock", "given.db"}


def dump(file: Path) -> list[str]:
    connection = sqlite3.connect(file)
    lines = list(connection.iterdump())
    connection.close()
    return lines


def dump_of(content: bytes, folder: Path) -> list[str]:
    file = folder / "given.db"
    file.write_bytes(content)
    return dump(file)


def test_the_old_tables_stay_in_a_schema_of_their_own(postgresql_opener: Opener) -> None:
    """To go back to the older version with them."""
    assert postgresql_opener.url is not None
    plant_tables(postgresql_opener.url, postgresql_opener.folder)
    taken = postgresql_opener.state().taken_over
    assert taken is not None
    assert taken.kept == "schema autoscaler_v1"
    engine = create_engine(postgresql_opener.url.replace("postgresql:", "postgresql+psycopg:"))
    with engine.connect() as connection:
        assert connection.execute(text("SELECT version FROM autoscaler_v1.schema_version")).scalar_one() == 1
        kept = connection.execute(text("SELECT count(*) FROM autoscaler_v1.decision")).scalar_one()
    engine.dispose()
    given = sqlite3.connect(postgresql_opener.folder / "state.db")
    assert given.execute("SELECT count(*) FROM decision").fetchone() == (kept,)
    given.close()


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
