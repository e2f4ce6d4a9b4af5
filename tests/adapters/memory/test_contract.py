"""The adapter contract, for the reference adapter."""

from pathlib import Path

import pytest

from autoscaler.target.contract import AdapterContract, Harness
from tests.adapters.memory.harness import MemoryHarness


class TestMemory(AdapterContract):
    @pytest.fixture
    def harness(self, tmp_path: Path) -> Harness:
        return MemoryHarness(tmp_path)
