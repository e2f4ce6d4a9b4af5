"""One agent for all tests here. Each test uses its own jobs."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from adapters.nomad import Nomad
from adapters.nomad.client import NomadClient
from adapters.nomad.settings import NomadSettings, resolve
from autoscaler.clock import Clock, SystemClock
from autoscaler.errors import TargetError
from autoscaler.model import Call, ScaleChange, TargetRef, TargetState
from autoscaler.target.addresses import Addresses
from autoscaler.target.contract import RecordingLogger, make_context
from tests.servers.faults import Faults, running_faults
from tests.servers.nomad import NomadServer, running_nomad
from tests.waiting import until


@pytest.fixture(scope="package")  # ends with this package: an agent with many jobs is never idle
def nomad(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NomadServer]:
    """A real agent without TLS and ACL."""
    with running_nomad(tmp_path_factory.mktemp("nomad")) as server:
        yield server


class LiveAdapter:
    """An adapter with the daemon's calls."""

    def __init__(self, state: Path, **settings: object) -> None:
        self.logger = RecordingLogger()
        context = make_context(Nomad.Settings.model_validate(settings), state, logger=self.logger)
        self.adapter = Nomad(context)

    def call(self, seconds: float = 20) -> Call:
        clock = SystemClock()
        return Call(clock.now(), clock.monotonic() + seconds)

    def ref(self, name: str, **where: Any) -> TargetRef:
        return TargetRef("test", name, **where)

    def look(self, name: str, **where: Any) -> TargetState | TargetError:
        target = self.ref(name, **where)
        return self.adapter.observe([target], self.call())[target]

    def state(self, name: str, **where: str) -> TargetState:
        found = self.look(name, **where)
        assert isinstance(found, TargetState), found
        return found

    def wait_for(self, name: str, wanted: Callable[[TargetState], bool], what: str) -> TargetState:
        """Return the state once it is `wanted`. Fail the test after a minute."""
        seen: list[TargetState] = []

        def look() -> bool:
            seen[:] = [self.state(name)]
            return wanted(seen[0])

        until(look, lambda: f"{name} {what}; last seen: {seen}", every_seconds=0.1)
        return seen[0]

    def scale(self, name: str, seen: TargetState, size: int, seconds: float = 20, **where: str) -> object:
        """Return the outcome of the write, or its TargetError."""
        change = ScaleChange("decision-1", size, seen.replicas, seen.revision, "cpu 90% against 60%")
        try:
            return self.adapter.scale(self.ref(name, **where), change, self.call(seconds))
        except TargetError as error:
            return error


def client_of(url: str, clock: Clock) -> NomadClient:
    """Return the adapter's client for one address."""
    access = resolve(NomadSettings(address=url), {})
    return NomadClient(access, Addresses(access.addresses, "test", clock, RecordingLogger()), clock)


Connect = Callable[..., LiveAdapter]


@pytest.fixture
def connect(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Connect]:
    """Builds connections with these settings. The developer's own environment is hidden."""
    for variable in ("ADDR", "REGION", "NAMESPACE", "TOKEN", "CACERT", "CLIENT_CERT", "CLIENT_KEY", "SKIP_VERIFY"):
        monkeypatch.delenv(f"NOMAD_{variable}", raising=False)
    monkeypatch.delenv("NOMAD_TLS_SERVER_NAME", raising=False)
    made: list[LiveAdapter] = []

    def build(**settings: object) -> LiveAdapter:
        made.append(LiveAdapter(tmp_path / "state", **settings))
        return made[-1]

    yield build
    for one in made:
        one.adapter.close()


@pytest.fixture
def proxy(nomad: NomadServer) -> Iterator[Faults]:
    """A proxy to the agent that counts requests and causes faults."""
    with running_faults(nomad.url) as faults:
        yield faults


@pytest.fixture
def direct(connect: Connect, nomad: NomadServer) -> LiveAdapter:
    """A connection to the agent."""
    return connect(address=nomad.url)


@pytest.fixture
def proxied(connect: Connect, proxy: Faults) -> LiveAdapter:
    """A connection to the agent through the proxy."""
    return connect(address=proxy.url)
