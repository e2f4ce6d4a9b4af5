"""The adapter contract, on a real agent."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from adapters.nomad import Nomad
from autoscaler.model import TargetRef
from autoscaler.target import Adapter
from autoscaler.target.contract import AdapterContract, Harness, make_context
from tests.adapters.nomad.conftest import Connect
from tests.servers.nomad import NomadServer, service
from tests.servers.ports import free_port

pytestmark = pytest.mark.slow


class NomadHarness(Harness):
    """One job on the shared agent."""

    target = TargetRef("test", "contract/work")
    missing = TargetRef("test", "contract-missing/work")
    unscalable = TargetRef("test", "contract-system/work")

    def __init__(self, server: NomadServer, folder: Path, settings: dict[str, object]) -> None:
        self._server = server
        self._folder = folder
        self._settings = settings
        self.adapter = self._build(server.url)

    def rebuild(self, *, dry_run: bool = False) -> Adapter:
        self.close()
        self.adapter = self._build(self._server.url, dry_run=dry_run)
        return self.adapter

    def set_size_outside(self, size: int) -> None:
        self._server.scale("contract", "work", size)

    def unreachable(self) -> Adapter | str:
        return self._build(f"http://127.0.0.1:{free_port()}")

    def place(self, address: str) -> dict[str, object]:
        """Return the settings of an agent's address."""
        return {"address": address}

    def close(self) -> None:
        assert isinstance(self.adapter, Nomad)
        self.adapter.close()

    def _build(self, address: str, *, dry_run: bool = False) -> Nomad:
        settings = Nomad.Settings.model_validate({**self._settings, **self.place(address)})
        return Nomad(make_context(settings, self._folder, dry_run=dry_run))


def prepare(server: NomadServer) -> None:
    """Register the harness's jobs."""
    server.register(service("contract"))
    system = service("contract-system", Type="system")
    del system["Update"]
    server.register(system)


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
