"""A live run inferred from Prometheus with a given size: how many cycles agree, and why the others do not."""

import os
import signal
from collections.abc import Sequence
from dataclasses import dataclass

import pytest
import yaml

from autoscaler.clock import SystemClock
from autoscaler.config.settings import PrometheusSource
from autoscaler.model import Autoscaler
from autoscaler.observe.prometheus import Prometheus
from autoscaler.record import Archive, Record
from autoscaler.whatif.compare.comparison import compare
from autoscaler.whatif.compare.inferred_past import Agreement, agreement
from autoscaler.whatif.past.past import Cycle, Finding, FindingKind
from autoscaler.whatif.prometheus.fetching import Fetcher
from autoscaler.whatif.prometheus.prometheus_past import PrometheusPast
from autoscaler.whatif.replay.replay import Candidate, Load, replay
from tests.daemon.running import running_daemon, workers
from tests.e2e.loop import WORKER, configuration
from tests.servers.files import replace_text
from tests.servers.ports import free_port
from tests.servers.prometheus import file_sd, running_prometheus, static

pytestmark = pytest.mark.slow

CLOCK = SystemClock()


@dataclass(frozen=True, slots=True)
class Inferred:
    """The live run, inferred from Prometheus."""

    agreement: Agreement
    findings: Sequence[Finding]


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Inferred:
    """The size comes from the daemon's own metrics."""
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
        return inferred(scaler, records, prometheus.url)


def inferred(scaler: Autoscaler, records: Sequence[Record], url: str) -> Inferred:
    source = Prometheus("default", PrometheusSource(url), CLOCK)
    try:
        first, last = records[0].decision.now, records[-1].decision.now
        past = PrometheusPast(
            scaler,
            Fetcher({"default": source}, CLOCK),
            first,
            last,
            like=last,
        )
        recorded = [
            Cycle(each.decision.now, each.observation, each.scaler, each.decision, each.history)
            for each in records
            if each.observation is not None
        ]
        found = agreement(recorded, replay(past.cycles(), Candidate("recorded", scaler, Load.RECORDED)))
        findings = compare(past, [Candidate("same", scaler)], first, last).findings
        print(f"{scaler.name}: {found.summary}", *findings, sep="\n")
        return Inferred(found, findings)
    finally:
        source.close()


def test_most_cycles_have_the_size_that_the_daemon_decided(live: Inferred) -> None:
    """Scrapes are a fifth of a second apart from cycles, so a cycle at which the load leaps may see it earlier."""
    found = live.agreement
    assert found.cycles > 15
    assert found.same > found.cycles / 2, found.summary
    assert found.same_read > found.cycles / 2, found.summary


def test_an_outage_of_prometheus_is_an_outage_or_a_difference(live: Inferred) -> None:
    """Prometheus may answer later for that time, with the samples from before."""
    is_outage = FindingKind.OUTAGE in {each.kind for each in live.findings}
    assert is_outage or live.agreement.same < live.agreement.cycles


def test_the_output_names_the_source_of_the_size(live: Inferred) -> None:
    message = next(each.message for each in live.findings if each.kind is FindingKind.INFERRED)
    assert message.endswith("size: from the metric autoscaler_current_replicas")
