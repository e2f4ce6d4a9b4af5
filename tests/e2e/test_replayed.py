"""An eventful life of a daemon, replayed from its state: the decisions are the same, bit for bit."""

import signal
import subprocess
import sys
from collections import Counter
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from autoscaler.record import Archive
from autoscaler.whatif.compare.comparison import Comparison, compare
from autoscaler.whatif.past.past import FindingKind
from autoscaler.whatif.past.state_past import StatePast
from autoscaler.whatif.replay.course import AS_IT_WAS
from tests.daemon.running import RunningDaemon, end_workers, external, finished, running_daemon
from tests.e2e.loop import SHARE, TARGET, WORKER, pool
from tests.servers.files import replace_text
from tests.servers.ports import free_port
from tests.servers.prometheus import file_sd, running_prometheus

pytestmark = pytest.mark.slow

NAMES: Final = ("web", "try")
"""An autoscaler that writes, and a dry run of another target under the same load."""


def write(folder: Path, prometheus: str, most: int) -> Path:
    """Write the configuration. `most`: maxReplicas of `web`."""
    budget = {"instances": 2, "periodSeconds": 2}
    target = {"type": "AverageValue", "averageValue": TARGET}
    share = {"type": "Pods", "pods": {"metric": {"name": "load"}, "query": {"expr": SHARE}, "target": target}}
    whole = external("max(demand)", TARGET)
    document = {
        "controller": {"syncPeriod": "1s"},
        "prometheus": {"default": {"url": prometheus, "timeout": "1s"}},
        "adapters": {
            "local": {"type": "process", "pools": {"web": pool(folder)}, "removalBudget": budget},
            "elsewhere": {"type": "memory", "groups": {"try": {}}},
        },
        "log": {"decisions": "all"},
        "autoscalers": [
            _autoscaler("web", "local", share, maxReplicas=most),
            _autoscaler("try", "elsewhere", whole, maxReplicas=9, dryRun=True),
        ],
    }
    path = folder / "autoscaler.yaml"
    replace_text(path, yaml.safe_dump(document))
    return path


def _autoscaler(name: str, adapter: str, metric: Any, **more: Any) -> dict[str, Any]:
    rules = {"scaleDown": {"stabilizationWindowSeconds": 3}}
    where = {"adapter": adapter, "name": name}
    return {"name": name, "scaleTargetRef": where, "minReplicas": 1, "metrics": [metric], "behavior": rules} | more


def command(folder: Path, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
    return finished([sys.executable, "-m", "autoscaler", *words], folder / "state", env)


def replayed(folder: Path, name: str) -> Comparison:
    now = datetime.now(UTC)
    with Archive.open_archive(None, folder / "state") as archive:
        return compare(StatePast(archive, name, now - timedelta(hours=1), now), [], now - timedelta(hours=1), now)


class Life:
    """The daemons of one folder, and their whole log."""

    def __init__(self, folder: Path, port: int) -> None:
        self.folder, self.url = folder, f"http://127.0.0.1:{port}"
        self.lines: list[dict[str, Any]] = []

    def demand(self, number: int) -> None:
        replace_text(self.folder / "demand", f"demand {number}\n")

    def ended(self, daemon: RunningDaemon) -> None:
        self.lines += daemon.events("decision")

    def first_daemon(self, daemon: RunningDaemon, prometheus: ExitStack) -> None:
        """Run a daemon that scales out, is paused, is reloaded, and loses its Prometheus."""
        daemon.wait_for("decision", autoscaler="web", current=1, reason="ReadyForNewScale")
        self.demand(29)
        daemon.wait_for("decision", autoscaler="web", written=3)
        daemon.wait_for("decision", autoscaler="web", current=3, reason="ReadyForNewScale")
        url = f"unix://{daemon.control_socket}"
        assert command(self.folder, "pause", "web", "--reason", "look", AUTOSCALER_SERVER=url).returncode == 0
        self.demand(59)
        daemon.wait_for("decision", autoscaler="web", reason="Paused")
        assert command(self.folder, "resume", "web", AUTOSCALER_SERVER=url).returncode == 0
        daemon.wait_for("decision", autoscaler="web", written=6)
        write(self.folder, self.url, 4)
        daemon.send(signal.SIGHUP)
        daemon.wait_for("decision", autoscaler="web", written=4)
        daemon.wait_for("decision", autoscaler="web", current=4, reason="TooManyReplicas")
        beside = command(self.folder, "replay", "web", "--since", "1h", f"--config.file={self.folder}/autoscaler.yaml")
        assert beside.stderr == ""  # seconds of a pause and of a start are too few to compare anything
        assert " recorded decisions are the same when decided again" in beside.stdout
        prometheus.close()
        daemon.wait_for("decision", count=2, autoscaler="web", reason="FailedGetPodsMetric")

    def second_daemon(self, daemon: RunningDaemon) -> None:
        """Run a daemon that finds no Prometheus at first, and then less load than the first one."""
        daemon.wait_for("decision", autoscaler="web", reason="FailedGetPodsMetric")
        self.demand(5)
        with running_prometheus(
            self.folder,
            [file_sd("web", self.folder / "targets.json")],
            interval="200ms",
            port=int(self.url.rpartition(":")[2]),
        ):
            daemon.wait_for("decision", autoscaler="web", reason="RemovalBudgetLimit")
            daemon.wait_for("decision", autoscaler="web", current=1, desired=1, reason="ReadyForNewScale")
            daemon.wait_for("decision", autoscaler="try", desired=1, reason="ReadyForNewScale")
            assert daemon.stop() == 0


@pytest.fixture(scope="module")
def life(tmp_path_factory: pytest.TempPathFactory) -> Life:
    """A life with a pause, a reload, an outage of Prometheus and a killed daemon."""
    folder, port = tmp_path_factory.mktemp("life"), free_port()
    (folder / "worker.py").write_text(WORKER)
    told = Life(folder, port)
    told.demand(5)
    jobs = [file_sd("web", folder / "targets.json")]
    try:
        with ExitStack() as prometheus:
            server = prometheus.enter_context(running_prometheus(folder, jobs, interval="200ms", port=port))
            config = write(folder, server.url, 6)
            with running_daemon(config) as daemon:
                told.first_daemon(daemon, prometheus)
                daemon.stop(signal.SIGKILL)
                told.ended(daemon)
        with running_daemon(config) as daemon:
            told.second_daemon(daemon)
            told.ended(daemon)
    finally:
        end_workers(folder)
    return told


@pytest.mark.parametrize("name", NAMES)
def test_every_recorded_decision_is_repeated_bit_for_bit(life: Life, name: str) -> None:
    """Only the records are used."""
    found = replayed(life.folder, name)
    differences = [each for each in found.findings if each.kind is FindingKind.DIFFERENCE]
    assert differences == []
    assert found.same == found.compared == found.cycles > 20


@pytest.mark.parametrize("name", NAMES)
def test_the_recorded_cycles_are_those_that_the_daemons_logged(life: Life, name: str) -> None:
    """A repeated cycle must have happened: except what a kill may cut off, each cycle is in both."""
    logged = [line for line in life.lines if line["autoscaler"] == name]
    with Archive.open_archive(None, life.folder / "state") as archive:
        recorded = [each.decision for each in archive.records(name)]
    assert 0 <= len(recorded) - len(logged) <= 1
    of_log = Counter([(line["current"], line["desired"], line["written"]) for line in logged])
    of_state = Counter([(each.current, each.desired, each.written) for each in recorded])
    assert of_log <= of_state


def test_events_are_found_in_the_past(life: Life) -> None:
    """Otherwise they would count as differences, or as no load."""
    found = replayed(life.folder, "web")
    kinds = {each.kind for each in found.findings}
    assert kinds >= {FindingKind.STEERING, FindingKind.RELOAD, FindingKind.OUTAGE, FindingKind.LIMITS}
    (outage, *_) = [each for each in found.findings if each.kind is FindingKind.OUTAGE]
    assert outage.end > outage.begin
    (was,) = found.courses
    assert was.label == AS_IT_WAS
    assert {1, 3, 4, 6} <= set(was.size)


def test_the_dry_run_decides_from_the_real_size(life: Life) -> None:
    """Its decisions are not written, so it wants the same again while the load stays."""
    with Archive.open_archive(None, life.folder / "state") as archive:
        made = [each.decision for each in archive.records("try")]
    assert {each.current for each in made} - {None} == {1}  # None: not read in time
    assert max(each.desired or 0 for each in made) > 1
    assert all(each.written is None and not each.scale_ups for each in made)
