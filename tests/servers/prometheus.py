"""A real Prometheus, as a context manager."""

import subprocess
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import requests
import yaml

from tests.servers.ports import free_port
from tests.servers.required import require
from tests.waiting import PATIENCE_SECONDS, until
from tools.prometheus import Binaries, PrometheusNotFound, prometheus_binaries

READY_WITHIN_SECONDS: Final = 180.0
STOPPED_WITHIN_SECONDS: Final = 180.0


@dataclass(frozen=True, slots=True)
class PrometheusServer:
    """A running server."""

    url: str
    pid: int
    log: Path
    _client: requests.Session

    def query(self, expr: str, at: datetime | None = None) -> list[dict[str, Any]]:
        """Return the raw result of an instant query, for a test that waits for a scrape."""
        params = {"query": expr} | ({"time": at.isoformat()} if at else {})
        answer = self._client.get(f"{self.url}/api/v1/query", params=params, timeout=10)
        answer.raise_for_status()
        result: list[dict[str, Any]] = answer.json()["data"]["result"]
        return result

    def wait_for(self, expr: str, within_seconds: float = PATIENCE_SECONDS) -> list[dict[str, Any]]:
        """Wait until the result of `expr` is not empty, and return it. Fails the test if that takes too long."""
        return until(lambda: self.query(expr), f"{expr} (see {self.log})", within_seconds, every_seconds=0.1)


def static(job: str, *addresses: str) -> dict[str, Any]:
    """Return a scrape config of fixed `host:port` addresses."""
    return {"job_name": job, "static_configs": [{"targets": list(addresses)}]}


def file_sd(job: str, *files: Path) -> dict[str, Any]:
    """Return a scrape config of file_sd files, which are read again when they change."""
    return {"job_name": job, "file_sd_configs": [{"files": [str(file) for file in files], "refresh_interval": "1s"}]}


def openmetrics(series: Mapping[str, Iterable[tuple[datetime, float]]]) -> str:
    """Return a history for `running_prometheus` as text.

    `series`: such as `load{worker="a"}` -> samples, oldest first.
    """
    families: dict[str, list[str]] = {}
    for name, samples in series.items():
        lines = families.setdefault(name.partition("{")[0], [])
        lines += [f"{name} {value} {at.timestamp()}" for at, value in samples]
    return "".join(f"# TYPE {name} gauge\n" + "\n".join(lines) + "\n" for name, lines in families.items()) + "# EOF\n"


def programs() -> Binaries:
    """Return Prometheus' two programs; skip the test without them."""
    try:
        return prometheus_binaries()
    except PrometheusNotFound as missing:
        require(str(missing))


@contextmanager
def running_prometheus(
    folder: Path,
    scrape: Sequence[Mapping[str, Any]] = (),
    *,
    interval: str = "1s",
    config: Mapping[str, Any] | None = None,
    web_config: Mapping[str, Any] | None = None,
    history: str | None = None,
    client: requests.Session | None = None,
    port: int | None = None,
) -> Iterator[PrometheusServer]:
    """Run a Prometheus with its configuration, data and log in `folder` (which exists), ready for queries.

    `scrape`: see `static` and `file_sd`. `config`: further top-level sections of prometheus.yml. `web_config`: the
    content of --web.config.file (TLS, basic auth); then `client` is a session with access. `history`: see
    `openmetrics`. `port`: a fixed one, for a server that comes back.
    """
    binaries = programs()
    data, log, scheme = folder / "data", folder / "prometheus.log", "http"
    if history is not None:
        (folder / "history.om").write_text(history)
        make = ("tsdb", "create-blocks-from", "openmetrics", folder / "history.om", data)
        subprocess.run((binaries.promtool, *make), check=True, capture_output=True)
    settings = {"global": {"scrape_interval": interval}, "scrape_configs": list(scrape), **(config or {})}
    (folder / "prometheus.yml").write_text(yaml.safe_dump(settings))
    command = [str(binaries.prometheus), f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={data}"]
    command += ["--storage.tsdb.retention.time=100y", "--web.enable-lifecycle"]
    if web_config is not None:
        (folder / "web.yml").write_text(yaml.safe_dump(web_config))
        command.append(f"--web.config.file={folder}/web.yml")
        scheme = "https" if "tls_server_config" in web_config else "http"
    address = f"127.0.0.1:{port or free_port()}"
    command.append(f"--web.listen-address={address}")
    with log.open("ab") as output, client or requests.Session() as session:
        session.trust_env = False  # otherwise the machine's certificates and proxy would take precedence
        process = subprocess.Popen(command, stdout=output, stderr=output, stdin=subprocess.DEVNULL)
        server = PrometheusServer(f"{scheme}://{address}", process.pid, log, session)
        try:
            _wait_ready(server, process)
            yield server
        finally:
            _stop(process)


def _wait_ready(server: PrometheusServer, process: subprocess.Popen[bytes]) -> None:
    end, last = time.monotonic() + READY_WITHIN_SECONDS, "not asked yet"
    while time.monotonic() < end:
        assert process.poll() is None, f"prometheus ended with {process.returncode}:\n{server.log.read_text()[-2000:]}"
        try:
            answer = server._client.get(f"{server.url}/-/ready", timeout=5)
            if answer.ok:
                return
            last = f"HTTP {answer.status_code}"
        except requests.RequestException as error:
            last = str(error)
        time.sleep(0.05)
    raise AssertionError(f"prometheus was not ready within {READY_WITHIN_SECONDS} s ({last}); see {server.log}")


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(STOPPED_WITHIN_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
