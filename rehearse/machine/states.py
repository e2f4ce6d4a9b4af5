"""The state's file is damaged, locked, of another user or of another version."""

import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Final

from rehearse.machine.scene import Scene

_PAGE: Final = 4096
_MODES_HOLD: Final = (
    "setpriv",
    "--bounding-set=-dac_override,-dac_read_search",
    "--inh-caps=-dac_override,-dac_read_search",
)
"""Applies file modes to root, too (capabilities(7))."""
_DAMAGED: Final = "restore a backup"
_MODE: Final = "correct the owner or the mode"
_NEWER: Final = 99
_OLDER: Final = 3


def _backed_up(scene: Scene) -> Path:
    """Return the backup of a settled daemon's state. The daemon has ended."""
    backup = scene.folder / "backup.db"
    with scene.settled():
        scene.tool("backup", str(backup))
    return backup


def _goes_on_with(scene: Scene, backup: Path) -> None:
    """Restore the backup as docs/operations.md says: the damaged files are moved away first."""
    away = scene.folder / "away"
    away.mkdir()
    for file in scene.state.glob("state.db*"):
        shutil.move(file, away)
    scene.tool("restore", str(backup))
    with scene.daemon() as daemon:
        scene.follows_again(daemon)


def _damage(file: Path, begin: int = _PAGE) -> None:
    """Set every byte from `begin` on to 0xff. The first page, which marks a database, stays."""
    size = file.stat().st_size
    with file.open("r+b") as content:
        content.seek(begin)
        content.write(b"\xff" * (size - begin))


def _cut_short(file: Path) -> None:
    """Remove half of the file, as after an interrupted copy."""
    with file.open("r+b") as content:
        content.truncate(file.stat().st_size // 2 // _PAGE * _PAGE)


def _does_not_start_with(spoil: Callable[[Path], None], said: str, scene: Scene, _: int) -> None:
    """Assert that the daemon names the cause and does not change the file. With a backup it continues."""
    backup, file = _backed_up(scene), scene.state / "state.db"
    spoil(file)
    content = file.read_bytes()
    scene.ask_for_more()
    scene.does_not_start(said)
    assert file.read_bytes() == content
    _goes_on_with(scene, backup)
    scene.remembered()


def _is_no_database(file: Path) -> None:
    """Replace the whole file."""
    _damage(file, begin=0)


def it_is_damaged_while_it_runs(scene: Scene, _: int) -> None:
    """Damage it while the daemon runs. The daemon scales nothing more; after a restore the next one continues."""
    backup = scene.folder / "backup.db"
    with scene.settled() as daemon:
        scene.tool("backup", str(backup))
        with closing(sqlite3.connect(scene.state / "state.db", isolation_level=None)) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")  # otherwise the log hides the content of the file
        _damage(scene.state / "state.db")
        scene.nobody_is_scaled(daemon, "cycle_failed", _DAMAGED, adapter="other")
    _goes_on_with(scene, backup)
    scene.remembered()


def one_record_is_damaged(scene: Scene, _: int) -> None:
    """Damage one record. Only its own autoscaler fails, with a clear message; the others continue."""
    backup = _backed_up(scene)
    with closing(sqlite3.connect(scene.state / "state.db")) as connection, connection:
        mine = "(SELECT id FROM autoscaler WHERE name = 'held')"
        assert connection.execute(f"UPDATE autoscaler SET body = x'00' WHERE id = {mine}").rowcount
    with scene.daemon() as daemon:
        held = scene.sizes()[0]
        for count in (1, 4):
            line = daemon.wait_for("autoscaler_failed", count, autoscaler="held")
            assert _DAMAGED in line["error"], line
        daemon.wait_for("decision", 3, autoscaler="web", level="info")
        assert scene.sizes()[0] == held
        scene.refused_cycles += 4
    _goes_on_with(scene, backup)


def it_is_of_another_version(scene: Scene, run: int) -> None:
    """Change the version, as after an upgrade or a downgrade. No row changes, and that version can continue."""
    with scene.settled():
        pass
    file = scene.state / "state.db"
    other, said = ((_NEWER, "written by a newer version"), (_OLDER, "written by an older version"))[run % 2]
    version = _set_version(file, other)
    content = _rows(file)
    scene.ask_for_more()
    scene.does_not_start(said)
    assert _rows(file) == content
    _set_version(file, version)
    with scene.daemon() as daemon:
        scene.follows_again(daemon)
    scene.remembered()


def it_may_not_be_written(scene: Scene, run: int) -> None:
    """Give the file, or its folder, to another user."""
    with scene.settled():
        pass
    file = (scene.state, scene.state / "state.db")[run % 2]
    mode = file.stat().st_mode
    file.chmod(mode & 0o555)
    try:
        scene.ask_for_more()
        scene.does_not_start(_MODE, *(_MODES_HOLD if os.geteuid() == 0 else ()))
    finally:
        file.chmod(mode)
    with scene.daemon() as daemon:
        scene.follows_again(daemon)
    scene.remembered()


def it_is_locked(scene: Scene, _: int) -> None:
    """Leave a transaction open, as an operator with sqlite3 may."""
    with scene.settled() as daemon:
        with closing(sqlite3.connect(scene.state / "state.db", isolation_level=None, timeout=60)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            scene.nobody_is_scaled(daemon, "cycle_failed", "", cycles=1, adapter="other")
            told = [line["error"] for line in daemon.events("cycle_failed")]
            assert all(
                "locked; end that process" in each or "another write has been under way" in each for each in told
            )
        scene.follows_again(daemon)
    scene.remembered()


def _set_version(file: Path, version: int) -> int:
    """Set the version of the schema. Returns the one before."""
    with closing(sqlite3.connect(file)) as connection, connection:
        (before,) = connection.execute("SELECT version FROM schema_version").fetchone()
        connection.execute("UPDATE schema_version SET version = ?", (version,))
    return int(before)


def _rows(file: Path) -> list[str]:
    """Return its content, as SQL."""
    with closing(sqlite3.connect(file)) as connection:
        return list(connection.iterdump())


CASES: Final[dict[str, Callable[[Scene, int], None]]] = {
    "the state is damaged at the start": partial(_does_not_start_with, _damage, _DAMAGED),
    "the state is not a database at the start": partial(
        _does_not_start_with, _is_no_database, "it is not an SQLite database; move it away"
    ),
    "the state is cut short at the start": partial(_does_not_start_with, _cut_short, _DAMAGED),
    "the state is damaged while it runs": it_is_damaged_while_it_runs,
    "one autoscaler's record is damaged": one_record_is_damaged,
    "the state is of another version": it_is_of_another_version,
    "the state may not be written": it_may_not_be_written,
    "the state is locked": it_is_locked,
}
