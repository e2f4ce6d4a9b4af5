"""The place of the state, and the reasons why it cannot be opened."""

import os
import resource
import sqlite3
from datetime import timedelta
from pathlib import Path
from typing import Final

import pytest
from sqlalchemy import create_engine, inspect, text

from autoscaler.errors import StateError
from autoscaler.record import database as databases
from autoscaler.record import schema, versions
from autoscaler.record.archive import Archive
from autoscaler.record.examine import examine_state
from autoscaler.record.housekeeping import Retention
from autoscaler.record.state import State
from tests.record.conftest import Opener, each_database
from tests.record.postgresql import empty_state
from tests.record.samples import FLEET, at, decision, keep, scaler
from tests.record.tables import of_version

DEFAULT: Final = Retention()


def test_the_default_is_a_file_in_the_state_folder(tmp_path: Path) -> None:
    """It is the service manager's folder or the user's own, which is created if necessary and closed to others."""
    State.open(None, tmp_path / "new" / "state", DEFAULT).close()
    assert (tmp_path / "new" / "state" / "state.db").is_file()
    assert (tmp_path / "new" / "state").stat().st_mode & 0o077 == 0


def test_a_commit_is_flushed_to_the_disk(opener: Opener) -> None:
    """An intent must survive a power failure, or its write would be forgotten."""
    with opener.state()._database._engine.connect() as connection:
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar_one() == "wal"
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar_one() == 2


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("not an address", "state.url is not a valid database address"),
        ("mysql://user:secret@host/db", "state.url is of the kind 'mysql'"),
        ("sqlite://", "name a file"),
        ("sqlite:///:memory:", "name a file"),
        (
            "postgresql://user:secret@127.0.0.1:1/db",
            "state postgresql://user:\\*\\*\\*@127.0.0.1:1/db: the database failed",
        ),
        ("postgresql://user@127.0.0.1:1/db?password=secret", "the database failed"),
    ],
)
def test_an_address_that_cannot_be_used_is_explained_without_its_password(url: str, said: str, tmp_path: Path) -> None:
    """Other users can read the log."""
    with pytest.raises(StateError, match=said) as caught:
        State.open(url, tmp_path, DEFAULT)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("refused", ["folder", "file"])
def test_a_reader_without_permission_learns_which_user_may_read(
    refused: str, opener: Opener, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For another user stat(2) fails with EACCES in a closed folder, and access(2) refuses a closed file.

    Tests may run as root, which has both permissions.
    """
    opener.state()

    def refuse(*_: object, **__: object) -> os.stat_result:
        raise PermissionError(13, "Permission denied")

    if refused == "folder":
        monkeypatch.setattr(Path, "stat", refuse)
    else:
        monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(StateError, match="cannot be read by this user; run the command as the daemon's own user"):
        Archive.open_archive(None, tmp_path / "state")


def test_a_folder_that_cannot_be_created_is_explained(tmp_path: Path) -> None:
    """A file is in its place. The message is the one for a missing permission."""
    (tmp_path / "file").touch()
    with pytest.raises(StateError, match="cannot be used: Not a directory; name a folder"):
        State.open(None, tmp_path / "file" / "state", DEFAULT)


def test_a_file_that_is_not_a_database_is_explained(tmp_path: Path) -> None:
    """`state.url` names another file, which stays unchanged."""
    (tmp_path / "state.db").write_text("This is a note, not a database. " * 100)
    with pytest.raises(StateError, match=r"state\.db: it is not an SQLite database; move it away"):
        State.open(None, tmp_path, DEFAULT)
    assert (tmp_path / "state.db").read_text().startswith("This is a note")


def test_a_damaged_file_is_explained(opener: Opener) -> None:
    """A disk fails. Autoscalers with a partial memory must not scale, and the file stays as it is for its rescue."""
    keep(opener.ledger(), *(decision(name=f"s{k}") for k in range(200)))
    opener.close()
    file = opener.folder / "state.db"
    content = bytearray(file.read_bytes())
    content[4096:] = b"\xff" * (len(content) - 4096)
    file.write_bytes(content)
    with pytest.raises(StateError, match="the file is damaged; restore a backup"):
        opener.ledger().recall([scaler()])
    assert file.read_bytes() == content


def test_a_connection_writes_nothing_by_itself(opener: Opener) -> None:
    """A daemon opens some for each shard, and each command that steers opens one."""
    opener.state()
    opener.close()
    content = (opener.folder / "state.db").read_bytes()
    with databases.opened(databases.locate(None, opener.folder)) as connection:
        assert connection.exec_driver_sql("PRAGMA auto_vacuum").scalar_one() == 2
    assert (opener.folder / "state.db").read_bytes() == content


def test_a_full_disk_is_named_if_sqlite_only_reports_a_failed_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite reports this if there is no room for the index of its log, as at a start."""
    url = databases.locate(None, tmp_path)
    failure = sqlite3.OperationalError("disk I/O error")
    failure.sqlite_errorname = "SQLITE_IOERR_SHMSIZE"
    full = os.statvfs_result((4096, 4096, 1000, 100, 0, 500, 100, 100, 0, 255))
    for left, said in ((os.statvfs(tmp_path), "check the system's log"), (full, "the disk is full; free some space")):
        monkeypatch.setattr("os.statvfs", lambda _, left=left: left)
        with pytest.raises(StateError, match=said), databases.state_errors(url):
            raise failure


def test_a_lock_that_cannot_be_written_is_explained(tmp_path: Path) -> None:
    """A limit of 0 bytes for files stands for a full disk."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, limits[1]))
    try:
        with pytest.raises(StateError, match=r"state\.db\.lock cannot be written: File too large; free some space"):
            State.open(None, tmp_path, DEFAULT)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def test_a_second_daemon_on_one_state_is_refused(opener: Opener) -> None:
    """Both would scale the same targets."""
    opener.state()
    with pytest.raises(StateError, match=rf"in use by another daemon \(pid {os.getpid()}\); stop that one"):
        opener.state()


def test_a_lock_held_by_another_program_is_explained(opener: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    """An operator reads the file with sqlite3 and leaves a transaction open."""
    monkeypatch.setattr("autoscaler.record.database._BUSY_SECONDS", 0.05)
    ledger = opener.ledger()
    other = sqlite3.connect(opener.folder / "state.db", isolation_level=None)
    try:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StateError, match="another process holds it locked"):
            keep(ledger, decision())
    finally:
        other.close()
    keep(ledger, decision())


@each_database
@pytest.mark.parametrize(
    ("number", "age"),
    [(1, "an older"), (min(versions.MIGRATIONS) - 1, "an older"), (schema.VERSION + 1, "a newer")],
)
def test_a_state_of_another_version_is_refused_and_unchanged(number: int, age: str, opener: Opener) -> None:
    """The operator decides what to do with it. Nothing is lost silently."""
    state = opener.state()
    keep(state.ledger(FLEET), decision(0))
    of_version(number, state)
    opener.close()
    for open_it in (opener.state, opener.archive, lambda: examine_state(opener.url, opener.folder)):
        with pytest.raises(StateError) as caught:
            open_it()
        assert str(caught.value).endswith(
            f" was written by {age} version of the autoscaler (its schema is {number}, this version reads "
            f"{min(versions.MIGRATIONS)} to {schema.VERSION}); install that version again; or begin without a memory: "
            "move the file away, or name an empty database (state.url)"
        )
    engine = create_engine(databases.locate(opener.url, opener.folder))
    with engine.begin() as connection:
        assert connection.execute(schema.schema_version.select()).scalars().all() == [number]
        assert connection.execute(schema.autoscaler.select()).scalars().all() != []
        connection.execute(schema.schema_version.update().values(version=schema.VERSION))
    engine.dispose()
    assert opener.ledger().recall([scaler()])["web"].at == at(0)


@each_database
@pytest.mark.parametrize(
    ("theirs", "said"),
    [
        (
            ["CREATE TABLE event (what TEXT)", "CREATE TABLE fence (a TEXT)"],
            "holds the tables event, fence of another",
        ),
        (["CREATE TABLE schema_version (version TEXT)", "INSERT INTO schema_version VALUES ('1.0')"], "schema_version"),
        (["CREATE TABLE schema_version (version INTEGER)", "INSERT INTO schema_version VALUES (1)"], "schema_version"),
        (["CREATE TABLE schema_version (version INTEGER)"], "schema_version"),
        (["CREATE TABLE schema_version (installed TEXT)"], "schema_version"),
    ],
)
def test_tables_of_another_program_are_named_and_unchanged(theirs: list[str], said: str, opener: Opener) -> None:
    """Tools for migrations have a `schema_version`, too. Its content ended the daemon with a traceback."""
    opener.folder.mkdir(mode=0o700)
    engine = create_engine(databases.locate(opener.url, opener.folder))
    with engine.begin() as connection:
        for each in theirs:
            connection.execute(text(each))
        before = set(inspect(connection).get_table_names())
    with pytest.raises(StateError, match=rf"{said}.*give the state a database or a schema of its own"):
        opener.state()
    with pytest.raises(StateError, match=rf"{said}.*give the state a database or a schema of its own"):
        examine_state(opener.url, opener.folder)
    with pytest.raises(StateError, match=r"schema_version|does not hold a state yet"):
        opener.archive()
    with engine.connect() as connection:
        assert set(inspect(connection).get_table_names()) == before
    engine.dispose()


def test_a_command_that_reads_needs_a_state(tmp_path: Path) -> None:
    """The operator runs it before the first start, or with another configuration than the daemon's."""
    with pytest.raises(StateError, match="does not exist; has the daemon run with this configuration"):
        Archive.open_archive(None, tmp_path)
    sqlite3.connect(tmp_path / "state.db").close()
    with pytest.raises(StateError, match="does not hold a state yet"):
        Archive.open_archive(None, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("query", "limits"),
    [
        ("", ["5s", "15s"]),
        ("?options=-c%20application_name%3Dours", ["5s", "15s"]),
        ("?options=-clock_timeout%3D1s", ["1s", "15s"]),
        ("?options=--idle_in_transaction_session_timeout%3D1min", ["5s", "1min"]),
        ("?options=-clock_timeout%3D1s&options=-cidle_in_transaction_session_timeout%3D2s", ["1s", "2s"]),
    ],
)
def test_an_address_with_options_keeps_the_limits_that_it_does_not_set(
    postgresql_opener: Opener, query: str, limits: list[str]
) -> None:
    """An address that sets a search path once had no limit for locks."""
    url = databases.locate(f"{postgresql_opener.url}{query}", postgresql_opener.folder)
    engine = databases.connect(url, idle=timedelta(seconds=15))
    with engine.connect() as connection:
        names = ("lock_timeout", "idle_in_transaction_session_timeout")
        assert [connection.exec_driver_sql(f"SHOW {name}").scalar_one() for name in names] == limits
    engine.dispose()


@pytest.mark.slow
def test_a_missing_permission_in_postgresql_is_named_with_a_remedy(postgresql: str, tmp_path: Path) -> None:
    """The address names a standby, or the user has no rights yet."""
    url = empty_state(postgresql)
    with pytest.raises(StateError, match=r"read-only transaction; .*name the primary server"):
        State.open(f"{url}?options=-cdefault_transaction_read_only%3Don", tmp_path, DEFAULT)
    with pytest.raises(StateError, match=r"permission denied .*; give this user the right to create tables there"):
        State.open(f"{url}?options=-csearch_path%3Dpublic", tmp_path, DEFAULT)
