import os
import sqlite3
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import Connection, text

from autoscaler.errors import StateError
from autoscaler.record import Archive, Store, schema
from tests.record.conftest import Opener
from tests.record.samples import decision, keep, scaler

DAY = timedelta(days=1)


def test_the_default_is_a_file_in_the_state_folder(tmp_path: Path) -> None:
    """The service manager's folder, or a user's own folder, created when it is missing and closed to others."""
    Store.open(None, tmp_path / "new" / "state", DAY).close()
    assert (tmp_path / "new" / "state" / "state.db").is_file()
    assert (tmp_path / "new" / "state").stat().st_mode & 0o077 == 0


def test_a_commit_is_flushed_to_the_disk(sqlite_opener: Opener) -> None:
    """An intent must outlive a loss of power, or the write it announces is forgotten."""
    with sqlite_opener.store()._engine.connect() as connection:
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
    """The sentence ends up in a log that others read."""
    with pytest.raises(StateError, match=said) as caught:
        Store.open(url, tmp_path, DAY)
    assert "secret" not in str(caught.value)


def test_a_folder_that_cannot_be_made_is_explained(tmp_path: Path) -> None:
    """A file stands where the folder should be; the same sentence as for one without permission."""
    (tmp_path / "file").touch()
    with pytest.raises(StateError, match="cannot be used: Not a directory; name a folder"):
        Store.open(None, tmp_path / "file" / "state", DAY)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_permission_is_explained(tmp_path: Path) -> None:
    """A daemon started as the wrong user."""
    tmp_path.chmod(0o500)
    with pytest.raises(StateError, match="cannot be used: Permission denied"):
        Store.open(None, tmp_path, DAY)


def test_a_file_that_is_no_database_is_explained(tmp_path: Path) -> None:
    """`state.url` pointed at another file: it is left as it was."""
    (tmp_path / "state.db").write_text("This is a note, not a database. " * 100)
    with pytest.raises(StateError, match=r"state\.db: it is not an SQLite database; move it away"):
        Store.open(None, tmp_path, DAY)
    assert (tmp_path / "state.db").read_text().startswith("This is a note")


def test_a_damaged_file_is_explained(sqlite_opener: Opener) -> None:
    """A failing disk: nothing may be scaled on half a memory."""
    store = sqlite_opener.store()
    keep(store, *(decision(name=f"s{k}") for k in range(200)))
    sqlite_opener.close()
    file = sqlite_opener.folder / "state.db"
    content = bytearray(file.read_bytes())
    content[4096:] = b"\xff" * (len(content) - 4096)
    file.write_bytes(content)
    with pytest.raises(StateError, match="the file is damaged; restore a backup"):
        sqlite_opener.store().recall([scaler()])


def test_a_second_daemon_on_one_state_is_refused(sqlite_opener: Opener) -> None:
    """Both would scale the same targets."""
    sqlite_opener.store()
    with pytest.raises(StateError, match=rf"in use by another daemon \(pid {os.getpid()}\); stop that one"):
        sqlite_opener.store()


def test_a_closed_state_can_be_opened_again(opener: Opener) -> None:
    """A restart follows at once."""
    opener.store()
    opener.close()
    opener.store()


def test_a_lock_held_by_another_program_is_explained(sqlite_opener: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody looks into the file with sqlite3 and forgets a transaction."""
    monkeypatch.setattr("autoscaler.record.engine._BUSY_SECONDS", 0.05)
    store = sqlite_opener.store()
    other = sqlite3.connect(sqlite_opener.folder / "state.db", isolation_level=None)
    try:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StateError, match="another process holds it locked"):
            keep(store, decision())
    finally:
        other.close()
    keep(store, decision())


def test_a_newer_state_is_left_alone(opener: Opener) -> None:
    """After a downgrade: columns of tomorrow would be lost without a word."""
    with opener.store()._engine.begin() as connection:
        connection.execute(schema.schema_version.update().values(version=99))
    opener.close()
    for open_it in (opener.store, opener.archive):
        with pytest.raises(StateError, match=r"written by a newer version \(its schema is 99, this version knows 1\)"):
            open_it()


def test_an_older_state_is_converted_step_by_step(opener: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    """An upgrade keeps what was remembered, and each step runs once."""
    keep(opener.store(), decision())
    opener.close()

    def add_column(connection: Connection) -> None:
        connection.execute(text("ALTER TABLE intent ADD COLUMN epoch BIGINT"))

    def add_value(connection: Connection) -> None:
        connection.execute(text("UPDATE intent SET epoch = 1"))

    monkeypatch.setattr(schema, "MIGRATIONS", (add_column, add_value))
    with pytest.raises(StateError, match="written by an older version"):
        opener.archive()
    for _ in range(2):
        assert opener.store().decisions("web") == [decision()]
        opener.close()
    assert opener.archive().decisions("web") == [decision()]


def test_reading_needs_a_state(tmp_path: Path) -> None:
    """The command line before the first start, or with another configuration than the daemon's."""
    with pytest.raises(StateError, match="does not exist; has the daemon run with this configuration"):
        Archive.open_archive(None, tmp_path)
    sqlite3.connect(tmp_path / "state.db").close()
    with pytest.raises(StateError, match="holds no state yet"):
        Archive.open_archive(None, tmp_path)


def test_reading_works_beside_a_daemon_and_after_it(opener: Opener) -> None:
    """An operator asks why, most of all when the daemon is down."""
    keep(opener.store(), decision())
    assert opener.archive().decisions("web") == [decision()]
    opener.close()
    assert opener.archive().decisions("web") == [decision()]
