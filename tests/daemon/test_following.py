"""The state follows a configuration before any shard of it begins: `maxTotal` counts the autoscalers of all shards."""

from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pytest

from autoscaler.config.loader import load
from autoscaler.config.settings import Settings
from autoscaler.errors import AdapterError
from autoscaler.record.housekeeping import Retention
from autoscaler.runtime.following import Following
from autoscaler.threads import Stop

CONFIG = """
adapters: {{fleet: {{type: memory, shards: 2, groups: {{a: {{}}, b: {{}}}}}}}}
autoscalers:
  - name: {name}
    scaleTargetRef: {{adapter: fleet, name: a}}
    maxReplicas: 5
    metrics:
      - {{type: External, external: {{metric: {{name: x}}, query: {{expr: x}}, target: {{type: Value, value: 1}}}}}}
"""


class FakeState:
    """Notes what it follows."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def follow(self, _retention: Retention, scalers: Any, _scaled: Any) -> None:
        self.names = [scaler.name for scaler in scalers]


class FakeRuntime:
    """Begins a shard, or fails before."""

    adapters = changes = 0

    def __init__(self, state: FakeState) -> None:
        self.state, self.fails = state, False
        self.begun_with: list[str] = []

    def follow(self, _settings: Settings, also: Callable[[], None]) -> None:
        also()
        if self.fails:
            raise AdapterError("an old shard does not end")
        self.begun_with = self.state.names

    def served(self, _settings: Settings) -> list[Any]:
        return []


def settings(folder: Path, name: str) -> Settings:
    file = folder / "autoscaler.yaml"
    file.write_text(CONFIG.format(name=name), encoding="utf-8")
    return load(file)


@pytest.fixture
def parts(tmp_path: Path) -> tuple[Following, FakeRuntime, FakeState, MagicMock]:
    state, outside = FakeState(), MagicMock()
    runtime: Any = FakeRuntime(state)
    known: Any = state
    other = MagicMock()
    following = Following(
        other, settings(tmp_path, "first"), known, runtime, outside, other, other, other, Stop(), other
    )
    return following, runtime, state, outside


def test_the_state_follows_before_the_first_shard(
    parts: tuple[Following, FakeRuntime, FakeState, MagicMock],
) -> None:
    """The first cycles would count the autoscalers of shards that begin later as nothing."""
    following, runtime, _, _ = parts
    assert following.begin() is None
    assert runtime.begun_with == ["first"]


def test_a_reload_that_fails_changes_nothing_in_the_state(
    parts: tuple[Following, FakeRuntime, FakeState, MagicMock], tmp_path: Path
) -> None:
    following, runtime, state, outside = parts
    following.begin()
    outside.changed.return_value, runtime.fails = settings(tmp_path, "second"), True
    following.follow_outside(["teams"])
    assert state.names == ["first"]
