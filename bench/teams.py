"""`make bench-teams`: 10,000 autoscalers from 500 files of 50 teams. ARGS=quick takes a tenth of the teams.

One file after another is edited, at any moment of a cycle. An edit is in force within 2 s and delays no cycle by 50 ms.
All threads of the daemon share one core, so an edit delays a cycle by at most its processor time.
"""

import os
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any, Final

import yaml

from autoscaler.target.files import write_atomically
from bench.fleet.adapter import install
from bench.fleet.daemon import Daemon
from bench.processes import cpu_seconds
from tests.daemon.running import running_daemon
from tests.servers.prometheus import running_prometheus

_FILES: Final = 10
_EACH: Final = 20
_SHARDS: Final = 4
_CYCLES: Final = 6
"""Of each shard, without edits and then with them."""
_BETWEEN_SECONDS: Final = 3.7
"""Between two edits: they meet all parts of a cycle."""
_IN_FORCE_SECONDS: Final = 2.0


class TeamFolders:
    """A main file, and the folders of this number of teams."""

    def __init__(self, folder: Path, teams: int, prometheus: str) -> None:
        self.config = folder / "autoscaler.yaml"
        self.teams = [f"t{number:02}" for number in range(teams)]
        self._folder = folder / "autoscalers.d"
        self._edits = 0
        document = {
            "prometheus": {team: {"url": prometheus} for team in self.teams},
            "adapters": {"fleet": {"type": "fleet", "initialReplicas": 2, "shards": _SHARDS}},
            "autoscalersDir": self._folder.name,
            "grants": {team: _grant(team) for team in self.teams},
            "autoscalers": [],
        }
        self.config.write_text(yaml.safe_dump(document))
        for team in self.teams:
            (self._folder / team).mkdir(parents=True)
            for file in range(_FILES):
                self._write(team, file, 5)

    def edit(self) -> None:
        """Change the autoscalers of one file."""
        self._edits += 1
        team = self.teams[self._edits % len(self.teams)]
        self._write(team, self._edits % _FILES, 5 + self._edits)

    def _write(self, team: str, file: int, most: int) -> None:
        scalers = [_autoscaler(f"{team}-{file}-{number}", team, most) for number in range(_EACH)]
        write_atomically(self._folder / team / f"f{file}.yaml", yaml.safe_dump(scalers), mode=0o644)


def _grant(team: str) -> Mapping[str, Any]:
    given = {"adapters": ["fleet"], "targets": [f"{team}-*"], "sources": [team], "maxQueries": 5}
    return {"namePrefix": f"{team}-", "maxReplicas": 1_000} | given


def _autoscaler(name: str, team: str, most: int) -> Mapping[str, Any]:
    load = {
        "metric": {"name": "load"},
        "query": {"expr": "vector(20)", "prometheus": team},
        "target": {"type": "AverageValue", "averageValue": 10},
    }
    metrics = [{"type": "External", "external": load}]
    return {"name": name, "scaleTargetRef": {"adapter": "fleet", "name": name}, "maxReplicas": most, "metrics": metrics}


@contextmanager
def running_teams(teams: int) -> Iterator[tuple[TeamFolders, Daemon]]:
    """Start a daemon on the folders of this number of teams, and wait for its first cycle."""
    with tempfile.TemporaryDirectory(prefix="bench-teams-") as name, running_prometheus(Path(name)) as prometheus:
        folders = TeamFolders(Path(name), teams, prometheus.url)
        with running_daemon(folders.config, "--log.level=debug", env=install(Path(name))) as running:
            daemon = Daemon(running.process, folders.config, running.stderr)
            daemon.cycles(_SHARDS)
            yield folders, daemon


def in_force_seconds(folders: TeamFolders, daemon: Daemon) -> float:
    """Return the seconds from an edit until the daemon follows it."""
    before, began = len(daemon.events("teams_followed")), time.monotonic()
    folders.edit()
    daemon.until(lambda: len(daemon.events("teams_followed")) > before, "the edit")
    return time.monotonic() - began


def cycles(daemon: Daemon, count: int) -> Sequence[Mapping[str, Any]]:
    """Return the next `count` cycles of each shard."""
    first = len(daemon.events("cycle_ended"))
    return daemon.cycles(first + count * _SHARDS)[first:]


def edited(folders: TeamFolders, daemon: Daemon, count: int) -> tuple[Sequence[Mapping[str, Any]], Sequence[float]]:
    """Return the next `count` cycles of each shard while files are edited, and the seconds of each edit."""
    first, seconds = len(daemon.events("cycle_ended")), list[float]()
    while len(daemon.events("cycle_ended")) < first + count * _SHARDS:
        seconds.append(in_force_seconds(folders, daemon))
        time.sleep(_BETWEEN_SECONDS)
    return daemon.events("cycle_ended")[first:], seconds


def main() -> None:
    """Measure and print."""
    teams = 5 if "quick" in sys.argv[1:] else 50
    with running_teams(teams) as (folders, daemon):
        cycles(daemon, 1)
        pid = daemon.process.pid
        cpu = [cpu_seconds(pid)]
        quiet = cycles(daemon, _CYCLES)
        cpu.append(cpu_seconds(pid))
        busy, seconds = edited(folders, daemon, _CYCLES)
        cpu.append(cpu_seconds(pid))
        wrong = [line for line in daemon.log if line["level"] in ("warning", "error")]
    each = [(after - before) / len(some) for before, after, some in zip(cpu, cpu[1:], (quiet, busy), strict=False)]
    edit = (each[1] - each[0]) * len(busy) / len(seconds)
    size = (
        f"{teams * _FILES * _EACH:,} autoscalers, {teams * _FILES} files, {teams} teams; load {os.getloadavg()[0]:.1f}"
    )
    print(size, flush=True)
    _report(
        "slowest of the edits in force after", f"{max(seconds):.2f} s of {len(seconds)}", f"{_IN_FORCE_SECONDS:g} s"
    )
    _report("processor time of an edit, all threads", f"{edit * 1000:.0f} ms", "50 ms")
    late = [max(line["late_seconds"] for line in some) for some in (quiet, busy)]
    _report("latest cycle without and with edits", f"{late[0] * 1000:.0f} and {late[1] * 1000:.0f} ms", "50 ms more")
    took = [median(line["seconds"] for line in some) for some in (quiet, busy)]
    _report("median cycle without and with edits", f"{took[0] * 1000:.0f} and {took[1] * 1000:.0f} ms", "50 ms more")
    _report("warnings and errors", str(len(wrong)), "0")


def _report(what: str, found: str, aim: str) -> None:
    print(f"{what:<48} {found:>24}   aim: {aim}", flush=True)


if __name__ == "__main__":
    main()
