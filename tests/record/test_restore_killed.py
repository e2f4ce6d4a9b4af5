"""A restore that is killed, or that another process is in the way of, loses nothing of what is there."""

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from autoscaler.errors import StateError
from autoscaler.record import backup
from tests.record.conftest import Opener
from tests.record.samples import FLEET, decision, keep
from tests.record.test_backup import content_of, live, tables_of


def _killed(tmp_path: Path) -> Path:
    """The folder of a state whose daemon was killed: what is newer than the backup is in SQLite's log alone."""
    opener = Opener(None, tmp_path / "running")
    state = live(opener)
    backup.back_up(None, opener.folder, tmp_path / "a.db")
    keep(state.ledger(FLEET), decision(900))
    for name in ("state", "copy"):
        shutil.copytree(opener.folder, tmp_path / name)
    opener.close()
    assert (tmp_path / "state" / "state.db-wal").stat().st_size
    return tmp_path / "state"


@pytest.mark.parametrize("dies_at", range(1, 5))
def test_a_restore_that_is_killed_loses_no_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dies_at: int
) -> None:
    """What is there then is the state of before, or the backup: whole."""
    folder = _killed(tmp_path)
    before, after = tables_of(None, tmp_path / "copy"), content_of(f"sqlite:///{tmp_path}/a.db", tmp_path)
    steps = 0

    def dying(step: Callable[..., Any]) -> Callable[..., Any]:
        def done(*arguments: Any, **named: Any) -> Any:
            nonlocal steps
            steps += 1
            if steps == dies_at:
                raise KeyboardInterrupt
            return step(*arguments, **named)

        return done

    with monkeypatch.context() as patch, suppress(KeyboardInterrupt):
        for name in ("replace", "hardlink_to"):
            patch.setattr(Path, name, dying(getattr(Path, name)))
        backup.restore(None, folder, tmp_path / "a.db", replacing=True)
    assert tables_of(None, folder) == before or content_of(None, folder) == after


def test_a_state_that_another_process_reads_is_not_replaced(tmp_path: Path) -> None:
    """Its log could not be brought into the file, which would be put aside without its newest commits."""
    opener = Opener(None, tmp_path / "state")
    live(opener)
    backup.back_up(None, opener.folder, tmp_path / "a.db")
    before = tables_of(None, opener.folder)
    reader = sqlite3.connect(opener.folder / "state.db", isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM memory").fetchall()
    opener.close()
    with pytest.raises(StateError, match="another process holds it locked"):
        backup.restore(None, opener.folder, tmp_path / "a.db", replacing=True)
    reader.close()
    assert tables_of(None, opener.folder) == before
