"""More nodes of a real Nomad. Each reports that it is an instance of EC2.

Nomad's fingerprinter `env_aws` reads EC2's instance metadata service, at the address that AWS' client libraries take
from AWS_EC2_METADATA_SERVICE_ENDPOINT. An imitation of the few paths that it reads makes a node an instance.
"""

import os
import signal
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import requests

from tests.servers.nomad import NomadServer, running_agent
from tests.servers.required import require
from tests.servers.web import Answer, Request, answering
from tests.temporary import unmount_below

POOL: Final = "fleet"
"""Their node pool, without the agent of `running_nomad`: jobs of this pool run only on these nodes."""
FAST_HEARTBEATS: Final = """
server {
  heartbeat_grace   = "12s"
  min_heartbeat_ttl = "1s"
}
"""
"""The configuration of a server that marks a killed node as down after 13 seconds, and no busy one."""
_CLIENT: Final = """
name = "{name}"
client {{
  enabled           = true
  servers           = ["127.0.0.1:{rpc}"]
  network_interface = "lo"
  node_pool         = "{pool}"
  options = {{ "fingerprint.denylist" = "env_gce,env_azure,env_digitalocean" }}
}}
plugin "raw_exec" {{
  config {{
    enabled = true
  }}
}}
"""
_NO_BUNDLE: Final = {"AWS_CA_BUNDLE": ""}
"""Variables with a developer's own authorities, with which the fingerprinter and the agent fail."""
_OVER: Final = ("complete", "failed", "lost")


@dataclass(frozen=True, slots=True)
class Node:
    """A client agent that runs jobs."""

    server: NomadServer
    id: str
    instance: str
    address: str
    """The address in EC2's metadata and in the node's attribute `unique.network.ip-address`."""
    agent: subprocess.Popen[bytes]
    folder: Path

    def power_off(self) -> None:
        """End the agent and its tasks at once, as at the end of an instance."""
        self.agent.kill()
        self.agent.wait()
        _end_all(self.folder)

    def read(self) -> dict[str, Any]:
        """Return the node, as in Nomad's API."""
        found: dict[str, Any] = self.server.ask("GET", f"/v1/node/{self.id}")
        return found

    def drains(self) -> list[Any]:
        """Return what a drain changes of the node. Its agent changes other fields at any time, such as free memory."""
        found = self.read()
        return [found[key] for key in ("DrainStrategy", "LastDrain", "SchedulingEligibility")]

    def drain(self, seconds: float | None, *, mark_eligible: bool = False, **spec: Any) -> None:
        """Drain the node as `nomad node drain -enable -m` does; with None, end the drain as with `-disable`."""
        drain = None if seconds is None else {"Deadline": int(seconds * 10**9), **spec}
        meta = None if seconds is None else {"message": "an operator's"}
        body = {"DrainSpec": drain, "MarkEligible": mark_eligible, "Meta": meta}
        self.server.ask("POST", f"/v1/node/{self.id}/drain", body)

    def allocations(self) -> list[dict[str, Any]]:
        """Return the allocations on this node that have not ended."""
        found = self.server.ask("GET", f"/v1/node/{self.id}/allocations")
        return [one for one in found if one["ClientStatus"] not in _OVER]

    def running(self, job: str) -> list[str]:
        """Return the ids of the job's allocations on this node that have not ended."""
        return [one["ID"] for one in self.allocations() if one["JobID"] == job]


@contextmanager
def running_node(server: NomadServer, folder: Path, instance: str, address: str) -> Iterator[Node]:
    """Run a node of the server's cluster in POOL. It has the name of the folder, which is created.

    Its agent's address is 127.0.0.1; `address` is what the node reports as the instance's private address. At the end
    its tasks are killed with it. Skips the test without root, which Nomad needs to run tasks outside of its dev mode.
    """
    if os.geteuid() != 0:
        require("a Nomad client that runs tasks needs root")
    folder.mkdir()
    config = _CLIENT.format(name=folder.name, rpc=server.rpc_port, pool=POOL)
    values = {"ami-id": "ami-1", "instance-id": instance, "local-ipv4": address}
    with (
        _nothing_left(folder),
        _metadata(values) as metadata,
        running_agent(folder, config, {"AWS_EC2_METADATA_SERVICE_ENDPOINT": metadata, **_NO_BUNDLE}) as (url, agent),
    ):
        identity = requests.get(f"{url}/v1/agent/self", timeout=30).json()["stats"]["client"]["node_id"]
        node = Node(server, identity, instance, address, agent, folder)
        server.wait(lambda: _ready(node), "ready node")
        yield node


def _ready(node: Node) -> bool:
    return any(one["ID"] == node.id and one["Status"] == "ready" for one in node.server.ask("GET", "/v1/nodes"))


@contextmanager
def _nothing_left(folder: Path) -> Iterator[None]:
    try:
        yield
    finally:
        _end_all(folder)


def _end_all(folder: Path) -> None:
    """End what outlives a client agent that is killed: its tasks, their executors, and mounts of their folders."""
    marks = (f"NOMAD_ALLOC_DIR={folder}/".encode(), f'{{"LogFile":"{folder}/'.encode())
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it ended meanwhile, or belongs to another user
            told = (process / "environ").read_bytes() + b"\0" + (process / "cmdline").read_bytes()
            if any(one.startswith(marks) for one in told.split(b"\0")):
                os.kill(int(process.name), signal.SIGKILL)
    unmount_below(folder)


@contextmanager
def _metadata(values: Mapping[str, str]) -> Iterator[str]:
    """Run the instance metadata service of one instance, version 2: a session's token, then values by path."""

    def answer(request: Request) -> Answer:
        if request.method == "PUT":
            return Answer(200, b"token", {"X-Aws-Ec2-Metadata-Token-Ttl-Seconds": "21600"})
        value = values.get(request.target.removeprefix("/latest/meta-data/"))
        return Answer(404 if value is None else 200, (value or "").encode())

    with answering(answer) as url:
        yield url
