"""A live run told again from Prometheus and a size that is told: how many cycles agree, and why the others do not."""

import os
import signal
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from autoscaler.clock import SystemClock
from autoscaler.config.settings import PrometheusSource
from autoscaler.model import Autoscaler
from autoscaler.observe.prometheus import Prometheus
from autoscaler.record import Archive, Record
from autoscaler.whatif.compare.agreement import Agreement, Why, agreement
from autoscaler.whatif.past.past import Finding, FindingKind, Moment
from autoscaler.whatif.prometheus.fetching import Fetcher
from autoscaler.whatif.prometheus.prometheus_past import Given, PrometheusPast, phase_of
from autoscaler.whatif.prometheus.range_cache import RangeCache
from autoscaler.whatif.replay.replay import Load, replay
from tests.daemon.running import running_daemon, workers
from tests.e2e.loop import WORKER, configuration
from tests.servers.files import replace_text
from tests.servers.ports import free_port
from tests.servers.prometheus import file_sd, running_prometheus, static

pytestmark = pytest.mark.slow

CLOCK = SystemClock()


@dataclass(frozen=True, slots=True)
class Told:
    """The live run as Prometheus tells it."""

    agreement: Agreement
    findings: Sequence[Finding]


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Told:
    """The size is told by the daemon's own metrics."""
    folder = tmp_path_factory.mktemp("live")
    (folder / "worker.py").write_text(WORKER)
    demand = folder / "demand"
    replace_text(demand, "demand 5\n")
    web = f"127.0.0.1:{free_port()}"
    scrapes = [file_sd("web", folder / "targets.json"), static("autoscaler", web)]
    with running_prometheus(folder, scrapes, interval="200ms") as prometheus:
        config = folder / "autoscaler.yaml"
        config.write_text(yaml.safe_dump(configuration(prometheus.url, folder)))
        with running_daemon(config, f"--web.listen-address={web}") as daemon:
            try:
                daemon.wait_for("decision", current=1, desired=1, reason="ReadyForNewScale")
                replace_text(demand, "demand 29\n")
                daemon.wait_for("decision", written=3)
                daemon.wait_for("decision", current=3, desired=3, reason="ReadyForNewScale")
                failed = len(daemon.events("decision", reason="FailedGetPodsMetric"))  # before there was a sample
                os.kill(prometheus.pid, signal.SIGSTOP)  # it gives no answer, and scrapes nothing
                daemon.wait_for("decision", reason="FailedGetPodsMetric", count=failed + 3)
                os.kill(prometheus.pid, signal.SIGCONT)
                for text, size in (("demand 59\n", 6), ("demand 5\n", 1)):
                    replace_text(demand, text)
                    daemon.wait_for("decision", written=size)
                daemon.wait_for("decision", current=1, desired=1, reason="ReadyForNewScale", count=8)
                assert daemon.stop(signal.SIGTERM) == 0
            finally:
                for pid in workers(folder):  # they outlive their daemon
                    os.kill(pid, signal.SIGKILL)
        with Archive.open_archive(None, folder / "state") as archive:
            records = list(archive.records("web"))
        scaler = records[-1].scaler
        return told(scaler, records, prometheus.url, folder / "cache")


def told(scaler: Autoscaler, records: Sequence[Record], url: str, cache: Path) -> Told:
    sources = {"default": PrometheusSource(url)}
    source = Prometheus("default", sources["default"], CLOCK)
    try:
        first, last = records[0].decision.now, records[-1].decision.now
        past = PrometheusPast(
            scaler,
            Fetcher({"default": source}, RangeCache(cache, sources, CLOCK), CLOCK),
            first,
            last,
            given=Given(phase=phase_of(last, scaler.sync_period)),
        )
        recorded = [
            Moment(each.decision.now, each.observation, each.decision, each.history, each.scaler)
            for each in records
            if each.observation is not None
        ]
        found = agreement(recorded, replay(past.moments(), scaler, Load.RECORDED))
        print(f"{scaler.name}: {found.summary}", *found.differences, *past.findings, sep="\n")
        return Told(found, past.findings)
    finally:
        source.close()


def test_most_cycles_have_the_size_that_the_daemon_decided(live: Told) -> None:
    """Scrapes are a fifth of a second apart from cycles, so a cycle at which the load leaps may see it earlier."""
    found = live.agreement
    assert found.cycles > 15
    assert found.same > found.cycles / 2, found.summary
    assert found.same + sum(each.cycles for each in found.differences) == found.cycles


def test_an_outage_of_prometheus_is_told_as_one(live: Told) -> None:
    """Where Prometheus answers for that time later with the samples from before it, the daemon's error is told."""
    found = live.agreement
    why = {each.why for each in found.differences if each.recorded is None}
    assert why <= {Why.READING, Why.SIZE}, found.differences  # a busy machine's adapter may be late as well
    told = any("then it had no value" in each.message for each in found.differences)
    assert told or FindingKind.OUTAGE in {each.kind for each in live.findings}


def test_the_output_says_what_the_size_was_told_by(live: Told) -> None:
    message = next(each.message for each in live.findings if each.kind is FindingKind.INFERRED)
    assert message.endswith("size: from the metric autoscaler_current_replicas")
