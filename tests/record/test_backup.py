"""A backup is the whole state at one moment, and a restore is complete. PostgreSQL has its own tools for both."""

import errno
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import URL

from autoscaler.errors import StateError
from autoscaler.record import backup
from autoscaler.record.archive import Archive
from tests.record.conftest import Opener
from tests.record.samples import FLEET, at, decision, keep
from tests.record.tables import content_of, live, of_version, tables_of


def test_a_restored_backup_has_every_row(opener: Opener, tmp_path: Path) -> None:
    """Its tables equal those of the state, row by row."""
    live(opener)
    opener.close()
    before = content_of(opener.url, opener.folder)
    contents = backup.back_up(opener.url, opener.folder, tmp_path / "a.db")
    assert (contents.autoscalers, contents.last) == (2, at(165))
    assert (tmp_path / "a.db").stat().st_mode & 0o777 == 0o600
    backup.restore(None, tmp_path / "elsewhere", tmp_path / "a.db")
    assert content_of(None, tmp_path / "elsewhere") == before
    assert all(before[name] for name in ("autoscaler", "writer", "spec", "block", "event", "kept"))


def test_a_running_daemon_continues_during_a_backup(opener: Opener, tmp_path: Path) -> None:
    """Cycles are recorded while backups are made. Each backup is the state after a whole commit."""
    state = live(opener, decisions=2)
    ledger = state.ledger(FLEET)
    stop = threading.Event()
    recorded = 0

    def cycles() -> None:
        nonlocal recorded
        while not stop.is_set():
            keep(ledger, decision(100 + recorded * 15), decision(100 + recorded * 15, name="api", target="api-asg"))
            recorded += 1

    daemon = threading.Thread(target=cycles)
    daemon.start()
    try:
        for number in range(5):
            before = recorded
            while recorded == before:
                stop.wait(0.01)
            backup.back_up(opener.url, opener.folder, tmp_path / f"{number}.db")
            with Archive.open_archive(f"sqlite:///{tmp_path}/{number}.db", tmp_path) as copy:
                assert len({made.now for made in copy.latest().values()}) == 1  # both, or neither
    finally:
        stop.set()
        daemon.join(60)


def test_new_autoscalers_get_ids_that_no_restored_row_has(opener: Opener, tmp_path: Path) -> None:
    """The same id twice would mix two memories."""
    live(opener)
    opener.close()
    backup.back_up(opener.url, opener.folder, tmp_path / "a.db")
    backup.restore(opener.url, opener.folder, tmp_path / "a.db", replacing=True)
    ledger = opener.ledger()
    keep(ledger, decision(1000, name="new", target="new-asg"))
    ids = [row["id"] for row in tables_of(opener.url, opener.folder)["autoscaler"]]
    assert len(ids) == 3
    assert max(ids) == 3


def test_an_existing_state_is_replaced_only_on_request(opener: Opener, tmp_path: Path) -> None:
    """A command on the wrong machine must not destroy its state."""
    live(opener)
    opener.close()
    backup.back_up(opener.url, opener.folder, tmp_path / "a.db")
    before = tables_of(opener.url, opener.folder)
    with pytest.raises(StateError, match="already holds a state; replace it with --replace"):
        backup.restore(opener.url, opener.folder, tmp_path / "a.db")
    assert tables_of(opener.url, opener.folder) == before


def test_a_replaced_file_is_kept(tmp_path: Path) -> None:
    """`--replace` can be undone."""
    opener = Opener(None, tmp_path / "state")
    live(opener)
    opener.close()
    backup.back_up(None, opener.folder, tmp_path / "a.db")
    keep(opener.restart(), decision(900))
    opener.close()
    before = tables_of(None, opener.folder)
    for number in (1, 2):
        contents = backup.restore(None, opener.folder, tmp_path / "a.db", replacing=True)
        assert contents.kept == opener.folder / f"state.db.replaced-{number}"
    assert tables_of(f"sqlite:///{opener.folder}/state.db.replaced-1", tmp_path) == before


def test_a_damaged_state_can_be_replaced(tmp_path: Path) -> None:
    """Backups exist for this. Its log is put aside, too."""
    opener = Opener(None, tmp_path / "state")
    live(opener)
    opener.close()
    backup.back_up(None, opener.folder, tmp_path / "a.db")
    expected = content_of(None, opener.folder)
    (opener.folder / "state.db").write_bytes(b"not a database at all" * 1000)
    (opener.folder / "state.db-wal").write_bytes(b"a log of nothing")
    contents = backup.restore(None, opener.folder, tmp_path / "a.db", replacing=True)
    assert content_of(None, opener.folder) == expected
    assert contents.kept is not None
    assert contents.kept.read_bytes().startswith(b"not a database")
    assert not (opener.folder / "state.db-wal").exists() or not (opener.folder / "state.db-wal").stat().st_size


def test_the_log_of_a_moved_state_is_not_applied_to_the_restored_one(tmp_path: Path) -> None:
    """SQLite would write the pages of one into the other. Operators who move a database forget its log."""
    opener = Opener(None, tmp_path / "state")
    state = live(opener)
    backup.back_up(None, opener.folder, tmp_path / "a.db")
    expected = content_of(None, opener.folder)
    keep(state.ledger(FLEET), decision(900))
    log = (opener.folder / "state.db-wal").read_bytes()
    opener.close()
    (opener.folder / "state.db").rename(tmp_path / "moved.db")
    (opener.folder / "state.db-wal").write_bytes(log)  # as after kill -9
    contents = backup.restore(None, opener.folder, tmp_path / "a.db")
    assert content_of(None, opener.folder) == expected
    assert contents.kept is None
    assert (opener.folder / "state.db.replaced-1-wal").read_bytes() == log


def test_the_target_of_a_linked_state_is_replaced(tmp_path: Path) -> None:
    """The link leads to a larger disk, where the new state belongs, too."""
    opener = Opener(None, tmp_path / "state")
    live(opener)
    opener.close()
    backup.back_up(None, opener.folder, tmp_path / "a.db")
    (tmp_path / "disk").mkdir()
    (opener.folder / "state.db").rename(tmp_path / "disk/state.db")
    (opener.folder / "state.db").symlink_to(tmp_path / "disk/state.db")
    contents = backup.restore(None, opener.folder, tmp_path / "a.db", replacing=True)
    assert (opener.folder / "state.db").is_symlink()
    assert contents.kept == tmp_path / "disk/state.db.replaced-1"


def test_the_state_of_a_running_daemon_is_not_replaced(opener: Opener, tmp_path: Path) -> None:
    """The daemon would continue from its memory and overwrite the restored state."""
    live(opener)
    backup.back_up(opener.url, opener.folder, tmp_path / "a.db")
    with pytest.raises(StateError, match="in use by another daemon"):
        backup.restore(opener.url, opener.folder, tmp_path / "a.db", replacing=True)


@pytest.fixture(params=[True, False], ids=["links", "no links"])
def links(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file system with hard links, and one without, as of a memory stick."""

    def refuse(*_: object) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    if not request.param:
        monkeypatch.setattr(Path, "hardlink_to", refuse)


@pytest.mark.usefixtures("links")
def test_a_backup_overwrites_no_file_that_appears_while_it_copies(
    opener: Opener, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A command that is repeated by mistake must not destroy yesterday's backup."""
    live(opener)
    backup.back_up(opener.url, opener.folder, tmp_path / "first.db")
    assert (tmp_path / "first.db").stat().st_size > 0
    copy, file = backup._copy, tmp_path / "backups/a.db"
    file.parent.mkdir()

    def copy_slowly(source: URL, target: Path) -> backup.Contents:
        file.write_text("another's")
        return copy(source, target)

    monkeypatch.setattr(backup, "_copy", copy_slowly)
    with pytest.raises(StateError, match="already exists; name another file"):
        backup.back_up(opener.url, opener.folder, file)
    assert {each.name: each.read_text() for each in file.parent.iterdir()} == {"a.db": "another's"}


def test_a_damaged_backup_is_refused(tmp_path: Path) -> None:
    """A page in its middle is overwritten. SQLite would report it days later; the check finds it now."""
    opener = Opener(None, tmp_path / "state")
    live(opener, decisions=60)
    opener.close()
    backup.back_up(None, opener.folder, tmp_path / "a.db")
    content = bytearray((tmp_path / "a.db").read_bytes())
    content[8192 : len(content) - 4096] = b"\xff" * (len(content) - 12288)
    (tmp_path / "a.db").write_bytes(content)
    with pytest.raises(StateError, match="damaged"):
        backup.restore(None, tmp_path / "elsewhere", tmp_path / "a.db")
    assert not (tmp_path / "elsewhere/state.db").exists()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "does not exist; name a file that `autoscaler backup` wrote"),
        (b"", "does not hold a state"),
        (b"a letter to my aunt" * 100, "is not an SQLite database"),
    ],
)
def test_a_file_that_is_not_a_backup_is_refused(content: bytes | None, words: str, tmp_path: Path) -> None:
    """The message says what was expected."""
    if content is not None:
        (tmp_path / "a.db").write_bytes(content)
    with pytest.raises(StateError, match=words):
        backup.restore(None, tmp_path / "state", tmp_path / "a.db")


@pytest.mark.parametrize(("number", "said"), [(3, "an older version"), (99, "a newer version")])
def test_a_state_of_another_version_cannot_be_backed_up(number: int, said: str, opener: Opener, tmp_path: Path) -> None:
    """Its backup could not be restored."""
    of_version(number, opener.state())
    opener.close()
    with pytest.raises(StateError, match=rf"written by {said} .*install that version again"):
        backup.back_up(opener.url, opener.folder, tmp_path / "a.db")
    assert not (tmp_path / "a.db").exists()


@pytest.mark.parametrize(("number", "said"), [(3, "an older version"), (99, "a newer version")])
def test_a_backup_of_another_version_is_not_restored(number: int, said: str, opener: Opener, tmp_path: Path) -> None:
    """Nor with `--replace`. The present state stays unchanged."""
    live(opener)
    opener.close()
    backup.back_up(opener.url, opener.folder, tmp_path / "a.db")
    with sqlite3.connect(tmp_path / "a.db") as connection:
        connection.execute("UPDATE schema_version SET version = ?", (number,))
    before = content_of(opener.url, opener.folder)
    with pytest.raises(StateError, match=rf"^backup .*a\.db was written by {said} .*; restore it with that version$"):
        backup.restore(opener.url, opener.folder, tmp_path / "a.db", replacing=True)
    assert content_of(opener.url, opener.folder) == before


def test_a_backup_that_cannot_be_written_leaves_nothing(opener: Opener, tmp_path: Path) -> None:
    """The message names the problem of the folder."""
    live(opener)
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(StateError, match=r"cannot be written: .*; check that the folder exists"):
        backup.back_up(opener.url, opener.folder, tmp_path / "file/a.db")


def test_a_name_that_no_file_can_have_is_an_error_with_its_cause(opener: Opener, tmp_path: Path) -> None:
    """As is a folder that this user may not look into. `autoscaler backup "$UNSET"` ended with a traceback."""
    live(opener)
    too_long = tmp_path / ("a" * 300)
    with pytest.raises(StateError, match=r"cannot be written: File name too long"):
        backup.back_up(opener.url, opener.folder, too_long)
    with pytest.raises(StateError, match=r"cannot be read: File name too long"):
        backup.restore(None, tmp_path / "state", too_long)
    for folder in (Path(), Path("/"), Path("..")):
        with pytest.raises(StateError, match="already exists; name another file"):
            backup.back_up(opener.url, opener.folder, folder)
        with pytest.raises(StateError, match="is not a regular file; name a file"):
            backup.restore(None, tmp_path / "state", folder)


def test_a_killed_backup_leaves_nothing_that_looks_like_one(
    opener: Opener, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A nightly copy would take it along. The next backup of this name is made all the same, as one file."""
    live(opener)
    file = tmp_path / "backups/a.db"
    file.parent.mkdir()
    monkeypatch.setattr(Path, "hardlink_to", lambda *_: None)
    monkeypatch.setattr(backup, "remove_database", lambda *_: None)
    backup.back_up(opener.url, opener.folder, file)  # it ends before the file has its name
    assert [each.name for each in file.parent.iterdir()] == ["a.db.partial"]
    monkeypatch.undo()
    backup.back_up(opener.url, opener.folder, file)
    assert [each.name for each in file.parent.iterdir()] == ["a.db"]


@pytest.mark.parametrize(
    ("use", "words"),
    [
        (lambda folder, url: backup.back_up(url, folder, folder / "a.db"), "pg_dump, and after pg_restore"),
        (lambda folder, url: backup.restore(url, folder, folder / "a.db"), "is restored with pg_restore, and then"),
        (lambda folder, _: backup.end_copied(None, folder), "name the backup to restore"),
    ],
    ids=["backup", "restore", "restore without a file"],
)
def test_each_database_is_restored_in_its_own_way(
    use: Callable[[Path, str], object], words: str, tmp_path: Path
) -> None:
    """The message names the command to use instead."""
    with pytest.raises(StateError, match=words):
        use(tmp_path, "postgresql://user@host/database")
