"""Three real Nomad servers of one cluster, without clients: jobs have counts and no allocations."""

import subprocess
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import requests

from tests.servers.nomad import running_agent
from tests.servers.required import require
from tests.waiting import until
from tools.nomad import NomadNotFound, nomad_binary

_NAMES: Final = ("one", "two", "three")
_SERVER: Final = """
name = "{name}"
server {{
  enabled          = true
  bootstrap_expect = 3
  server_join {{
    retry_join     = [{others}]
    retry_interval = "1s"
  }}
}}
"""


@dataclass(frozen=True)
class NomadServers:
    """The URLs of the servers that run, and their processes."""

    agents: dict[str, subprocess.Popen[bytes]]

    @property
    def urls(self) -> tuple[str, ...]:
        return tuple(self.agents)

    def ask(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """Send a request to any server, until one with a leader answers. Returns the decoded reply."""

        def answered() -> requests.Response | None:
            for url in self.urls:
                with suppress(requests.RequestException):
                    reply = requests.request(method, url + path, json=body, timeout=10)
                    if reply.ok:
                        return reply
            return None

        reply = until(answered, f"an answer to {method} {path}")
        assert reply is not None
        return reply.json()

    def end_leader(self) -> None:
        """Kill the leader, without a word to the others."""
        leader = until(self._leader, "a leader")
        assert leader is not None
        agent = self.agents.pop(leader)
        agent.kill()
        agent.wait()

    def _leader(self) -> str | None:
        address = self.ask("GET", "/v1/status/leader")  # of RPC
        for url in self.urls:
            member = requests.get(f"{url}/v1/agent/self", timeout=10).json()["member"]
            if address == f"{member['Addr']}:{member['Tags']['port']}":
                return url
        return None


@contextmanager
def running_servers(folder: Path) -> Iterator[NomadServers]:
    """Run three servers, with data and logs in `folder`, that have a leader. Skips the test without Nomad."""
    try:
        nomad_binary()
    except NomadNotFound as missing:
        require(str(missing))
    servers, first = NomadServers({}), ""
    with ExitStack() as stack:
        for name in _NAMES:
            place = folder / name
            place.mkdir()
            url, agent = stack.enter_context(running_agent(place, _SERVER.format(name=name, others=first)))
            servers.agents[url] = agent
            if not first:
                member = requests.get(f"{url}/v1/agent/self", timeout=10).json()["member"]
                first = f'"{member["Addr"]}:{member["Port"]}"'
        until(lambda: len(servers.ask("GET", "/v1/status/peers")) == len(_NAMES), "three servers")
        yield servers
