"""Nomad for the suite of the contract, and the jobs and policies of tests."""

import re
from pathlib import Path
from typing import Any, Final

from adapters.nomad import Nomad
from autoscaler.model import TargetRef
from tests.adapters.live import LiveHarness
from tests.servers.nomad import NomadServer, service


class NomadHarness(LiveHarness):
    """One job on the shared agent."""

    adapter_type = Nomad
    target = TargetRef("test", "contract/work")
    missing = TargetRef("test", "contract-missing/work")
    unscalable = TargetRef("test", "contract-system/work")

    def __init__(self, server: NomadServer, folder: Path, settings: dict[str, Any]) -> None:
        self._server, self._settings = server, settings
        super().__init__(server.url, folder)

    def settings(self, url: str) -> dict[str, Any]:
        return {**self._settings, "address": url}

    def set_size_outside(self, size: int) -> None:
        self._server.scale("contract", "work", size)


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
