"""The demo's parts: a temporary folder, a Prometheus, the daemon and its workers, on free ports.

Nothing of it outlives `Stage.close`.
"""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import requests
import yaml

from autoscaler.net.files import write_atomically
from tools.prometheus import prometheus_binaries

ROOT: Final = Path(__file__).resolve().parent.parent
CONFIG: Final = ROOT / "config" / "demo.yaml"
_READY_WITHIN_SECONDS: Final = 60.0
_STOPPED_WITHIN_SECONDS: Final = 15.0
USUAL_ADDRESS: Final = "127.0.0.1:9797"
"""The daemon's address that `autoscaler get` uses by default."""


class StageError(Exception):
    """The demo cannot continue; the message says why."""


def filled(settings: Mapping[str, Any], folder: Path, prometheus: str, web: str, ports: range) -> dict[str, Any]:
    """Return the demo's configuration with its addresses, ports and folder."""
    copy: dict[str, Any] = json.loads(json.dumps(settings))
    copy["prometheus"]["default"]["url"] = f"http://{prometheus}"
    copy["web"] = {"listenAddress": web, "controlSocket": str(folder / "control.sock")}
    copy["state"] = {**copy.get("state", {}), "url": f"sqlite:///{folder / 'state' / 'state.db'}"}  # for other commands
    pool = copy["adapters"]["local"]["pools"]["shop"]
    pool["cwd"] = str(ROOT)
    pool["env"]["DEMO_FOLDER"] = str(folder)
    pool["ports"] = f"{ports[0]}-{ports[-1]}"
    pool["targetsFile"] = str(folder / "workers.json")
    return copy


def free_ports(count: int) -> list[int]:
    """Return free ports of 127.0.0.1."""
    probes = [socket.socket() for _ in range(count)]
    try:
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [probe.getsockname()[1] for probe in probes]
    finally:
        for probe in probes:
            probe.close()


def free_range(size: int, first: int = 20000) -> range:
    """Return the first `size` free ports in a row from `first` on. Raises StageError."""
    for start in range(first, 32000, size):  # from 32768 on, Linux hands ports to outgoing connections
        ports = range(start, start + size)
        if all(_is_free(port) for port in ports):
            return ports
    raise StageError(f"no {size} free ports in a row between {first} and 32000 on 127.0.0.1; stop what listens there")


def web_address(usual: str = USUAL_ADDRESS) -> str:
    """Return the daemon's address: the usual one, or another one if it is taken."""
    port = int(usual.rpartition(":")[2])
    return usual if _is_free(port, or_just_left=True) else f"127.0.0.1:{free_ports(1)[0]}"


def _is_free(port: int, *, or_just_left: bool = False) -> bool:
    """Return whether the port is free. `or_just_left`: also if connections of an ended server linger there."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, or_just_left)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


class Stage:
    """One demo's processes and files. Use it as a context manager."""

    def __init__(
        self,
        adjust: Callable[[dict[str, Any]], None] | None = None,
        program: Sequence[str] = ("-m", "autoscaler"),
        usual: str = USUAL_ADDRESS,
    ) -> None:
        """Prepare the folder; `adjust` can change the filled-in configuration before it is written.

        `program`: what the interpreter runs as the daemon. `usual`: the daemon's address, unless it is taken.
        """
        self._program, self._usual = program, usual
        prometheus, web = f"127.0.0.1:{free_ports(1)[0]}", web_address(usual)
        ports = free_range(16)
        self.folder = Path(tempfile.mkdtemp(prefix="autoscaler-demo-"))
        self.prometheus_url = f"http://{prometheus}"
        self.page_url = f"http://{web}"
        self.config = self.folder / "demo.yaml"
        self.log = self.folder / "daemon.log"
        self._read = 0
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        settings = filled(yaml.safe_load(CONFIG.read_text()), self.folder, prometheus, web, ports)
        if adjust:
            adjust(settings)
        self._settings = settings
        self._write_settings()
        self.set_traffic(0)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def set_traffic(self, requests_in_flight: int) -> None:
        """Set the load of all workers together."""
        write_atomically(self.folder / "traffic", str(requests_in_flight))

    def start_prometheus(self) -> None:
        """Start Prometheus and wait until it is ready. Raises PrometheusNotFound, StageError."""
        binary = prometheus_binaries().prometheus
        scrape = {"job_name": "shop", "file_sd_configs": [{"files": [f"{self.folder}/workers.json"]}]}
        settings = {"global": {"scrape_interval": "1s", "scrape_timeout": "1s"}, "scrape_configs": [scrape]}
        (self.folder / "prometheus.yml").write_text(yaml.safe_dump(settings))
        self._start(
            "prometheus",
            str(binary),
            f"--config.file={self.folder}/prometheus.yml",
            f"--storage.tsdb.path={self.folder}/prometheus",
            f"--web.listen-address={self.prometheus_url.removeprefix('http://')}",
        )
        self._wait("prometheus", self._prometheus_is_ready)

    def start_daemon(self) -> int:
        """Start `autoscaler run` on the filled-in configuration and wait until it listens; returns its pid.

        Where another program has taken its address meanwhile, it gets another one. Raises StageError.
        """
        try:
            return self._start_daemon()
        except StageError:
            web = web_address(self._usual)
            was_taken = self.page_url == f"http://{self._usual}" and web != self._usual
            if not was_taken or self._processes["daemon"].poll() is None:
                raise
        del self._processes["daemon"]  # which has ended
        self.page_url, self._settings["web"]["listenAddress"] = f"http://{web}", web
        self._write_settings()
        return self._start_daemon()

    def _start_daemon(self) -> int:
        begin = self.log.stat().st_size if self.log.exists() else 0
        pid = self._start("daemon", sys.executable, *self._program, "run", f"--config.file={self.config}")
        self._wait("daemon", lambda: b'"event": "listening"' in self.log.read_bytes()[begin:])
        return pid

    def _write_settings(self) -> None:
        self.config.write_text(yaml.safe_dump(self._settings, sort_keys=False))

    def check_running(self) -> None:
        """Raise StageError with the last output if Prometheus or the daemon has ended."""
        for name, process in self._processes.items():
            if process.poll() is not None:
                said = "\n".join((self.folder / f"{name}.log").read_text().splitlines()[-5:])
                raise StageError(f"the {name} ended with exit code {process.returncode}:\n{said}")

    def new_lines(self) -> list[dict[str, Any]]:
        """Return the complete lines that the daemon has logged since the last call."""
        with self.log.open("rb") as log:
            log.seek(self._read)
            text = log.read()
        text = text[: text.rfind(b"\n") + 1]
        self._read += len(text)
        return [json.loads(line) for line in text.splitlines() if line.startswith(b"{")]

    def addresses(self) -> list[str]:
        """Return the workers' addresses, `host:port`, from their file_sd file."""
        try:
            groups = json.loads((self.folder / "workers.json").read_text())
        except FileNotFoundError:
            return []
        return sorted(target for group in groups for target in group["targets"])

    def query(self, expr: str) -> float | None:
        """Return the one value of `expr` in Prometheus; None without a value. Raises StageError."""
        try:
            answer = requests.get(f"{self.prometheus_url}/api/v1/query", params={"query": expr}, timeout=10)
            answer.raise_for_status()
        except requests.RequestException as error:
            raise StageError(f"Prometheus did not answer {expr}: {error}") from error
        result = answer.json()["data"]["result"]
        return float(result[0]["value"][1]) if result else None

    def close(self) -> None:
        """Stop everything and remove the folder. Raises StageError if a worker is left."""
        addresses = self.addresses()
        for name in ("daemon", "prometheus"):
            if process := self._processes.pop(name, None):
                _stop(process)
        addresses = sorted({*addresses, *self.addresses()})
        (self.folder / "traffic").unlink(missing_ok=True)  # workers end without it
        try:
            _wait_until_silent(addresses)
        finally:
            shutil.rmtree(self.folder)

    def _start(self, name: str, *command: str) -> int:
        environment = {
            **os.environ,
            "PATH": f"{Path(sys.executable).parent}:{os.environ.get('PATH', os.defpath)}",  # the workers' python3
            "STATE_DIRECTORY": str(self.folder / "state"),
        }
        with (self.folder / f"{name}.log").open("ab") as output:
            self._processes[name] = subprocess.Popen(
                command,
                cwd=ROOT,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,  # Ctrl-C is ours alone, so that things stop in order
            )
        return self._processes[name].pid

    def _prometheus_is_ready(self) -> bool:
        with suppress(requests.ConnectionError):
            return requests.get(f"{self.prometheus_url}/-/ready", timeout=5).ok
        return False

    def _wait(self, name: str, condition: Callable[[], bool]) -> None:
        end = time.monotonic() + _READY_WITHIN_SECONDS
        while not condition():
            self.check_running()
            if time.monotonic() > end:
                raise StageError(f"the {name} was not ready within {_READY_WITHIN_SECONDS:.0f} s")
            time.sleep(0.1)


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(_STOPPED_WITHIN_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _wait_until_silent(addresses: list[str]) -> None:
    end = time.monotonic() + _STOPPED_WITHIN_SECONDS
    left = addresses
    while left := [address for address in left if _listens(address)]:
        if time.monotonic() > end:
            raise StageError(f"workers still listen at {', '.join(left)}")
        time.sleep(0.1)


def _listens(address: str) -> bool:
    host, _, port = address.rpartition(":")
    with socket.socket() as probe:
        return probe.connect_ex((host, int(port))) == 0
