"""What the command line and the environment make of the configuration."""

from pathlib import Path

import pytest

from autoscaler.daemon import Options, read, state_folder
from autoscaler.errors import ConfigError
from tests.daemon.running import autoscaler, write_config


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


@pytest.mark.parametrize("flag", [True, False])
def test_a_dry_run_wins_wherever_it_is_asked_for(tmp_path: Path, flag: bool) -> None:
    """By the flag for all, by the file for one."""
    scalers = [autoscaler("web", "vector(1)"), autoscaler("dry", "vector(1)", dryRun=True)]
    settings = read(Options(write_config(tmp_path, "http://127.0.0.1:1", scalers), dry_run=flag))
    assert {scaler.name: scaler.dry_run for scaler in settings.autoscalers} == {"web": flag, "dry": True}


def test_what_check_warns_of_keeps_run_from_starting(tmp_path: Path) -> None:
    """A secret that is absent here would fail every query."""
    sources = {"default": {"url": "http://127.0.0.1:1", "bearerTokenFile": "absent-token"}}
    config = write_config(tmp_path, sources, [autoscaler("web", "vector(1)")])
    with pytest.raises(ConfigError, match="absent-token"):
        read(Options(config))
