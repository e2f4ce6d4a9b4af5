"""One agent for all tests here. Each test uses its own jobs."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from adapters.nomad import Nomad
from adapters.nomad.client import NomadClient
from adapters.nomad.settings import NomadSettings, resolve
from autoscaler.clock import Clock
from autoscaler.target.addresses import Addresses
from autoscaler.target.contract import RecordingLogger, make_context
from tests.adapters.live import Live
from tests.servers.faults import Faults, running_faults
from tests.servers.nomad import NomadServer, running_nomad


@pytest.fixture(scope="package")  # ends with this package: an agent with many jobs is never idle
def nomad(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NomadServer]:
    """A real agent without TLS and ACL."""
    with running_nomad(tmp_path_factory.mktemp("nomad")) as server:
        yield server


class LiveAdapter(Live[Nomad]):
    """A connection to an agent."""

    call_seconds = 20

    def __init__(self, state: Path, **settings: object) -> None:
        logger = RecordingLogger()
        super().__init__(Nomad(make_context(Nomad.Settings.model_validate(settings), state, logger=logger)), logger)


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
