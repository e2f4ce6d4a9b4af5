"""The contract suite, passed by the in-memory reference."""

import pytest

from autoscaler.target.contract import AdapterContract, Harness
from tests.contract.memory import MemoryHarness


class TestReference(AdapterContract):
    @pytest.fixture
    def harness(self) -> Harness:
        return MemoryHarness()
