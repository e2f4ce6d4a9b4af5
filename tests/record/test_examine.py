"""What `check --live` finds out about the state, without a change."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from autoscaler.errors import StateError
from autoscaler.record.examine import examine_state
from tests.record.conftest import Opener


def files(folder: Path) -> dict[str, tuple[int, int]]:
    """Return the size and the last change of each file in a folder."""
    found = {str(each.relative_to(folder)): each.stat() for each in folder.rglob("*")}
    return {name: (each.st_size, each.st_mtime_ns) for name, each in found.items()}


def test_a_state_is_read_beside_its_daemon_and_after_its_end(opener: Opener) -> None:
    """On SQLite no file appears: SQLite would create a log for a reader, which would then belong to root."""
    opener.state()
    before = files(opener.folder)
    assert examine_state(opener.url, opener.folder).endswith(", read")
    assert files(opener.folder) == before
    opener.close()
    before = files(opener.folder)
    assert examine_state(opener.url, opener.folder).endswith(", read")
    assert files(opener.folder) == before


def test_an_empty_database_is_fine(opener: Opener) -> None:
    """An administrator has created it for the daemon."""
    if opener.url is None:
        opener.folder.mkdir(exist_ok=True)
        (opener.folder / "state.db").touch()
    assert examine_state(opener.url, opener.folder).endswith("read: the daemon creates its tables")


@pytest.mark.parametrize("place", ["state.db", "new/folder/state.db"])
def test_an_absent_state_is_fine_and_stays_absent(place: str, tmp_path: Path) -> None:
    assert examine_state(f"sqlite:///{tmp_path}/{place}", tmp_path) == f"{tmp_path}/{place}, which the daemon creates"
    assert files(tmp_path) == {}


def _junk(folder: Path) -> None:
    (folder / "state.db").write_text("hello\n" * 200)


def _short_junk(folder: Path) -> None:
    (folder / "state.db").write_text("hello\n")


def _directory(folder: Path) -> None:
    (folder / "state.db").mkdir()


@pytest.mark.parametrize(
    ("prepare", "said"),
    [
        (_junk, "state.db: it is not an SQLite database; move it away, or correct state.url"),
        (_short_junk, "state.db: it is not an SQLite database; move it away, or correct state.url"),
        (_directory, "state.db cannot be used: Is a directory"),
    ],
)
def test_a_file_that_is_no_database_is_explained(prepare: Callable[[Path], None], said: str, tmp_path: Path) -> None:
    """The daemon would not start with it."""
    prepare(tmp_path)
    before = files(tmp_path)
    with pytest.raises(StateError, match=said):
        examine_state(None, tmp_path)
    assert files(tmp_path) == before


def test_a_state_of_another_user_is_not_judged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An operator checks the file of a service, whose folder is open to the service's user alone."""

    def refuse(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "open", refuse)
    assert examine_state(None, tmp_path) == (
        f"{tmp_path}/state.db, not examined: this user may not use it; run the check as root, or as the daemon's user"
    )
