"""A real Nomad agent in dev mode, as a context manager."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, TypeVar
from urllib.parse import quote

import pytest
import requests

from tests.servers.ports import free_port
from tests.servers.prometheus import static
from tests.servers.required import require
from tests.temporary import own_folder
from tests.waiting import PATIENCE_SECONDS, until
from tools.nomad import NomadNotFound, nomad_binary

READY_WITHIN_SECONDS: Final = 180.0
STOPPED_WITHIN_SECONDS: Final = 180.0
_SECOND: Final = 10**9
"""Nomad's durations are nanoseconds."""
_Seen = TypeVar("_Seen")

_CONFIG: Final = """
client {{
  options = {{ "fingerprint.denylist" = "env_aws,env_gce,env_azure,env_digitalocean" }}
}}
plugin "raw_exec" {{
  config {{
    enabled = true
  }}
}}
telemetry {{
  collection_interval        = "1s"
  prometheus_metrics         = true
  publish_allocation_metrics = true
}}
limits {{
  http_max_conns_per_client = 0
}}
ports {{
  http = {http}
  rpc  = {rpc}
  serf = {serf}
}}
acl {{
  enabled = {acl}
}}
{tls}
"""
_TLS: Final = """
tls {{
  http                = true
  rpc                 = true
  ca_file             = "{folder}/nomad-agent-ca.pem"
  cert_file           = "{folder}/global-server-nomad.pem"
  key_file            = "{folder}/global-server-nomad-key.pem"
  verify_https_client = true
}}
"""


_FURTHER: Final = """
data_dir  = "{folder}/data"
bind_addr = "127.0.0.1"
advertise {{
  http = "127.0.0.1"
  rpc  = "127.0.0.1"
  serf = "127.0.0.1"
}}
ports {{
  http = {http}
  rpc  = {rpc}
  serf = {serf}
}}
limits {{
  http_max_conns_per_client = 0
}}
"""
LEADERLESS: Final = """
server {
  enabled          = true
  bootstrap_expect = 3
}
"""
"""The configuration of a server that waits for two others, and answers "No cluster leader" until then."""
_FORWARDING: Final = """
client {{
  enabled           = true
  servers           = ["127.0.0.1:{rpc}"]
  network_interface = "lo"
  node_pool         = "spare"
  options = {{ "fingerprint.denylist" = "env_aws,env_gce,env_azure,env_digitalocean" }}
}}
"""


@dataclass(frozen=True, slots=True)
class NomadServer:
    """A running agent. Its methods act as an operator with all rights."""

    url: str
    folder: Path
    binary: Path
    pid: int
    client: requests.Session
    token: str | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    """The environment in which the `nomad` command reaches it."""
    rpc_port: int = 0

    def ask(self, method: str, path: str, body: object = None) -> Any:
        """Send an API request. Returns the decoded reply. Fails the test if it is refused."""
        reply = self.client.request(method, self.url + path, json=body, timeout=30)
        assert reply.ok, f"{method} {path}: {reply.status_code} {reply.text}"
        return reply.json() if reply.content else None

    def drains(self) -> Mapping[str, Any]:
        """Return what drains have done to each node. The rest of a node changes by itself."""
        of_drains = ("Drain", "LastDrain", "SchedulingEligibility")
        return {one["ID"]: {key: one[key] for key in of_drains} for one in self.ask("GET", "/v1/nodes")}

    def register(self, job: Mapping[str, Any]) -> None:
        """Register a job, or change it. Wait until the scheduler has seen it, and has begun its deployment."""
        namespace = f"namespace={job.get('Namespace', 'default')}"
        if evaluation := self.ask("POST", f"/v1/jobs?{namespace}", {"Job": job})["EvalID"]:
            at = f"/v1/evaluation/{evaluation}?{namespace}"
            self.wait(lambda: self.ask("GET", at)["Status"] != "pending", f"evaluation of {job['ID']}")

    def purge(self, job: str) -> None:
        """Stop a job and remove all of it."""
        self.ask("DELETE", f"/v1/job/{job}?purge=true")

    def scale(self, job: str, group: str, count: int) -> None:
        """Set a count from outside, when no deployment blocks it. An equal count is not set again."""
        self.wait(lambda: not self.deploying(job), f"deployment of {job} to end")
        if (
            next(one["Count"] for one in self.ask("GET", f"/v1/job/{job}")["TaskGroups"] if one["Name"] == group)
            != count
        ):
            self.ask("POST", f"/v1/job/{job}/scale", {"Count": count, "Target": {"Group": group}, "Message": "outside"})

    def deploying(self, job: str) -> bool:
        """Return whether the job has a running deployment."""
        ended = ("successful", "failed", "cancelled")
        return any(one["Status"] not in ended for one in self.ask("GET", f"/v1/job/{job}/deployments"))

    def allocations(self, job: str) -> list[dict[str, Any]]:
        """Return all allocations of the job, also ended ones."""
        found: list[dict[str, Any]] = self.ask("GET", f"/v1/job/{job}/allocations")
        return found

    def wait(self, look: Callable[[], _Seen], what: str, within_seconds: float = PATIENCE_SECONDS) -> _Seen:
        """Wait until `look` returns a true value, and return it. Fails the test if that takes too long."""
        return until(look, f"{what} (see {self.folder}/nomad.log)", within_seconds, every_seconds=0.1)

    def scrape(self) -> dict[str, Any]:
        """Return a scrape config of the agent's metrics."""
        config = static("nomad", self.url.removeprefix("http://"))
        if self.token is not None:
            config["authorization"] = {"credentials": self.token}
        return config | {"metrics_path": "/v1/metrics", "honor_labels": True, "params": {"format": ["prometheus"]}}

    def command(self, *arguments: str) -> str:
        """Run the `nomad` command. Returns its output."""
        return _nomad(self.binary, self.folder, *arguments, environment=self.environment)


def service(
    job: str,
    *,
    count: int = 1,
    command: str = "exec sleep 3600",
    group: Mapping[str, Any] | None = None,
    task: Mapping[str, Any] | None = None,
    **further: Any,
) -> dict[str, Any]:
    """Return a service job with one group `work` of one task `main`, a shell command, without deployments.

    `group`, `task` and `further` are merged into these parts of the job.
    """
    main = {
        "Name": "main",
        "Driver": "raw_exec",
        "Config": {"command": "/bin/sh", "args": ["-c", command]},
        "Resources": {"CPU": 20, "MemoryMB": 10},
        "KillTimeout": _SECOND,
        "LogConfig": {"MaxFiles": 1, "MaxFileSizeMB": 1},
        **(task or {}),
    }
    work = {
        "Name": "work",
        "Count": count,
        "EphemeralDisk": {"SizeMB": 10},
        "RestartPolicy": {"Attempts": 0, "Mode": "fail", "Interval": 60 * _SECOND, "Delay": _SECOND},
        "Tasks": [main],
        **(group or {}),
    }
    return {"ID": job, "Type": "service", "Update": {"MaxParallel": 0}, "TaskGroups": [work], **further}


NOWHERE: Final = [{"LTarget": "${node.class}", "RTarget": "no-such-class", "Operand": "="}]
"""Constraints that no node meets."""


def unplaced(job: str, **more: Any) -> dict[str, Any]:
    """Return a job as `service` does, which no node takes: it has a count, and no process of it runs."""
    return service(job, Constraints=NOWHERE, **more)


def deployed(**update: Any) -> dict[str, Any]:
    """Return an `Update` block with which every change of a count makes a short deployment."""
    return {"MaxParallel": 1, "MinHealthyTime": _SECOND, "HealthCheck": "task_states", **update}


@contextmanager
def running_nomad(folder: Path, *, acl: bool = False, tls: bool = False, further: str = "") -> Iterator[NomadServer]:
    """Run a server and client in one agent, with data and log in `folder` (which exists), ready to place jobs.

    `acl`: bootstrapped, `token` is the management token. `tls`: it requires client certificates; the authority's is
    `nomad-agent-ca.pem` in the folder, a client's `global-cli-nomad.pem` and `global-cli-nomad-key.pem`.
    `further`: more of the agent's configuration. Skips the test without Nomad.
    """
    try:
        binary = nomad_binary()
    except NomadNotFound as missing:
        require(str(missing))
    if tls:
        _nomad(binary, folder, "tls", "ca", "create")
        _nomad(binary, folder, "tls", "cert", "create", "-server", "-region", "global")
        _nomad(binary, folder, "tls", "cert", "create", "-cli")
    ports = {name: free_port() for name in ("http", "rpc", "serf")}
    config = _CONFIG.format(acl=str(acl).lower(), tls=_TLS.format(folder=folder) if tls else "", **ports)
    (folder / "agent.hcl").write_text(config + further)
    command = [str(binary), "agent", "-dev", "-bind=127.0.0.1", "-network-interface=lo", f"-config={folder}/agent.hcl"]
    with own_folder("nomad-") as temporary, (folder / "nomad.log").open("ab") as log, requests.Session() as session:
        session.trust_env = False
        url = f"http{'s' if tls else ''}://127.0.0.1:{ports['http']}"
        environment = {"NOMAD_ADDR": url}
        if tls:
            session.verify = str(folder / "nomad-agent-ca.pem")
            session.cert = (str(folder / "global-cli-nomad.pem"), str(folder / "global-cli-nomad-key.pem"))
            environment |= {"NOMAD_CACERT": session.verify}
            environment |= {"NOMAD_CLIENT_CERT": session.cert[0], "NOMAD_CLIENT_KEY": session.cert[1]}
        agent = subprocess.Popen(  # in its own session, so that its log collectors end with it
            command,
            cwd=folder,
            env=os.environ | {"TMPDIR": str(temporary)},  # where it keeps its jobs' folders and its keys
            stdout=log,
            stderr=log,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
        server = NomadServer(url, folder, binary, agent.pid, session, environment=environment, rpc_port=ports["rpc"])
        try:
            _wait_ready(server, agent)
            if acl:
                secret = server.ask("POST", "/v1/acl/bootstrap")["SecretID"]
                session.headers["X-Nomad-Token"] = secret
                environment |= {"NOMAD_TOKEN": secret}
                server = replace(server, token=secret, environment=environment)
            server.wait(lambda: any(one["Status"] == "ready" for one in server.ask("GET", "/v1/nodes")), "ready node")
            yield server
        finally:
            _stop(server, agent)


def forwarding_to(server: NomadServer) -> str:
    """Return the configuration of a client agent of that server's cluster, which forwards requests and runs no jobs."""
    return _FORWARDING.format(rpc=server.rpc_port)


@contextmanager
def running_agent(
    folder: Path, config: str, environment: Mapping[str, str] | None = None
) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """Run another agent beside one of `running_nomad`. Yields its URL and its process, when it answers.

    `config`: LEADERLESS, what `forwarding_to` returns, or that of `running_node`. `environment`: further variables.
    """
    ports = {name: free_port() for name in ("http", "rpc", "serf")}
    (folder / "agent.hcl").write_text(_FURTHER.format(folder=folder, **ports) + config)
    url = f"http://127.0.0.1:{ports['http']}"
    with own_folder("nomad-") as temporary, (folder / "nomad.log").open("ab") as log:
        agent = subprocess.Popen(
            [nomad_binary(), "agent", f"-config={folder}/agent.hcl"],
            cwd=folder,
            env=os.environ | (environment or {}) | {"TMPDIR": str(temporary)},
            stdout=log,
            stderr=log,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
        end = time.monotonic() + READY_WITHIN_SECONDS
        try:
            while True:
                assert agent.poll() is None, f"nomad ended with {agent.returncode}; see {folder}/nomad.log"
                assert time.monotonic() < end, f"no answer within {READY_WITHIN_SECONDS:g} s; see {folder}/nomad.log"
                try:
                    requests.get(f"{url}/v1/agent/self", timeout=30)
                except requests.ConnectionError:
                    time.sleep(0.1)
                else:
                    break
            yield url, agent
        finally:
            agent.kill()
            agent.wait()
            _kill_group(agent.pid)


def _wait_ready(server: NomadServer, agent: subprocess.Popen[bytes]) -> None:
    def ready() -> bool:
        assert agent.poll() is None, f"nomad ended with {agent.returncode}; see {server.folder}/nomad.log"
        try:
            return server.client.get(f"{server.url}/v1/agent/health", timeout=5).ok
        except requests.ConnectionError:
            return False

    server.wait(ready, "ready agent", READY_WITHIN_SECONDS)


def _stop(server: NomadServer, agent: subprocess.Popen[bytes]) -> None:
    """Stop every job, so that no task outlives its agent. Then end the agent and its log collectors."""
    try:
        if agent.poll() is None:
            _stop_jobs(server)
    finally:
        agent.terminate()
        try:
            agent.wait(STOPPED_WITHIN_SECONDS)
        except subprocess.TimeoutExpired:
            pytest.fail(f"nomad did not stop; see {server.folder}/nomad.log")
        finally:
            _kill_group(agent.pid)
            agent.wait()


def _stop_jobs(server: NomadServer) -> None:
    over = ("complete", "failed", "lost")

    def stopped() -> bool:
        """Return whether nothing runs any more. Jobs with running allocations are stopped again."""
        alive = [one for one in server.ask("GET", "/v1/allocations?namespace=*") if one["ClientStatus"] not in over]
        for namespace, job in {(one["Namespace"], one["JobID"]) for one in alive}:
            server.client.delete(f"{server.url}/v1/job/{quote(job, safe='')}?namespace={namespace}", timeout=30)
        return not alive

    server.wait(stopped, "end of all allocations")


def _kill_group(pid: int) -> None:
    try:
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:
        return  # no process is left


def _nomad(binary: Path, folder: Path, *arguments: str, environment: Mapping[str, str] | None = None) -> str:
    env = os.environ | (environment or {})
    done = subprocess.run([binary, *arguments], cwd=folder, env=env, check=False, capture_output=True, text=True)
    assert done.returncode == 0, f"nomad {' '.join(arguments)}: {done.stderr or done.stdout}"
    return done.stdout
