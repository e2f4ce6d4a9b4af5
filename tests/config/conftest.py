"""A fixture that loads a text as a file, and adapter types for tests."""

from collections.abc import Callable
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import TypeAlias

import pytest

from autoscaler.config.loader import load
from autoscaler.config.settings import Settings
from autoscaler.target import installed
from autoscaler.target.registry import GROUP

TYPES = {
    "groups": "tests.config.adapter:Groups",
    "faulty": "tests.config.adapter:Faulty",
    "nodes": "tests.config.adapter:Nodes",
    "nervous": "tests.config.adapter:Nervous",
    "lost": "tests.config.adapter:Lost",
    "missing": "tests.config.nowhere:Groups",
}

Load: TypeAlias = Callable[[str], Settings]


@pytest.fixture(autouse=True)
def test_adapters(monkeypatch: pytest.MonkeyPatch) -> None:
    """Types `groups`, `faulty`, `nervous`, `lost`, and `missing`, whose module does not exist."""
    entries = {name: EntryPoint(name, value, GROUP) for name, value in TYPES.items()}
    monkeypatch.setattr("autoscaler.target.registry.installed", lambda: dict(installed()) | entries)
    monkeypatch.setattr("autoscaler.config.connections.installed", lambda: dict(installed()) | entries)


@pytest.fixture
def load_text(tmp_path: Path) -> Load:
    """Load a text as a file."""

    def load_it(text: str) -> Settings:
        path = tmp_path / "autoscaler.yaml"
        path.write_text(text, encoding="utf-8")
        return load(path)

    return load_it
