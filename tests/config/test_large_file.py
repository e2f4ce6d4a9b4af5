"""A large file is loaded in a process of its own, with the same result."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from autoscaler.config import Settings, large_file, load, load_for_daemon
from autoscaler.config.loader import load_text
from autoscaler.errors import ConfigError

SCALER = """
  - name: w-{number}
    scaleTargetRef: {{adapter: a, name: w-{number}}}
    maxReplicas: {most}
    metrics:
      - {{type: External, external: {{metric: {{name: q}}, query: {{expr: q}}, target: {{type: Value, value: 1}}}}}}
"""
SECRETS = 'prometheus: {default: {url: "http://localhost:9090", bearerTokenFile: token}}\n'
SOME = 3


@pytest.fixture
def large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Writes a file that counts as large."""
    monkeypatch.setattr(large_file, "SMALL", 0)

    def write(most: int = 3) -> Path:
        path = tmp_path / "autoscaler.yaml"
        scalers = "".join(SCALER.format(number=number, most=most) for number in range(SOME))
        (tmp_path / "token").write_text("secret")
        path.write_text(f"{SECRETS}adapters: {{a: {{type: docker-swarm}}}}\nautoscalers:{scalers}")
        return path

    return write


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The files that were loaded in this process."""
    loaded = list[Path]()

    def counted(path: Path, text: str) -> Settings:
        loaded.append(path)
        return load_text(path, text)

    monkeypatch.setattr("autoscaler.config.large_file.load_text", counted)
    return loaded


def test_another_process_hands_over_the_same_settings(large: Callable[..., Path], here: list[Path]) -> None:
    """What made them is gone with it; what stays is what they come to, an adapter's own settings included."""
    path = large()
    assert load_for_daemon(path) == load(path)
    assert len(load_for_daemon(path).autoscalers) == SOME
    assert here == []


def test_every_problem_comes_back_in_its_place(large: Callable[..., Path], here: list[Path]) -> None:
    """An operator must not see where it was loaded."""
    path = large(most=0)
    with pytest.raises(ConfigError) as expected:
        load(path)
    with pytest.raises(ConfigError) as found:
        load_for_daemon(path)
    assert found.value.problems == expected.value.problems
    assert len(found.value.problems) == SOME
    assert here == []


def test_it_is_loaded_here_where_no_other_process_can_be_begun(
    large: Callable[..., Path], here: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A limit of processes, or an interpreter that is embedded, costs memory and not the configuration."""
    monkeypatch.setattr(sys, "executable", "/nonexistent/python")
    path = large()
    assert load_for_daemon(path) == load(path)
    assert here == [path]


def test_a_usual_file_is_loaded_here(
    large: Callable[..., Path], here: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process would take longer than the file."""
    path = large()
    monkeypatch.setattr(large_file, "SMALL", 10**6)
    monkeypatch.setattr(subprocess, "run", None)
    assert len(load_for_daemon(path).autoscalers) == SOME
    assert here == [path]
