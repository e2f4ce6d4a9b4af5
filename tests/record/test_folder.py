"""Where the state is on this machine."""

from pathlib import Path

import pytest

from autoscaler.errors import StateError
from autoscaler.record.folder import make_folder, state_folder


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
    """The service manager's word first, then the desktop's, then a fixed place below the home."""
    assert state_folder(environment) == Path(folder).expanduser()


def test_a_folder_that_cannot_be_made_is_a_sentence(tmp_path: Path) -> None:
    """It names the folder, the cause and the remedy."""
    (tmp_path / "file").write_text("")
    with pytest.raises(StateError, match=r"file/state: the state folder cannot be made: .*STATE_DIRECTORY"):
        make_folder(tmp_path / "file" / "state")


def test_a_folder_is_for_its_user_alone(tmp_path: Path) -> None:
    """It holds what the daemon decided and why."""
    assert make_folder(tmp_path / "state").stat().st_mode & 0o077 == 0
