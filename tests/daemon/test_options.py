"""What the command line and the environment make of the configuration."""

from pathlib import Path

import pytest

from autoscaler.errors import ConfigError
from autoscaler.runtime.options import RunOptions, read
from tests.daemon.running import autoscaler, write_config


@pytest.mark.parametrize("flag", [True, False])
def test_a_dry_run_wins_wherever_it_is_asked_for(tmp_path: Path, flag: bool) -> None:
    """By the flag for all, by the file for one."""
    scalers = [autoscaler("web", "vector(1)"), autoscaler("dry", "vector(1)", dryRun=True)]
    settings = read(RunOptions(write_config(tmp_path, "http://127.0.0.1:1", scalers), dry_run=flag))
    assert {scaler.name: scaler.dry_run for scaler in settings.autoscalers} == {"web": flag, "dry": True}


def test_what_check_warns_of_keeps_run_from_starting(tmp_path: Path) -> None:
    """A secret that is absent here would fail every query."""
    sources = {"default": {"url": "http://127.0.0.1:1", "bearerTokenFile": "absent-token"}}
    config = write_config(tmp_path, sources, [autoscaler("web", "vector(1)")])
    with pytest.raises(ConfigError, match="absent-token"):
        read(RunOptions(config))
