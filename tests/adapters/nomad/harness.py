"""Nomad for the suite of the contract, and the jobs and policies of tests."""

import re
from pathlib import Path
from typing import Any, Final

from adapters.nomad import Nomad
from autoscaler.model import TargetRef
from autoscaler.target import Adapter
from autoscaler.target.contract import Harness, make_context
from tests.servers.nomad import NomadServer, service
from tests.servers.ports import free_port


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


CHECK: Final = {"load": [{"source": "prometheus", "query": "load", "strategy": [{"target-value": [{"target": 10}]}]}]}


def with_policy(job: str, target: float = 10, **further: Any) -> dict[str, Any]:
    """Return a job with a policy, which places nothing."""
    check = {"load": [CHECK["load"][0] | {"strategy": [{"target-value": [{"target": target}]}]}]}
    scaling = {"Min": 0, "Max": 9, "Enabled": True, "Type": "horizontal", "Policy": {"check": [check]}}
    return service(job, count=0, group={"Scaling": scaling}, **further)


DOCUMENT: Final = Path(__file__).parents[3] / "docs" / "nomad.md"


def documented_policy(*, drains: bool = False) -> str:
    """The HCL of docs/nomad.md. `drains`: with the part that only drains need."""
    scaling, further = re.findall(r"```hcl\n(.*?)```", DOCUMENT.read_text(), re.DOTALL)
    return f"{scaling}{further}" if drains else str(scaling)
