"""A large file is loaded in a child process, with the same result."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from autoscaler.config.large_file import load_for_daemon
from autoscaler.config.loader import load, load_text
from autoscaler.config.settings import Settings
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
def write(tmp_path: Path) -> Callable[..., Path]:
    """Return a function that writes a file."""

    def written(most: int = 3) -> Path:
        path = tmp_path / "autoscaler.yaml"
        scalers = "".join(SCALER.format(number=number, most=most) for number in range(SOME))
        (tmp_path / "token").write_text("secret")
        path.write_text(f"{SECRETS}adapters: {{a: {{type: docker-swarm}}}}\nautoscalers:{scalers}")
        return path

    return written


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Return the files that are loaded in this process."""
    loaded = list[Path]()

    def counted(path: Path, text: str) -> Settings:
        loaded.append(path)
        return load_text(path, text)

    monkeypatch.setattr("autoscaler.config.large_file.load_text", counted)
    return loaded


@pytest.mark.slow
def test_a_child_process_returns_the_same_settings(write: Callable[..., Path], here: list[Path]) -> None:
    """They include an adapter's settings."""
    path = write()
    assert load_for_daemon(path, small=0) == load(path)
    assert len(load_for_daemon(path, small=0).autoscalers) == SOME
    assert here == []


@pytest.mark.slow
def test_a_child_process_returns_every_problem_with_its_position(write: Callable[..., Path], here: list[Path]) -> None:
    path = write(most=0)
    with pytest.raises(ConfigError) as expected:
        load(path)
    with pytest.raises(ConfigError) as found:
        load_for_daemon(path, small=0)
    assert found.value.problems == expected.value.problems
    assert len(found.value.problems) == SOME
    assert here == []


def test_without_a_child_process_the_file_is_loaded_here(
    write: Callable[..., Path], here: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A limit of processes must cost only memory."""
    monkeypatch.setattr(sys, "executable", "/nonexistent/python")
    path = write()
    assert load_for_daemon(path, small=0) == load(path)
    assert here == [path]


def test_a_small_file_is_loaded_here(
    write: Callable[..., Path], here: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A child process would take longer."""
    path = write()
    monkeypatch.setattr(subprocess, "run", None)
    assert len(load_for_daemon(path).autoscalers) == SOME
    assert here == [path]
