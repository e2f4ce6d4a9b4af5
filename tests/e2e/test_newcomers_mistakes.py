"""The ten mistakes of new users: `check`, `check --live` and `describe` name the cause and the remedy.

One Prometheus and one daemon with two workers run all the time. Each mistake is one edit of a valid file.
"""

import copy
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from autoscaler.config import load
from autoscaler.errors import ConfigError
from tests.daemon.running import RunningDaemon, finished, running_daemon, workers
from tests.e2e.loop import worker
from tests.servers.exporter import running_exporter
from tests.servers.ports import free_port, free_ports
from tests.servers.prometheus import PrometheusServer, file_sd, running_prometheus

pytestmark = pytest.mark.slow

WORKER: Final = worker(r'f"web_requests_in_flight 10\nweb_requests_total {int(time.monotonic())}\n".encode()')

GOOD: Final = """\
prometheus: {{default: {{url: "{prometheus}"}}}}
adapters:
  local:
    type: process
    pools:
      web:
        command: [{python}, "{folder}/worker.py", "{{port}}"]
        env: {{DAEMON_TEST: "{folder}"}}
        ports: {ports}
        initialReplicas: 2
        targetsFile: {folder}/targets.json
autoscalers:
  - name: web
    scaleTargetRef: {{adapter: local, name: web}}
    minReplicas: 1
    maxReplicas: 4
    syncPeriod: 1s
    metrics:
      - type: Pods
        pods:
          metric: {{name: inflight}}
          query: {{expr: web_requests_in_flight}}
          target: {{type: AverageValue, averageValue: 10}}
"""


@dataclass(frozen=True, slots=True)
class Service:
    """The running service, and its valid file."""

    config: Path
    state: Path
    prometheus: PrometheusServer
    daemon: str
    """The URL of its page."""


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """Run two workers that are scraped each second, and an autoscaler that has read them."""
    folder = tmp_path_factory.mktemp("service")
    folder.chmod(0o711)
    (folder / "worker.py").write_text(WORKER)
    with running_prometheus(folder, [file_sd("web", folder / "targets.json")]) as prometheus:
        config = folder / "autoscaler.yaml"
        config.write_text(
            GOOD.format(prometheus=prometheus.url, python=sys.executable, folder=folder, ports=free_ports(8))
        )
        with running_daemon(config) as daemon:
            try:
                daemon.wait_for("decision", reason="ReadyForNewScale", current=2)
                yield Service(config, folder / "state", prometheus, daemon.url)
                daemon.stop()
            finally:
                end_workers(folder)


def end_workers(folder: Path) -> None:
    """End the workers, which outlive their daemon."""
    for pid in workers(folder):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def metric(name: str, expr: str, kind: str = "Pods", source: str = "default") -> dict[str, Any]:
    body = {"metric": {"name": name}, "query": {"expr": expr, "prometheus": source}}
    return {"type": kind, kind.lower(): body | {"target": {"type": "AverageValue", "averageValue": 10}}}


def check(service: Service, config: Path, *options: str) -> tuple[int, str]:
    """Run `autoscaler check` beside the service's daemon. Returns exit code and output."""
    done = finished([sys.executable, "-m", "autoscaler", "check", *options, str(config)], service.state)
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, done.stdout


def test_the_file_without_a_mistake_is_fine(service: Service) -> None:
    """Otherwise the other tests would prove nothing."""
    code, out = check(service, service.config, "--live")
    assert code == 0, out
    assert out.endswith("all would work\n")


@pytest.mark.parametrize(
    ("old", "new", "line", "said"),
    [
        ("    minReplicas: 1", "    minReplica: 1", 15, "unknown key; did you mean `minReplicas`?"),
        ("syncPeriod: 1s", "syncPeriod: 15", 17, 'it with a unit, as in "15s"'),
        ("    maxReplicas: 4", "   maxReplicas: 4", 16, "indent the line as its neighbours are"),
        ("adapter: local", "adapter: locl", 14, "did you mean `local`?"),
    ],
    ids=["key typo", "unit", "indentation", "adapter name"],
)
def test_an_error_in_the_file_is_shown_with_its_place(
    service: Service, tmp_path: Path, old: str, new: str, line: int, said: str
) -> None:
    """This needs no server: in an editor, or before the file is installed."""
    good, config = service.config.read_text(), tmp_path / "autoscaler.yaml"
    assert old in good
    config.write_text(good.replace(old, new))
    with pytest.raises(ConfigError) as caught:
        load(config)
    (problem,) = [str(each) for each in caught.value.problems if each.line == line]
    assert said in problem


NO_SAMPLE: Final = "the query returned no sample: "
AGGREGATED: Final = "the query aggregates the instance label away"
REMEDY: Final = "; write sum by (instance) (…), or use a metric of type External"
TOO_SHORT: Final = (
    f"{NO_SAMPLE}rate() needs two samples within its range [1s], which is shorter than two scrape intervals of 1s; "
    "write at least [4s], four of them"
)
MISSPELT: Final = f"{NO_SAMPLE}no series web_requests_inflight; did you mean web_requests_in_flight?"
FILTERED: Final = f"{NO_SAMPLE}its selectors have series, and the expression leaves none of them"
ZERO: Final = "; if that means zero, say so in the expression, as in … or vector(0)"


@pytest.fixture(scope="module")
def live(service: Service, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the output of `check --live` for a file with wrong metrics, and for one with a wrong command."""
    document = yaml.safe_load(service.config.read_text())
    scaler, pools = document["autoscalers"][0], document["adapters"]["local"]["pools"]
    pools["other"] = {"command": "/opt/web/srever", "targetsFile": f"{service.state}/other.json", "ports": "1-9"}
    document["autoscalers"].append(scaler | {"name": "other", "scaleTargetRef": {"adapter": "local", "name": "other"}})
    mismatch = 'sum by (instance) (label_replace(web_requests_in_flight, "instance", "app-$1", "worker", "(.*)"))'
    document["autoscalers"][0] = scaler | {
        "metrics": [
            metric("misspelt", "web_requests_inflight"),
            metric("label", 'web_requests_in_flight{job="wbe"}'),
            metric("unlike", "nothing_like_it"),
            metric("range", "rate(web_requests_total[1s])"),
            metric("filtered", "web_requests_in_flight > 1000"),
            metric("mismatch", mismatch),
            metric("aggregated", 'label_replace(sum(web_requests_in_flight), "x", "y", "", "")'),
            metric("misspelt-sum", "sum(web_requests_inflight)", "External"),
            metric("range-sum", "sum(rate(web_requests_total[1s]))", "External"),
            metric("filtered-sum", "web_requests_total < 0", "External"),
            metric("refused", "web_requests_in_flight", source="nothing"),
            metric("page", "web_requests_in_flight", source="page"),
            metric("exporter", "web_requests_in_flight", source="exporter"),
        ]
    }
    nothing = f"http://127.0.0.1:{free_port()}"
    with running_exporter({"node_load1": 1.0}) as exporter:
        document["prometheus"] |= {
            "nothing": {"url": nothing},
            "page": {"url": service.daemon},
            "exporter": {"url": exporter.url},
        }
        config = tmp_path_factory.mktemp("live") / "autoscaler.yaml"
        config.write_text(yaml.safe_dump(document, sort_keys=False))
        code, out = check(service, config, "--live")
        assert code == 1
    for url, name in ((nothing, "NOTHING"), (exporter.url, "EXPORTER"), (service.daemon, "PAGE")):
        out = out.replace(url, name)
    return out


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("misspelt", MISSPELT),
        ("label", f'{NO_SAMPLE}no series web_requests_in_flight has job="wbe"; did you mean "web"?'),
        ("unlike", f"{NO_SAMPLE}no series nothing_like_it; of the targets that may have it 2 of 2 are up"),
        ("range", TOO_SHORT),
        ("filtered", FILTERED),
        ("aggregated", f'{AGGREGATED}, as {{x="y"}}{REMEDY}'),
        ("misspelt-sum", MISSPELT),
        ("range-sum", TOO_SHORT),
        ("filtered-sum", FILTERED + ZERO),
        (
            "refused",
            "prometheus 'nothing' cannot be asked: Connection refused; start it, or correct its url (NOTHING)",
        ),
    ],
)
def test_check_live_names_the_cause_of_a_query_that_fails(live: str, name: str, said: str) -> None:
    """A zero is suggested only if it can be used and nothing is known to be wrong.

    Otherwise it would scale in for ever.
    """
    assert [line.split(maxsplit=1)[1] for line in live.splitlines() if line.startswith(f"  {name} ")] == [said]


@pytest.mark.parametrize(
    ("name", "status", "url"), [("page", "404", "PAGE"), ("exporter", "200 with 15 bytes of text/plain", "EXPORTER")]
)
def test_a_server_that_is_not_a_prometheus_is_named_with_its_address(
    live: str, name: str, status: str, url: str
) -> None:
    """The port is that of the daemon's own page, whose answers are similar, or of a scrape target."""
    (line,) = [line for line in live.splitlines() if line.startswith(f"  {name} ")]
    assert f" prometheus '{name}' answered HTTP {status}" in line
    assert line.endswith(f"; check its url ({url})")


def test_samples_that_match_no_instance_are_shown_beside_an_instance(live: str) -> None:
    """Operators need both to see which of them to change."""
    (line,) = [line for line in live.splitlines() if line.startswith("  mismatch ")]
    assert 'the samples have instance="app-web-1", instance="app-web-2", but web-1 is known as ' in line
    assert "127.0.0.1:" in line.partition("is known as")[2]  # its process id may precede
    assert line.endswith(", and a new instance has no sample until Prometheus has scraped it")


def test_a_command_that_does_not_exist_is_named(live: str) -> None:
    """The daemon need not run."""
    assert "pool 'other' could not start a worker: /opt/web/srever does not exist; correct the command\n" in live


def test_an_aggregated_query_is_an_error_without_a_server(service: Service, tmp_path: Path) -> None:
    """The text of the query suffices."""
    values = {"python": sys.executable, "folder": tmp_path, "ports": free_ports(4)}
    document = yaml.safe_load(GOOD.format(prometheus=service.prometheus.url, **values))
    document["autoscalers"][0]["metrics"] = [metric("aggregated", "sum(web_requests_in_flight)")]
    config = tmp_path / "autoscaler.yaml"
    config.write_text(yaml.safe_dump(document))
    code, out = check(service, config)
    assert code == 1
    said = f": autoscalers[0].metrics[0].pods.query.expr: {AGGREGATED}{REMEDY}"
    assert any(line.endswith(said) for line in out.splitlines())


MISTAKES: Final = {
    "command": ({"command": ["/opt/web/srever", "{port}"]}, "web_requests_in_flight", "/opt/web/srever"),
    "crash-loop": (
        {"command": ["sh", "-c", "echo no module named flask; exit 3"]},
        "web_requests_in_flight",
        "ended with exit code 3, ",
    ),
    "last-line": (
        {"command": ["sh", "-c", "echo no module named flask; exit 3"]},
        "web_requests_in_flight",
        ", the last line: no module named flask",
    ),
    "folder": (
        {"targetsFile": "none/targets.json"},
        "web_requests_in_flight",
        "Prometheus does not find the workers: targetsFile ",
    ),
    "aggregated": (
        {},
        "sum(vector(1))",
        "the query aggregates the instance label away, as {}; write sum by (instance) (…), or use a metric of type",
    ),
    "name": (
        {},
        "web_requests_inflight",
        "scraped it; if this stays, `autoscaler check --live` says what Prometheus has of its series",
    ),
}
"""Autoscaler -> the mistake in its pool, in its query, and the words of `describe`."""


@pytest.fixture(scope="module")
def mistaken(service: Service, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningDaemon]:
    """Run a daemon with mistakes, each in its own autoscaler."""
    folder = tmp_path_factory.mktemp("mistaken")
    (folder / "worker.py").write_text(WORKER)
    values = {"python": sys.executable, "folder": folder, "ports": free_ports(40)}  # the pools share it
    document = yaml.safe_load(GOOD.format(prometheus=service.prometheus.url, **values))
    (pool,), (scaler,) = document["adapters"]["local"]["pools"].values(), document["autoscalers"]
    pools, scalers = {}, []
    for name, (changes, expr, _) in MISTAKES.items():
        pools[name] = pool | {"targetsFile": f"{name}.json"} | changes
        mine = copy.deepcopy(scaler) | {"name": name, "scaleTargetRef": {"adapter": "local", "name": name}}
        mine["metrics"][0]["pods"]["query"]["expr"] = expr
        scalers.append(mine)
    document["adapters"]["local"]["pools"], document["autoscalers"] = pools, scalers
    config = folder / "autoscaler.yaml"
    config.write_text(yaml.safe_dump(document))
    with running_daemon(config) as daemon:
        try:
            yield daemon
        finally:
            end_workers(folder)


@pytest.mark.parametrize("name", MISTAKES)
def test_describe_names_the_mistake(service: Service, mistaken: RunningDaemon, name: str) -> None:
    """It does so in the first cycles, and without the daemon's log."""
    words = [sys.executable, "-m", "autoscaler", "describe", name, "--server", mistaken.url]
    said = MISTAKES[name][2]
    mistaken.until(lambda: said in " ".join(finished(words, service.state).stdout.split()), said)
