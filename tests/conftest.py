"""Settings of all tests."""

import gc
import logging
import multiprocessing.util
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any, Final

import pytest
import structlog
from hypothesis import HealthCheck, settings
from sqlalchemy import Connection, Engine, event
from xdist.remote import Producer
from xdist.workermanage import WorkerController

from tests import loaded, temporary
from tests.parallel import Units, end_processes_of, longest_first

# Assertions of what tests share, rehearsals among it, then show their values, too.
pytest.register_assert_rewrite(*(f"tests.{each.name}" for each in Path(__file__).parent.iterdir() if each.is_dir()))

# A shell without job control starts background processes with SIGINT ignored, and every process that a test starts
# would inherit that. The tests of Ctrl-C need the default.
signal.signal(signal.SIGINT, signal.default_int_handler)

_QUICK = "not slow"

# The duration of one example depends on the machine.
settings.register_profile("no deadline", deadline=None)
# `make fuzz`: an example that takes longer is a hang.
settings.register_profile("fuzz", max_examples=20_000, deadline=20_000, suppress_health_check=list(HealthCheck))
# `make test-unit`: `make test` tries the 100 examples.
settings.register_profile("quick", max_examples=20, deadline=None)
settings.load_profile("no deadline")

# Without bytecode files, every daemon that a test starts and every worker of pytest-xdist would compile all imports: a
# third of the unit tests' CPU time.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

_TEMPORARY = pytest.StashKey[temporary.OfRun]()

_MEMORY = Path("/dev/shm")
_MEMORY_BYTES = 2**30
"""Free room in memory that the folders of `make test-unit` need at most."""


@pytest.hookimpl(tryfirst=True)  # before pytest and hypothesis read their options
def pytest_configure(config: pytest.Config) -> None:
    """Prepare the run's folder of temporary files.

    `make test-unit` also gets fewer examples, and folders in memory, where SQLite's commits wait for no disk.
    """
    if not hasattr(config, "workerinput"):  # a worker of pytest-xdist has the folder of the process that started it
        config.stash[_TEMPORARY] = temporary.OfRun.begin()
    if config.option.markexpr != _QUICK:
        return
    settings.load_profile("quick")
    if config.option.basetemp is None and _has_room(_MEMORY):
        folder = config.option.basetemp = tempfile.mkdtemp(prefix="autoscaler-tests-", dir=_MEMORY)
        config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))


def _has_room(folder: Path) -> bool:
    if not os.access(folder, os.W_OK):
        return False
    found = os.statvfs(folder)
    return found.f_bavail * found.f_frsize >= _MEMORY_BYTES and not found.f_flag & os.ST_NOEXEC


class _Compiled(dict[Any, Any]):
    """Compiled SQL statements of all databases. Without it, each test's state compiles its own: a quarter of its time.

    SQLAlchemy's keys begin with the dialect's instance, of which each engine has its own.
    """

    def get(self, key: Any, default: Any = None) -> Any:
        return super().get(_of_any_engine(key), default)

    def __setitem__(self, key: Any, compiled: Any) -> None:
        super().__setitem__(_of_any_engine(key), compiled)


def _of_any_engine(key: tuple[Any, ...]) -> tuple[Any, ...]:
    return type(key[0]), *key[1:]


_COMPILED: Final = _Compiled()


@event.listens_for(Engine, "engine_connect")
def _share_statements(connection: Connection) -> None:
    connection.execution_options(compiled_cache=_COMPILED)


_LOGGERS: Final = [logging.getLogger(name) for name in (None, "apscheduler.scheduler", "urllib3", "uvicorn")]


@pytest.fixture(autouse=True)
def _restored_log() -> Iterator[None]:
    """Restore pytest's log, which programs under test set up for themselves, and which would go to a closed file."""
    root = _LOGGERS[0]
    handlers, levels = list(root.handlers), [logger.level for logger in _LOGGERS]
    yield
    logging.captureWarnings(capture=False)
    root.handlers[:] = handlers
    for logger, level in zip(_LOGGERS, levels, strict=True):
        logger.setLevel(level)
    structlog.reset_defaults()


@pytest.fixture(scope="session")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a real Prometheus. It scrapes nothing: a query such as vector(3) says its own value."""
    from tests.servers.prometheus import running_prometheus  # not for those who need no server

    with running_prometheus(tmp_path_factory.mktemp("prometheus")) as server:
        yield server.url


@pytest.fixture(scope="session")
def postgresql() -> Iterator[str]:
    """The address of a real PostgreSQL, without a database."""
    from tests.record.postgresql import running_postgresql

    with running_postgresql() as server:
        yield server


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    call: pytest.CallInfo[None],
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add what a failed command has said, which its exception does not tell."""
    report = yield
    if call.excinfo is not None and isinstance(call.excinfo.value, subprocess.CalledProcessError):
        failed = call.excinfo.value
        said = [
            part.decode(errors="replace") if isinstance(part, bytes) else part
            for part in (failed.output, failed.stderr)
        ]
        report.sections.append(("Output of the command", "".join(filter(None, said))))
    return report


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """Collect no garbage while tests are collected, and none of theirs later: all of it lives until the end."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out files, and folders with only such files, whose tests are all slow: their imports take longest."""
    files = [*collection_path.rglob("test_*.py")] if collection_path.is_dir() else [collection_path]
    return (config.option.markexpr == _QUICK and bool(files) and all(map(_all_slow, files))) or None


def _all_slow(file: Path) -> bool:
    return re.search(rb"^pytestmark = .*pytest\.mark\.slow", file.read_bytes(), re.MULTILINE) is not None


@pytest.hookimpl(trylast=True)  # after the marks that other conftests set
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if hasattr(config, "workerinput"):  # in a worker of pytest-xdist
        longest_first(items)


@pytest.hookimpl(tryfirst=True)  # before `-m` selects
def pytest_itemcollected(item: pytest.Item) -> None:
    if loaded.MARK in item.config.option.markexpr:
        loaded.mark(item)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    if item.config.option.markexpr != loaded.MARK:
        return None
    loaded.repeat(item, nextitem)
    return True


@pytest.hookimpl(trylast=True)  # after the last fixtures, and the workers of pytest-xdist
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Remove the run's temporary files, and name what tests have left."""
    multiprocessing.util._exit_function()  # type: ignore[attr-defined]  # removes the folder of the daemons' copies
    if (run := session.config.stash.get(_TEMPORARY, None)) is None:
        return
    if left := run.end():
        terminal: pytest.TerminalReporter | None = session.config.pluginmanager.get_plugin("terminalreporter")
        assert terminal is not None
        terminal.ensure_newline()
        terminal.write_line(f"tests have left temporary files, which are removed: {' '.join(left)}", yellow=True)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> Units:
    return Units(config, log)


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """One more than there are cores, and three with slow tests, which wait for servers. The variable overrides it."""
    if "PYTEST_XDIST_AUTO_NUM_WORKERS" in os.environ:
        return None
    return len(os.sched_getaffinity(0)) + (1 if config.option.markexpr == _QUICK else 3)


def pytest_testnodedown(node: WorkerController, error: object | None) -> None:
    """End the processes that a dead worker has started."""
    if error:
        terminal = node.config.pluginmanager.get_plugin("terminalreporter")
        for command in end_processes_of(node.gateway.id, node.workerinput["testrunuid"]):
            terminal.ensure_newline()
            terminal.write_line(f"{node.gateway.id} died and left this running, which is ended now: {command}")
