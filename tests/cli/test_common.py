"""What several commands have in common."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.checking import GOOD
from tests.cli.scene import Scene, ServedScene


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (("get",), "cpu: 60%/60%"),
        (("get", "-o", "wide"), "cpu: 60%/60%"),
        (("get", "-o", "json"), "cpu: 60%/60%"),
        (("describe", "web"), "ScalingActive"),
        (("events",), "New size: 6"),
        (("explain", "web"), "cpu 60% of 60% asks for 6"),
    ],
)
def test_without_a_daemon_the_state_is_read(offline: Scene, words: tuple[str, ...], shown: str) -> None:
    """Operators look most often while the daemon is down. Standard error says where the output comes from."""
    said = offline.run(*words)
    assert said.code == 0
    assert re.fullmatch(
        r"no daemon answers at http://127.0.0.1:1 \(connection refused\); this is the last known state, of "
        rf"(.{{11}})?\d\d:\d\d:\d\d \(\w+ ago\), in {offline.folder}\. If it runs, name it with --config.file, "
        r"--server or \$AUTOSCALER_SERVER",
        said.err.splitlines()[0],
    )
    assert shown in said.out


def test_an_unknown_name_is_refused_with_the_nearest(online: ServedScene, offline: Scene) -> None:
    """The endpoint says it, by the daemon or in the command."""
    reads = ["get", "describe", "explain", "history", "events"]
    for scene, commands in ((online, [*reads, "pause"]), (offline, reads)):
        for command in commands:
            said = scene.run(command, "wbe")
            assert (said.code, said.out) == (1, ""), command
            line = said.err.splitlines()[-1]
            assert re.fullmatch(r"no autoscaler 'wbe' is configured( or remembered)?; did you mean `web`\?", line)


@pytest.mark.parametrize(
    ("command", "name"),
    [("get", "web\udcff"), ("events", "web\udcff"), ("events", "a" * 300)],
    ids=["get", "events", "events, long"],
)
def test_a_name_that_none_can_have_is_refused_without_a_daemon(offline: Scene, command: str, name: str) -> None:
    """Requests that are answered from the state have the limits of the API, too."""
    said = offline.run(command, name)
    assert (said.code, said.out) == (1, "")
    assert said.err.splitlines()[-1].startswith((f"no autoscaler '{name[:3]}", "name: "))


@pytest.mark.parametrize("command", ["get", "describe"])
def test_a_name_that_is_not_utf_8_is_unknown(online: ServedScene, command: str) -> None:
    """The shell passes such a byte on as a surrogate."""
    said = online.run(command, "web\udcff")
    assert (said.code, said.out) == (1, "")
    assert "no autoscaler 'web" in said.err


def test_since_after_until_is_refused(online: ServedScene) -> None:
    assert online.run("history", "web", "--since", "1h", "--until", "2h").code == 2


@pytest.mark.slow
@pytest.mark.parametrize("command", ["--help", "check", "get"])
def test_a_command_imports_only_what_it_needs(online: ServedScene, tmp_path: Path, command: str) -> None:
    """Imports would take most of a command's time. Editors and hooks run `check`."""
    (tmp_path / "good.yaml").write_text(GOOD)
    heavy = {"sqlalchemy", "apscheduler", "starlette", "uvicorn", "boto3", "docker", "requests", "rich", "structlog"}
    if command == "get":
        heavy |= {"autoscaler.config", "yaml"}
    script = (
        "import sys\nfrom autoscaler.__main__ import main\n"
        "try:\n    main()\nexcept SystemExit as end:\n    assert not end.code, end.code\n"
        f"print(*(name for name in {heavy} if sys.modules.get(name)), file=sys.stderr)"  # None: kept out
    )
    words = {"--help": [], "check": [str(tmp_path / "good.yaml")], "get": ["web"]}[command]
    ended = subprocess.run(
        [sys.executable, "-c", script, command, *words],
        check=True, capture_output=True, text=True, env=os.environ | online.env, timeout=60,
    )  # fmt: skip
    assert ended.stderr.strip() == ""
