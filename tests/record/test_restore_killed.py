"""A restore that is killed or blocked by another process loses nothing of the present state."""

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
from tests.record.tables import content_of, live, tables_of


def _killed(tmp_path: Path) -> Path:
    """Return the folder of a state whose daemon was killed. Only SQLite's log has the commits after the backup."""
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
def test_a_killed_restore_loses_no_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dies_at: int) -> None:
    """The file is then the complete old state, or the complete backup."""
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
    """Its log could not be merged, so the file that is put aside would lack the newest commits."""
    opener = Opener(None, tmp_path / "state")
    live(opener)
    backup.back_up(None, opener.folder, tmp_path / "a.db")
    before = tables_of(None, opener.folder)
    reader = sqlite3.connect(opener.folder / "state.db", isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM autoscaler").fetchall()
    opener.close()
    with pytest.raises(StateError, match="another process holds it locked"):
        backup.restore(None, opener.folder, tmp_path / "a.db", replacing=True)
    reader.close()
    assert tables_of(None, opener.folder) == before
