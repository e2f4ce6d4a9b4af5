"""A command that cannot be started is detected without starting it."""

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from adapters.process.settings import PoolSettings
from adapters.process.startable import unstartable


@pytest.fixture(autouse=True)
def programs(tmp_path: Path) -> None:
    """Files of every kind in the pools' folder."""
    for name, content, mode in (
        ("script", "#!/bin/sh\nexit 0\n", 0o755),
        ("plain", "#!/bin/sh\n", 0o644),
        ("bin/tool", "#!/bin/sh\n", 0o755),
    ):
        file = tmp_path / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(content)
        file.chmod(mode)


def problem(folder: Path, **pool: Any) -> str | None:
    settings = PoolSettings.model_validate({"cwd": str(folder), **pool})
    return unstartable(settings, {"PATH": "/usr/bin:/bin"})


@pytest.mark.parametrize(
    "pool",
    [
        {"command": "sleep 9"},
        {"command": "/bin/sh -c true"},
        {"command": "./script"},
        {"command": "bin/tool"},
        {"command": "tool", "env": {"PATH": "bin"}},
        {"command": "./{port}", "ports": "20000-20000"},
    ],
)
def test_a_command_that_starts_is_fine(tmp_path: Path, pool: dict[str, Any]) -> None:
    """By path, from the pool's folder, and by PATH, as the kernel finds it."""
    (tmp_path / "20000").symlink_to("script")
    assert problem(tmp_path, **pool) is None
    settings = PoolSettings.model_validate(pool)
    words = [word.replace("{port}", "20000") for word in settings.command]
    words = words if words[0] != "sleep" else ["sleep", "0"]
    environment = {"PATH": "/usr/bin:/bin", **settings.env}
    assert subprocess.run(words, cwd=tmp_path, env=environment, check=False, timeout=120).returncode == 0


@pytest.mark.parametrize(
    ("pool", "said"),
    [
        ({"command": "no-such-program"}, "'no-such-program' in PATH '/usr/bin:/bin' is no program"),
        ({"command": "sleep 9", "env": {"PATH": "/nowhere"}}, "'sleep' in PATH '/nowhere' is no program"),
        ({"command": "./none"}, "none is no program that this user may run; correct the command"),
        ({"command": "./bin"}, "bin is no program"),
        ({"command": "./plain"}, "plain is no program that this user may run"),
        ({"command": "plain", "env": {"PATH": "."}}, "make it executable (chmod +x)"),
        ({"command": "sleep 9", "cwd": "/no/such/folder"}, "cwd /no/such/folder is no folder"),
        ({"command": "sleep 9", "cwd": "/dev/null"}, "cwd /dev/null is no folder"),
    ],
)
def test_an_obstacle_is_named_with_a_remedy(tmp_path: Path, pool: dict[str, Any], said: str) -> None:
    """Otherwise the first scale-out would fail."""
    found = problem(tmp_path, **pool)
    assert found is not None
    assert said in found
    assert "; " in found


def test_the_pools_own_path_goes_before_the_environments(tmp_path: Path) -> None:
    """The same order as for the worker."""
    assert problem(tmp_path, command="tool", env={"PATH": str(tmp_path / "bin")}) is None
    settings = PoolSettings.model_validate({"command": "tool"})
    assert unstartable(settings, {"PATH": f"/nowhere{os.pathsep}{tmp_path / 'bin'}"}) is None
