"""The adapter contract, for 40 lines of shell behind the adapter."""

from pathlib import Path

import pytest

from autoscaler.target.contract import AdapterContract, Harness
from tests.adapters.command.harness import EXAMPLES, GroupsHarness


@pytest.mark.slow  # some hundred programs
class TestCommand(AdapterContract):
    @pytest.fixture
    def harness(self, tmp_path: Path) -> Harness:
        return GroupsHarness(tmp_path)


def test_the_program_that_keeps_every_promise_is_short() -> None:
    """A stranger writes one in an hour."""
    lines = (EXAMPLES / "groups").read_text().splitlines()
    assert len([line for line in lines if line.strip() and not line.startswith("#")]) <= 40
