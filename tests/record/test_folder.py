"""The place of the state on this machine."""

import os
from datetime import timedelta
from pathlib import Path

import pytest

from autoscaler.errors import StateError
from autoscaler.record.folder import make_folder, state_folder
from autoscaler.record.housekeeping import Retention
from autoscaler.record.state import State


@pytest.mark.parametrize(
    ("environment", "folder"),
    [
        ({"STATE_DIRECTORY": "/var/lib/autoscaler", "XDG_STATE_HOME": "/x"}, "/var/lib/autoscaler"),
        ({"STATE_DIRECTORY": "/var/lib/autoscaler:/var/lib/other"}, "/var/lib/autoscaler"),
        ({"XDG_STATE_HOME": "/x"}, "/x/autoscaler"),
        ({"STATE_DIRECTORY": "", "XDG_STATE_HOME": ""}, "~/.local/state/autoscaler"),
    ],
    ids=["systemd", "systemd, several", "XDG", "nothing"],
)
def test_the_state_is_where_the_environment_says(environment: dict[str, str], folder: str) -> None:
    """The service manager's variable comes first, then the desktop's, then a fixed folder in the home."""
    assert state_folder(environment) == Path(folder).expanduser()


def test_a_folder_that_cannot_be_created_is_a_clear_error(tmp_path: Path) -> None:
    """It names the folder, the cause and the remedy."""
    (tmp_path / "file").write_text("")
    with pytest.raises(StateError, match=r"file/state: the state folder cannot be created: .*STATE_DIRECTORY"):
        make_folder(tmp_path / "file" / "state")


def test_only_its_user_can_read_a_folder_of_the_state(tmp_path: Path) -> None:
    """It contains the decisions and their reasons."""
    made = make_folder(tmp_path / "state" / "adapters" / "local")
    assert {folder.stat().st_mode & 0o777 for folder in (made, made.parent, made.parent.parent)} == {0o700}


@pytest.mark.parametrize("umask", [0o000, 0o022])
@pytest.mark.parametrize("before", [None, 0o644], ids=["new", "copied from elsewhere"])
def test_only_its_user_can_read_the_files_of_the_state(tmp_path: Path, umask: int, before: int | None) -> None:
    """They contain sizes, results of queries and names of operators.

    SQLite gives all its files the mode of the first.
    """
    if before is not None:
        (tmp_path / "state.db").touch()
        (tmp_path / "state.db").chmod(before)
    mask = os.umask(umask)
    try:
        state = State.open(None, tmp_path, Retention(timedelta(days=1), timedelta(days=1), 2**30))
        state.ledger("local")
        modes = {file.name: oct(file.stat().st_mode & 0o777) for file in tmp_path.iterdir()}
        state.close()
    finally:
        os.umask(mask)
    assert modes == dict.fromkeys(["state.db", "state.db-wal", "state.db-shm", "state.db.lock"], "0o600")
