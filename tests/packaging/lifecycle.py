"""The life of a machine with the Debian package: installed, used as in the quickstart, upgraded, removed, purged."""

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.packaging.artefacts import checked
from tests.systemd.machine import Machine

WORKER: Final = """
import os
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

class Page(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/plain")
        self.end_headers()
        self.wfile.write(b"web_requests_in_flight " + Path("/srv/load").read_bytes())

    def log_message(self, *_):
        pass

HTTPServer(("127.0.0.1", int(os.environ["PORT"])), Page).serve_forever()
"""
"""Each worker exposes the content of /srv/load, which is the load of all, so that a size is stable."""
PROMETHEUS: Final = """
global: {scrape_interval: 1s}
scrape_configs:
  - job_name: web
    file_sd_configs: [{files: ["/run/autoscaler/*.json"]}]
"""
CONFIGURATION: Final = """
controller: {syncPeriod: 1s}
prometheus:
  default: {url: "http://127.0.0.1:9090"}
adapters:
  local:
    type: process
    pools:
      web:
        command: python3 /srv/worker.py
        ports: 20000-20009
        readiness: {path: /}
        targetsFile: /run/autoscaler/web.json
autoscalers:
  - name: web
    scaleTargetRef: {adapter: local, name: web}
    minReplicas: 1
    maxReplicas: 3
    metrics:
      - type: External
        external:
          metric: {name: requests}
          query: {expr: max(web_requests_in_flight)}
          target: {type: AverageValue, averageValue: 10}
    behavior:
      scaleDown: {stabilizationWindowSeconds: 0}
"""
_STATE: Final = "var/lib/autoscaler/state.db"


@dataclass(frozen=True)
class Snapshot:
    """The state of the machine at one moment."""

    version: str
    """The version of the installed package; "": it is removed."""
    active: str
    enabled: bool
    daemon: str
    """The main pid of the service; "0": it does not run."""
    workers: frozenset[str]
    """Their folders in /proc."""
    configuration: str | None
    state: bool
    user: bool
    operators: bool
    """Whether the group of operators exists."""
    events: tuple[str, ...]
    """The reasons of the events; () without the command."""
    left: tuple[str, ...]
    """Those folders of the package that exist."""


@dataclass(frozen=True)
class Life:
    """A snapshot after each step."""

    fresh: Snapshot
    sizes: tuple[int, ...]
    """The sizes with low load, higher load, the highest load after a restart, and low load again."""
    seconds: float
    """The time from the first edit to the last of these sizes."""
    before_upgrade: Snapshot
    upgraded: Snapshot
    removed: Snapshot
    again: Snapshot
    purged: Snapshot


def lived(machine: Machine, package: Path, folder: Path) -> Life:
    """Do all steps on a machine on which only the package is installed at first."""
    machine.install(package)
    fresh = look(machine)
    began = time.monotonic()
    sizes = _quickstart(machine)
    seconds = time.monotonic() - began
    _keep_workers(machine)
    before = look(machine)
    machine.install(newer(package, folder))
    machine.until(lambda: look(machine).workers == before.workers, "the upgraded service's workers")
    upgraded = look(machine)
    _apt(machine, "remove")
    removed = look(machine)
    machine.install(package)
    machine.checked("systemctl", "start", "autoscaler")
    _sized(machine, 1)
    again = look(machine)
    _apt(machine, "purge")
    return Life(fresh, sizes, seconds, before, upgraded, removed, again, look(machine))


def newer(package: Path, folder: Path) -> Path:
    """Return the same package with a later version."""
    tree, made = folder / "newer", folder / "newer.deb"
    checked("dpkg-deb", "--raw-extract", package, tree)
    control = tree / "DEBIAN/control"
    control.write_text(control.read_text().replace("\nVersion: ", "\nVersion: 9"))
    checked("dpkg-deb", "--root-owner-group", "-Znone", "--build", tree, made)
    return made


def look(machine: Machine) -> Snapshot:
    """Return the state of the machine now."""
    version = machine.run(
        "dpkg-query", "--show", "--showformat=${db:Status-Status} ${Version}", "prometheus-autoscaler"
    )
    status, _, number = version.stdout.partition(" ")
    active, daemon = machine.show("ActiveState", "MainPID")
    configuration = machine.root / "etc/autoscaler/autoscaler.yaml"
    places = ("etc/autoscaler", "var/lib/autoscaler", "run/autoscaler", "usr/lib/prometheus-autoscaler")
    return Snapshot(
        version=number if status == "installed" else "",
        active=active,
        enabled=machine.run("systemctl", "is-enabled", "autoscaler").stdout == "enabled\n",
        daemon=daemon,
        workers=_workers(machine),
        configuration=configuration.read_text() if configuration.exists() else None,
        state=(machine.root / _STATE).exists(),
        user=machine.run("getent", "passwd", "autoscaler").returncode == 0,
        operators=machine.run("getent", "group", "autoscaler-operators").returncode == 0,
        events=_events(machine),
        left=tuple(place for place in places if machine.run("test", "-e", f"/{place}").returncode == 0),
    )


def _quickstart(machine: Machine) -> tuple[int, ...]:
    """Follow docs/quickstart-process.md in short. The package is installed; Prometheus is Debian's."""
    machine.install("prometheus")
    files: Mapping[str, str] = {
        "srv/worker.py": WORKER,
        "srv/load": "5\n",
        "etc/prometheus/prometheus.yml": PROMETHEUS,
        "etc/autoscaler/autoscaler.yaml": CONFIGURATION,
    }
    for name, text in files.items():
        (machine.root / name).write_text(text)
    machine.checked("autoscaler", "check", "/etc/autoscaler/autoscaler.yaml")
    machine.checked("systemctl", "restart", "prometheus", "autoscaler")
    sizes = [_sized(machine, 1)]
    for load, size in ((15, 2), (60, 3), (1, 1)):
        if size == 3:
            _restart_with_other_workers(machine, size - 1)
        (machine.root / "srv/load").write_text(f"{load}\n")
        sizes.append(_sized(machine, size))
    return tuple(sizes)


def _restart_with_other_workers(machine: Machine, size: int) -> None:
    """Only then may the load rise: samples of it that Prometheus took of the old workers would do as well.

    Prometheus refreshes files every 5 minutes by default, longer than `until` waits for the size after the restart.
    """
    before = _workers(machine)
    machine.checked("systemctl", "restart", "autoscaler")
    machine.until(lambda: len(_workers(machine)) == size and not _workers(machine) & before, "other workers")


def _sized(machine: Machine, size: int) -> int:
    """Wait until this many workers run and each has a sample; return their number."""

    def so_many() -> bool:
        said = machine.run("autoscaler", "get", "web", "--output=json").stdout
        return bool(said) and json.loads(said)["autoscalers"][0]["current"] == size == len(_workers(machine))

    machine.until(so_many, f"{size} workers")
    return len(_workers(machine))


def _keep_workers(machine: Machine) -> None:
    """Follow docs/install.md, so that workers survive an upgrade."""
    examples = "/usr/share/doc/prometheus-autoscaler/examples/autoscaler.service.d"
    folder = "/etc/systemd/system/autoscaler.service.d"
    machine.checked("install", "-D", "-m", "644", f"{examples}/process.conf", f"{folder}/process.conf")
    machine.checked("systemctl", "daemon-reload")
    machine.checked("systemctl", "restart", "autoscaler")
    _sized(machine, 1)


def _workers(machine: Machine) -> frozenset[str]:
    found = machine.run("sh", "-c", "grep -lz '^/srv/worker.py$' /proc/[0-9]*/cmdline").stdout
    return frozenset(found.split())


def _events(machine: Machine) -> tuple[str, ...]:
    said = machine.run("sh", "-c", "autoscaler events web --output=json").stdout
    return tuple(event["reason"] for event in json.loads(said)["events"]) if said else ()


def _apt(machine: Machine, what: str) -> None:
    machine.checked(
        "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", what, "--yes", "--quiet", "prometheus-autoscaler"
    )
