"""A Prometheus of the test's own, which evaluates the queries over the test's `series`."""

import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from autoscaler.clock import SystemClock
from autoscaler.config.settings import PrometheusSource
from autoscaler.errors import AutoscalerError
from autoscaler.observe.failure import QueryFailure
from autoscaler.observe.plan import Question
from autoscaler.observe.prometheus import Prometheus
from autoscaler.observe.result import QueryResult
from autoscaler.scenarios.answers import Evaluate
from autoscaler.scenarios.scenario import Scenario
from autoscaler.text import clean

_START_SECONDS: Final = 60.0
_QUERY_SECONDS: Final = 30.0
_STOP_SECONDS: Final = 10.0
_LOOK_SECONDS: Final = 0.05
_AGAIN_SECONDS: Final = 1.0
"""Of CPU time."""
_RETENTION: Final = "100y"
_REMEDY: Final = "install Prometheus, which has both, or answer the metrics by `values` or `load`"


class PrometheusFailed(AutoscalerError):
    """Prometheus is not installed, or it does not start."""


@contextmanager
def evaluating(scenario: Scenario) -> Iterator[Evaluate | None]:
    """Run a Prometheus that has the scenario's series. Without series it is None. Raises PrometheusFailed."""
    if not scenario.series:
        yield None
        return
    with ExitStack() as stack:
        folder, clock = Path(stack.enter_context(TemporaryDirectory(prefix="autoscaler-test-"))), SystemClock()
        try:
            _write_blocks(scenario, folder)
            url = stack.enter_context(_running(folder))
        except PrometheusFailed as error:
            raise PrometheusFailed(f"{scenario.place}: {error}") from None
        clients = {name: _client(name, source, url, clock) for name, source in scenario.settings.prometheus.items()}
        for client in clients.values():
            stack.callback(client.close)

        def evaluate(asked: Question, elapsed: timedelta) -> QueryResult | QueryFailure:
            return _ask(clients[asked.prometheus], clock, asked.expr, scenario.start.at + elapsed)

        yield evaluate


def _client(name: str, source: PrometheusSource, url: str, clock: SystemClock) -> Prometheus:
    """Return a client with the source's own limits, but without what only its real server needs."""
    plain = PrometheusSource(url, source.timeout, max_answer=source.max_answer, concurrency=source.concurrency)
    return Prometheus(name, plain, clock)


def _ask(client: Prometheus, clock: SystemClock, expr: str, at: datetime) -> QueryResult | QueryFailure:
    return client.exchange(expr, at, clock.monotonic() + _QUERY_SECONDS, _QUERY_SECONDS).answer


def _write_blocks(scenario: Scenario, folder: Path) -> None:
    """Write the series as blocks of Prometheus' storage into `folder`/data."""
    text = folder / "series"
    with text.open("w", encoding="utf-8") as file:
        file.writelines(_samples(scenario))
    words = [_program("promtool"), "tsdb", "create-blocks-from", "openmetrics", str(text), str(folder / "data")]
    done = subprocess.run(  # noqa: S603 - a program of PATH, and files of this process
        words, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise PrometheusFailed(f"promtool refuses the series: {_last_line(done.stderr)}")


def _samples(scenario: Scenario) -> Iterator[str]:
    """Yield the samples as lines of OpenMetrics. A value that stays has one sample for each interval."""
    begin, step = scenario.start.at.timestamp(), scenario.interval.total_seconds()
    for series, values in scenario.series.items():
        for index in range(scenario.duration // scenario.interval + 1):
            value = values(index)
            if value is not None:
                yield f"{series} {value!r} {begin + index * step:.3f}\n"
    yield "# EOF\n"


@contextmanager
def _running(folder: Path) -> Iterator[str]:
    """Run Prometheus on a free port, and yield its URL once it answers."""
    config, log = folder / "prometheus.yml", folder / "log"
    config.touch()
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"127.0.0.1:{free.getsockname()[1]}"
    words = [_program("prometheus"), f"--config.file={config}", f"--storage.tsdb.path={folder / 'data'}"]
    words += [f"--storage.tsdb.retention.time={_RETENTION}", f"--web.listen-address={address}"]
    before = {number: signal.signal(number, _exit) for number in (signal.SIGTERM, signal.SIGVTALRM)}
    with log.open("wb") as output:
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=output, stderr=output)  # noqa: S603 - as above
    try:
        _wait_until_ready(process, f"http://{address}", log)
        yield f"http://{address}"
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        process.terminate()
        try:
            process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        for number, handler in before.items():
            signal.signal(number, handler)


def _exit(*_: object) -> None:
    """End this process by an exception after SIGTERM, or Prometheus would be left running.

    Python ignores an exception in a finalizer, which may be what the signal interrupts. If the process goes on, a timer
    raises it again.
    """
    signal.setitimer(signal.ITIMER_VIRTUAL, _AGAIN_SECONDS)
    sys.exit(128 + signal.SIGTERM)


def _wait_until_ready(process: subprocess.Popen[bytes], url: str, log: Path) -> None:
    clock = SystemClock()
    client, end = _client("of the test", PrometheusSource(url=url), url, clock), time.monotonic() + _START_SECONDS
    try:
        while isinstance(_ask(client, clock, "vector(1)", clock.now()), QueryFailure):
            if process.poll() is not None or time.monotonic() > end:
                raise PrometheusFailed(f"prometheus does not start: {_last_line(log.read_text(errors='replace'))}")
            time.sleep(_LOOK_SECONDS)
    finally:
        client.close()


def _program(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        raise PrometheusFailed(f"the test has `series`, and {name} is not on PATH; {_REMEDY}")
    return found


def _last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return clean(lines[-1]) if lines else "it says nothing"
