"""Options and the environment change the configuration."""

from pathlib import Path

import pytest

from autoscaler.errors import ConfigError
from autoscaler.runtime.options import RunOptions, read
from tests.daemon.running import autoscaler, write_config


@pytest.mark.parametrize("flag", [True, False])
def test_a_dry_run_takes_precedence(tmp_path: Path, flag: bool) -> None:
    """The flag sets it for all, the file for one."""
    scalers = [autoscaler("web", "vector(1)"), autoscaler("dry", "vector(1)", dryRun=True)]
    settings = read(RunOptions(write_config(tmp_path, "http://127.0.0.1:1", scalers), dry_run=flag))
    assert {scaler.name: scaler.dry_run for scaler in settings.autoscalers} == {"web": flag, "dry": True}


def test_run_refuses_what_check_warns_of(tmp_path: Path) -> None:
    """Without a secret every query would fail."""
    sources = {"default": {"url": "http://127.0.0.1:1", "bearerTokenFile": "absent-token"}}
    config = write_config(tmp_path, sources, [autoscaler("web", "vector(1)")])
    with pytest.raises(ConfigError, match="absent-token"):
        read(RunOptions(config))
