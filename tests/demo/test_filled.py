import socket
from pathlib import Path

import yaml

from autoscaler.config import load
from demo.stage import CONFIG, filled, free_range


def test_the_configuration_as_it_stands_is_valid() -> None:
    """Readers copy from it."""
    assert [scaler.name for scaler in load(CONFIG).autoscalers] == ["shop"]


def test_filling_in_changes_addresses_and_folders_alone(tmp_path: Path) -> None:
    """What is shown is what stands in the repository."""
    original = yaml.safe_load(CONFIG.read_text())
    copy = filled(original, tmp_path, "127.0.0.1:1", "127.0.0.1:2", range(20016, 20032))
    file = tmp_path / "demo.yaml"
    file.write_text(yaml.safe_dump(copy))
    as_it_stands, as_it_runs = load(CONFIG), load(file)
    assert as_it_runs.autoscalers == as_it_stands.autoscalers
    assert as_it_runs.prometheus["default"].url == "http://127.0.0.1:1"
    assert as_it_runs.web.listen_address == "127.0.0.1:2"
    assert copy["adapters"]["local"]["pools"]["shop"]["ports"] == "20016-20031"
    assert original["web"]["listenAddress"] == "127.0.0.1:9797"


def test_a_range_with_a_taken_port_is_passed_over() -> None:
    """Another program's port must not stop the demo."""
    taken_port = free_range(16)[3]
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", taken_port))
        again = free_range(16)
    assert taken_port not in again
    assert len(again) == 16
