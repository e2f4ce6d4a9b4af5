"""A deployment that resets the size, on a real Nomad, with and without `recoverSize`."""

from pathlib import Path

import pytest

from tests.e2e.deployment import KEPT, RESET, SIZE, outage

pytestmark = pytest.mark.slow


def test_a_size_that_a_deployment_reset_returns_in_one_write(tmp_path: Path) -> None:
    """Without it the size doubles step by step, and each step waits for a deployment of its own."""
    found = outage(tmp_path)
    assert min(size for _, size in found.sizes[KEPT]) == min(size for _, size in found.sizes[RESET]) == 1
    assert found.written[KEPT] == [SIZE]
    assert {"SizeReset", "SizeRecovered"} <= set(found.events[KEPT])
    assert len(found.written[RESET]) > 1
    assert not {"SizeReset", "SizeRecovered"} & set(found.events[RESET])
