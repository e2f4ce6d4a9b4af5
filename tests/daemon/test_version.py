"""The version is the same everywhere."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import requests

from tests.daemon.running import autoscaler, running_daemon, write_config
from tests.servers.web import Answer, Request, answering
from tools.extras import command_page

VERSION = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]["version"]


@pytest.mark.slow
def test_a_daemon_has_one_version_everywhere(tmp_path: Path) -> None:
    """Reports of bugs name it, from any place."""
    agents = set[str]()

    def failing(request: Request) -> Answer:
        agents.add(request.headers["User-Agent"])
        return Answer(503, b"")

    with answering(failing) as prometheus:
        groups = {"fleet": {"type": "memory", "groups": {"web": {}}}}
        config = write_config(tmp_path, prometheus, [autoscaler("web", "vector(1)", "fleet")], groups)
        with running_daemon(config) as daemon:
            assert daemon.wait_for("starting")["version"] == VERSION
            daemon.wait_for("decision")
            url = daemon.url
            read = requests.Session().get
            openapi = read(f"{url}/api/v1/openapi.json", timeout=30).json()
            status = read(f"{url}/api/v1/status/daemon", timeout=30).json()["data"]
            page, metrics = (read(f"{url}/{part}", timeout=30).text for part in ("", "metrics"))
    assert [each["version"] for each in (openapi["info"], status)] == [VERSION] * 2
    assert f"<footer><span>prometheus-autoscaler {VERSION}</span>" in page
    assert f'autoscaler_build_info{{version="{VERSION}"}} 1.0' in metrics
    assert agents == {f"prometheus-autoscaler/{VERSION}"}


def test_the_command_and_its_manual_have_the_same_version() -> None:
    """The manual belongs to its program."""
    said = subprocess.run([sys.executable, "-m", "autoscaler", "--version"], capture_output=True, text=True, check=True)
    assert said.stdout == f"autoscaler {VERSION}\n"
    assert command_page().splitlines()[0].endswith(f'"prometheus-autoscaler {VERSION}"')
