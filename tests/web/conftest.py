from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import pytest
import requests

from autoscaler.model import ManualControls
from autoscaler.record.folder import make_private_folder
from tests.decide.build import CPU_60, NOW, QUEUE_15, scaler
from tests.steering import steer
from tests.view.lives import Recorded, named, open_state
from tests.web.serving import Daemon, Served, serving

WEB: Final = scaler(CPU_60, maximum=10)
JOBS: Final = named(scaler(QUEUE_15, minimum=0), "jobs")
_PERCENTS: Final = (60, 120, 60)


@cache
def _past() -> bytes:
    """A state's file, made once: `web` scaled out once, `jobs` did not."""
    with TemporaryDirectory() as folder:
        with open_state(Path(folder)) as state:
            ledger = state.ledger("fleet")
            life = Recorded(ledger, WEB)
            for percent in _PERCENTS:
                life.cpu(percent)
            Recorded(ledger, JOBS).queue(45)
        return Path(folder, "state.db").read_bytes()


@contextmanager
def lived(folder: Path) -> Iterator[Daemon]:
    """A daemon with two autoscalers, whose state is in this new folder."""
    make_private_folder(folder)
    (folder / "state.db").write_bytes(_past())
    with open_state(folder) as state:
        daemon = Daemon(state, [WEB, JOBS])
        daemon.clock.wall = NOW + timedelta(seconds=15 * len(_PERCENTS))
        yield daemon


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Daemon]:
    """A daemon without a server; the test starts its own."""
    with lived(tmp_path / "state") as daemon:
        yield daemon


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with lived(tmp_path_factory.mktemp("shared") / "state") as daemon, serving(daemon) as served:
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
