"""A deployment that resets the size, on a real Nomad, with and without `recoverSize`."""

from pathlib import Path

import pytest

from tests.e2e.deployment import KEPT, RESET, SIZE, outage

pytestmark = pytest.mark.slow


def test_a_size_that_a_deployment_reset_returns_in_one_write(tmp_path: Path) -> None:
    """Otherwise the size doubles step by step, and each step waits for its own deployment.

    A daemon that starts after two deployments finds only the second one, which by itself would have kept the size.
    What a running daemon finds is tested in tests/adapters/nomad/test_registrations.py.
    """
    found = outage(tmp_path)
    kept, reset = (found.sizes[job] for job in (KEPT, RESET))
    assert kept == {1, SIZE}
    assert found.written[KEPT] == [SIZE]
    assert {"SizeReset", "SizeRecovered"} <= set(found.events[KEPT])
    assert reset > {1, SIZE}
    assert not {"SizeReset", "SizeRecovered"} & set(found.events[RESET])
