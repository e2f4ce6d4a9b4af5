import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import requests
import yaml

from autoscaler.config.loader import load
from demo.__main__ import introduce
from demo.stage import CONFIG, ROOT, Stage, filled, free_range, web_address
from tests.servers.ports import free_port


def test_the_configuration_in_the_repository_is_valid() -> None:
    """Readers copy from it."""
    assert [scaler.name for scaler in load(CONFIG).autoscalers] == ["shop"]


def test_filling_in_changes_only_addresses_and_folders(tmp_path: Path) -> None:
    """The demo runs the configuration that the repository shows."""
    original = yaml.safe_load(CONFIG.read_text())
    copy = filled(original, tmp_path, "127.0.0.1:1", "127.0.0.1:2", range(20016, 20032))
    file = tmp_path / "demo.yaml"
    file.write_text(yaml.safe_dump(copy))
    as_it_stands, as_it_runs = load(CONFIG), load(file)
    assert as_it_runs.autoscalers == as_it_stands.autoscalers
    assert as_it_runs.prometheus["default"].url == "http://127.0.0.1:1"
    assert as_it_runs.web.listen_address == "127.0.0.1:2"
    assert as_it_runs.web.control_socket == tmp_path / "control.sock"
    assert as_it_runs.state.url == f"sqlite:///{tmp_path}/state/state.db"
    assert copy["adapters"]["local"]["pools"]["shop"]["ports"] == "20016-20031"
    assert original["web"]["listenAddress"] == "127.0.0.1:9797"


def test_a_range_with_a_taken_port_is_skipped() -> None:
    """Another program's port must not stop the demo."""
    taken_port = free_range(16)[3]
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", taken_port))
        again = free_range(16)
    assert taken_port not in again
    assert len(again) == 16


def test_if_the_usual_address_is_taken_another_is_used() -> None:
    """A daemon that already runs must neither stop the demo nor be mistaken for it."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        usual = f"127.0.0.1:{taken.getsockname()[1]}"
        assert web_address(usual) != usual
    assert web_address(usual) == usual


@pytest.mark.slow
def test_the_commands_that_the_demo_prints_reach_its_daemon() -> None:
    """Readers try them next, also on a machine with another daemon."""
    with Stage() as stage:
        commands = re.findall(r"\.venv/bin/(autoscaler .*)", introduce(stage, None))
        assert [command.split()[1] for command in commands] == ["get", "explain", "pause"]
        stage.start_daemon()
        for command in commands:
            words = [sys.executable, "-m", *command.split()]
            done = subprocess.run(words, cwd=ROOT, check=False, capture_output=True, text=True, timeout=60)
            assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_an_address_that_is_taken_meanwhile_is_replaced() -> None:
    """Two demos may choose at the same moment."""
    port = free_port()
    usual = f"127.0.0.1:{port}"
    with Stage(usual=usual) as stage, socket.socket() as taken:
        assert stage.page_url == f"http://{usual}"
        taken.bind(("127.0.0.1", port))
        taken.listen()
        stage.start_daemon()
        assert stage.page_url != f"http://{usual}"
        assert requests.get(f"{stage.page_url}/-/healthy", timeout=10).ok
