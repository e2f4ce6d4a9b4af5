"""A state of schema version 1, opened by today's daemon."""

import sqlite3
from collections.abc import Iterable
from typing import Any

from sqlalchemy import create_engine, text

from autoscaler.decide import remember
from autoscaler.model import Decision, Observed
from tests.record import version1
from tests.record.conftest import Opener
from tests.record.old_state import CONTENTS, END, dump, dump_of, plant, plant_tables, recalled, scaler
from tests.record.samples import observation
from tests.record.version1 import plain
from tests.replaced import replace


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


def test_the_old_tables_stay_in_a_schema_of_their_own(own_database: Opener) -> None:
    """To go back to the older version with them."""
    assert own_database.url is not None
    plant_tables(own_database.url, own_database.folder)
    taken = own_database.state().taken_over
    assert taken is not None
    assert taken.kept == "schema autoscaler_v1"
    engine = create_engine(own_database.url.replace("postgresql:", "postgresql+psycopg:"))
    with engine.connect() as connection:
        assert connection.execute(text("SELECT version FROM autoscaler_v1.schema_version")).scalar_one() == 1
        kept = connection.execute(text("SELECT count(*) FROM autoscaler_v1.decision")).scalar_one()
    engine.dispose()
    given = sqlite3.connect(own_database.folder / "state.db")
    assert given.execute("SELECT count(*) FROM decision").fetchone() == (kept,)
    given.close()
