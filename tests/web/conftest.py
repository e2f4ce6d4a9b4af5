from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import requests

from autoscaler.model import ManualControls
from autoscaler.record import State
from tests.decide.build import CPU_60, QUEUE_15, scaler
from tests.steering import steer
from tests.view.lives import Recorded, named, open_state
from tests.web.serving import Daemon, Served, serving


def lived(state: State) -> Daemon:
    """A daemon with two autoscalers: `web` scaled out once, `jobs` did not."""
    web, jobs = scaler(CPU_60, maximum=10), named(scaler(QUEUE_15, minimum=0), "jobs")
    ledger = state.ledger("fleet")
    life = Recorded(ledger, web)
    for percent in (60, 120, 60):
        life.cpu(percent)
    other = Recorded(ledger, jobs)
    other.queue(45)
    daemon = Daemon(state, [web, jobs])
    daemon.clock.wall = life.now
    return daemon


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Daemon]:
    """A daemon without a server; the test starts its own."""
    with open_state(tmp_path / "state") as state:
        yield lived(state)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with open_state(tmp_path_factory.mktemp("shared") / "state") as state, serving(lived(state)) as served:
        yield served


@pytest.fixture
def served(shared: Served) -> Iterator[Served]:
    """A server without a web configuration. The tests of a module share it; each finds it as newly started."""
    daemon = shared.daemon
    for name in daemon.state.archive.steering():
        steer(daemon.state, name, ManualControls())
    scalers = daemon.scalers
    daemon.problems, daemon.is_ready, daemon.reloads, daemon.resignations = (), True, 0, 0
    shared.log.lines.clear()
    with requests.Session() as session:
        session.trust_env = False
        yield replace(shared, session=session)
    daemon.scalers = scalers
