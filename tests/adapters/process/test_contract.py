"""The adapter contract, for the process adapter with real processes."""

import pytest

from autoscaler.target.contract import AdapterContract, Harness
from tests.adapters.process.conftest import Build

pytestmark = pytest.mark.slow


class TestProcess(AdapterContract):
    @pytest.fixture
    def harness(self, build: Build) -> Harness:
        return build()
