"""A real server on a free port of 127.0.0.1, on a real state."""

import asyncio
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import requests
import uvicorn.server
from prometheus_client import CollectorRegistry, Gauge

from autoscaler.config.grants import Grant
from autoscaler.config.settings import AdapterSection, PrometheusSource, Settings, WebSettings
from autoscaler.errors import Problem
from autoscaler.metrics.health import Health
from autoscaler.model import Autoscaler
from autoscaler.record.state import State
from autoscaler.view.discovered import DiscoveredList
from autoscaler.web.connection import Limits
from autoscaler.web.page.routes import pages
from autoscaler.web.server import WebServer
from autoscaler.web.sources import Sources
from autoscaler.web.webconfig import load_web_config
from autoscaler.web.work import Work
from tests.clocks import FakeClock
from tests.decide.build import NOW
from tests.web.shards import SoundShards
from tests.web.unix import unix_session


class _Hurried:
    """`asyncio` for uvicorn, which looks every 100 ms whether it is to end. A test's server ends at once."""

    def __getattr__(self, name: str) -> Any:
        return getattr(asyncio, name)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds / 10)


setattr(uvicorn.server, "asyncio", _Hurried())  # noqa: B010 - its type is that of the module


class Logged:
    """Keeps what is logged."""

    def __init__(self) -> None:
        self.lines: list[dict[str, Any]] = []

    def _keep(self, event: str, **keys: Any) -> None:
        self.lines.append({"event": event} | keys)

    debug = info = warning = error = _keep

    def named(self, event: str) -> list[dict[str, Any]]:
        return [line for line in self.lines if line["event"] == event]


@dataclass
class Daemon:
    """What a daemon gives its server. Tests change it while the server runs."""

    state: State
    scalers: Sequence[Autoscaler]
    clock: FakeClock = field(default_factory=lambda: FakeClock(NOW))
    is_ready: bool = True
    problems: Sequence[str] = ()
    reloads: int = 0
    resignations: int = 0
    registry: CollectorRegistry = field(default_factory=CollectorRegistry)
    work: Work = field(default_factory=Work)
    web: WebSettings = field(default_factory=WebSettings)
    grants: Mapping[str, Grant] = field(default_factory=dict)
    owners: Mapping[str, str] = field(default_factory=dict)
    refused: Mapping[str, tuple[Problem, ...]] = field(default_factory=dict)
    prometheus: Mapping[str, PrometheusSource] = field(default_factory=dict)
    adapters: Mapping[str, AdapterSection] = field(default_factory=dict)
    health: Health = field(init=False)

    discovered: DiscoveredList = field(default_factory=DiscoveredList)

    def __post_init__(self) -> None:
        self.health = Health(self.clock)

    @property
    def settings(self) -> Settings:
        """The running configuration."""
        path = Path("/etc/autoscaler/autoscaler.yaml")
        return Settings(
            path,
            self.prometheus,
            self.adapters,
            tuple(self.scalers),
            web=self.web,
            grants=self.grants,
            owners=self.owners,
            refused=self.refused,
        )

    def sources(self) -> Sources:
        self.registry, self.work = CollectorRegistry(), Work()
        Gauge("autoscaler_test", "Of a test.", registry=self.registry).set(7)
        shards = SoundShards(*self.adapters)
        return Sources(
            state=self.state,
            settings=lambda: self.settings,
            clock=self.clock,
            registry=self.registry,
            ready=lambda: self.is_ready,
            reload=self._reload,
            resign=self._resign,
            status=lambda: self.health.status(self.settings, shards, "1.2.3", self.clock.now()),
            discovered=lambda: self.discovered,
            work=self.work,
        )

    def _reload(self) -> Sequence[str]:
        self.reloads += 1
        return self.problems

    def _resign(self) -> Sequence[str]:
        self.resignations += 1
        return self.problems


@dataclass
class Served:
    """A running server, and clients of it."""

    server: WebServer
    daemon: Daemon
    log: Logged
    session: requests.Session
    """It sends requests over TCP."""
    control: requests.Session
    """It sends requests to http://localhost over the control socket."""
    control_socket: Path
    with_config: bool
    """Whether the server has a web configuration."""

    @property
    def url(self) -> str:
        """The server's URL."""
        return self.server.url

    def get(self, path: str, **options: Any) -> requests.Response:
        return self.session.get(self.server.url + path, timeout=60, **options)

    def post(self, path: str, body: Mapping[str, Any] | None = None, **options: Any) -> requests.Response:
        """Send it over the control socket; with a web configuration over TCP."""
        if self.with_config:
            return self.post_over_tcp(path, body, **options)
        return self.control.post(f"http://localhost{path}", json=body, timeout=60, **options)

    def post_over_tcp(self, path: str, body: Mapping[str, Any] | None = None, **options: Any) -> requests.Response:
        return self.session.post(self.server.url + path, json=body, timeout=60, **options)

    def data(self, path: str) -> Any:
        answer = self.get(path)
        assert answer.status_code == 200, answer.text
        assert answer.json()["status"] == "success"
        return answer.json()["data"]


@contextmanager
def serving(
    daemon: Daemon, config: Path | None = None, listen: str = "127.0.0.1:0", limits: Limits | None = None
) -> Iterator[Served]:
    """A server with the page and a control socket. `config`: a --web.config.file."""
    log, before = Logged(), _threads()
    sources = daemon.sources()
    web_config = None if config is None else load_web_config(config)
    with TemporaryDirectory() as folder:  # the path of a test's own folder may be too long for a socket
        control_socket = Path(folder, "control.sock")
        server = WebServer(
            sources, listen, web_config, log, pages(sources, log, control_socket), control_socket, limits
        )
        try:
            server.start()
            with requests.Session() as session, unix_session(control_socket) as control:
                session.trust_env = False  # ignore a proxy or .netrc of the machine
                yield Served(server, daemon, log, session, control, control_socket, config is not None)
        finally:
            server.stop()
    assert _threads() == before, "the server left its thread behind"


def _threads() -> int:
    return sum(thread.name == "web" for thread in threading.enumerate())
