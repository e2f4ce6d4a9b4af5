"""The adapter contract, on a real agent."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from autoscaler.target.contract import AdapterContract
from tests.adapters.nomad.conftest import Connect
from tests.adapters.nomad.harness import NomadHarness, prepare
from tests.servers.nomad import NomadServer

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def prepared(nomad: NomadServer) -> NomadServer:
    prepare(nomad)
    return nomad


class TestNomad(AdapterContract):
    """Runs without ACL; `test_security.py` runs it under the least-privilege policy."""

    @pytest.fixture
    def harness(self, prepared: NomadServer, tmp_path: Path, connect: Connect) -> Iterator[NomadHarness]:
        harness = NomadHarness(prepared, tmp_path / "state", {})
        yield harness
        harness.close()
