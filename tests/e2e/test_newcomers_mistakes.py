"""The ten mistakes of somebody who is new: `check`, `check --live` and `describe` name the cause and the remedy.

One Prometheus and one daemon with two workers run all the time; each mistake is one edit of a file that is right.
"""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from tests.adapters.process.harness import free_ports
from tests.daemon.running import RunningDaemon, finished, running_daemon, workers
from tests.servers.exporter import running_exporter
from tests.servers.ports import free_port
from tests.servers.prometheus import PrometheusServer, file_sd, running_prometheus

pytestmark = pytest.mark.slow

WORKER: Final = """
import http.server, sys, time

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = f"web_requests_in_flight 10\\nweb_requests_total {int(time.monotonic())}\\n".encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        pass

http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""

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
    """What runs, and the file that is right."""

    good: str
    state: Path
    prometheus: PrometheusServer
    daemon: str
    """URL of its page."""


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """Two workers that are scraped each second, and an autoscaler that has read them."""
    folder = tmp_path_factory.mktemp("service")
    folder.chmod(0o711)
    (folder / "worker.py").write_text(WORKER)
    with running_prometheus(folder, [file_sd("web", folder / "targets.json")]) as prometheus:
        good = GOOD.format(prometheus=prometheus.url, python=sys.executable, folder=folder, ports=free_ports(8))
        config = folder / "autoscaler.yaml"
        config.write_text(good)
        with running_daemon(config) as daemon:
            try:
                daemon.wait_for("decision", reason="ReadyForNewScale", current=2)
                yield Service(good, folder / "state", prometheus, page(daemon))
                daemon.stop()
            finally:
                end_workers(folder)


def page(daemon: RunningDaemon) -> str:
    url: str = daemon.wait_for("listening")["url"]
    return url


def end_workers(folder: Path) -> None:
    """They outlive their daemon."""
    for pid in workers(folder):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def edited(service: Service, folder: Path, old: str, new: str) -> Path:
    """The file with a mistake."""
    assert old in service.good
    config = folder / "autoscaler.yaml"
    config.write_text(service.good.replace(old, new))
    return config


def check(service: Service, config: Path, *options: str) -> tuple[int, str]:
    """Exit code and output of `autoscaler check`, where the service's daemon runs."""
    done = finished([sys.executable, "-m", "autoscaler", "check", *options, str(config)], service.state)
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, done.stdout


def test_the_file_without_a_mistake_is_fine(service: Service, tmp_path: Path) -> None:
    """Else every test that follows would show nothing."""
    code, out = check(service, edited(service, tmp_path, "name: web", "name: web"), "--live")
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
def test_what_is_wrong_in_the_file_is_said_with_its_place(
    service: Service, tmp_path: Path, old: str, new: str, line: int, said: str
) -> None:
    """Without any server: in an editor, or before the file is installed."""
    config = edited(service, tmp_path, old, new)
    code, out = check(service, config)
    assert code == 1
    (problem,) = [each for each in out.splitlines() if each.startswith(f"{config}:{line}:")]
    assert said in problem


_TOO_SHORT: Final = "which is shorter than two scrape intervals of 1s; write at least [4s], four of them"


@pytest.mark.parametrize(
    ("expr", "said"),
    [
        ("web_requests_inflight", "no series web_requests_inflight; did you mean web_requests_in_flight?"),
        (
            "web_requests_in_flight{job='wbe'}",
            'no series web_requests_in_flight has job="wbe"; did you mean "web"?',
        ),
        ("nothing_like_it", "no series nothing_like_it; of the targets that may have it 2 of 2 are up"),
        (
            "rate(web_requests_total[1s])",
            f"rate() needs two samples within its range [1s], {_TOO_SHORT}",
        ),
        ("web_requests_in_flight > 1000", "its selectors have series, and the expression leaves none of them"),
    ],
    ids=["name", "label", "nothing like it", "range", "all filtered"],
)
def test_a_query_without_samples_is_told_with_its_cause(service: Service, tmp_path: Path, expr: str, said: str) -> None:
    """A zero is not offered: with a Pods metric it would belong to no instance."""
    config = edited(service, tmp_path, "{expr: web_requests_in_flight}", f'{{expr: "{expr}"}}')
    code, out = check(service, config, "--live")
    assert code == 1
    assert f"  inflight  the query returned no sample: {said}\n" in out
    assert "vector(0)" not in out


def test_samples_that_match_no_instance_are_shown_beside_an_instance(service: Service, tmp_path: Path) -> None:
    """Both sides are needed to see which of them to change."""
    expr = "label_replace(web_requests_in_flight, 'instance', 'app-$1', 'worker', '(.*)')"
    config = edited(service, tmp_path, "{expr: web_requests_in_flight}", f'{{expr: "{expr}"}}')
    code, out = check(service, config, "--live")
    assert code == 1
    (said,) = [each for each in out.splitlines() if each.startswith("  inflight  ")]
    assert 'the samples have instance="app-web-1", instance="app-web-2", but web-1 is known as 127.0.0.1:' in said
    assert "name that label by `instanceLabel`" in said


def test_an_aggregated_query_is_warned_of_without_a_server_and_fails_with_one(service: Service, tmp_path: Path) -> None:
    """In one sentence, with both remedies."""
    config = edited(service, tmp_path, "expr: web_requests_in_flight", "expr: sum(web_requests_in_flight)")
    sentence = "the query aggregates the instance label away"
    remedy = "; write sum by (instance) (…), or use a metric of type External"
    code, out = check(service, config)
    assert code == 0
    assert f"{config}:22:25: warning: autoscalers[0].metrics[0].pods.query.expr: {sentence}{remedy}\n" in out
    code, out = check(service, config, "--live")
    assert code == 1
    assert f"  inflight  {sentence}, as {{}}{remedy}\n" in out


@pytest.mark.parametrize("there", ["nothing", "our own page", "an exporter"])
def test_a_wrong_address_of_prometheus_is_named(service: Service, tmp_path: Path, there: str) -> None:
    """Nobody, ourselves, or something that is scraped: the message has the address that was asked."""
    with running_exporter({"node_load1": 1.0}) as exporter:
        url = {"nothing": f"http://127.0.0.1:{free_port()}", "our own page": service.daemon}.get(there, exporter.url)
        code, out = check(service, edited(service, tmp_path, service.prometheus.url, url), "--live")
    said = {
        "nothing": "cannot be asked: Connection refused; start it, or correct its url",
        "our own page": "answered HTTP 404 with ",
    }.get(there, "answered HTTP 200 with 15 bytes of text/plain; version=0.0.4, not with a result; check its url")
    assert code == 1
    assert f"  inflight  prometheus 'default' {said}" in out
    assert f"url ({url})\n" in out


def test_a_command_that_does_not_exist_is_named(service: Service, tmp_path: Path) -> None:
    """Before the daemon runs."""
    config = edited(service, tmp_path, f"command: [{sys.executable},", "command: [/opt/web/srever,")
    code, out = check(service, config, "--live")
    assert code == 1
    assert "pool 'web' could not start a worker: /opt/web/srever does not exist; correct the command\n" in out


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("command: [{python},", "command: [/opt/web/srever,", "/opt/web/srever"),
        (
            'command: [{python}, "{folder}/worker.py", "{{port}}"]',
            "command: [sh, -c, 'echo no module named flask; exit 3']",
            "ended with exit code 3",
        ),
        (
            "{folder}/targets.json",
            "{folder}/none/targets.json",
            "Prometheus does not learn of the workers: targetsFile",
        ),
        (
            "{{expr: web_requests_in_flight}}",
            "{{expr: sum(vector(1))}}",
            "the query aggregates the instance label away, as {}; write sum by (instance) (…), or use a metric of type",
        ),
        (
            "{{expr: web_requests_in_flight}}",
            "{{expr: web_requests_inflight}}",
            "the query returned no sample; `autoscaler check --live` says what Prometheus has of its series",
        ),
    ],
    ids=["command", "crash loop", "folder", "aggregated", "name"],
)
def test_describe_says_what_is_wrong(service: Service, tmp_path: Path, old: str, new: str, said: str) -> None:
    """Of a daemon that was started with the mistake: within its first cycles, and without its log."""
    tmp_path.chmod(0o711)
    (tmp_path / "worker.py").write_text(WORKER)
    values = {"python": sys.executable, "folder": tmp_path, "ports": free_ports(8)}
    text = GOOD.format(prometheus=service.prometheus.url, **values)
    mistaken = text.replace(old.format(**values), new.format(**values))
    assert mistaken != text
    config = tmp_path / "autoscaler.yaml"
    config.write_text(mistaken)
    with running_daemon(config) as daemon:
        try:
            words = [sys.executable, "-m", "autoscaler", "describe", "web", "--server", page(daemon)]
            daemon.until(lambda: said in " ".join(finished(words, service.state).stdout.split()), said)
        finally:
            end_workers(tmp_path)
