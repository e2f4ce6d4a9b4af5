"""Harnesses whose workers end with the test."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from tests.adapters.process.harness import ProcessHarness

Build: TypeAlias = Callable[..., ProcessHarness]


@pytest.fixture
def build(tmp_path: Path) -> Iterator[Build]:
    """Builds harnesses in one folder."""
    made: list[ProcessHarness] = []

    def make(**options: Any) -> ProcessHarness:
        made.append(ProcessHarness(tmp_path, **options))
        return made[-1]

    yield make
    for harness in made:
        harness.finish()
