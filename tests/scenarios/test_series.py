"""A real Prometheus evaluates the queries of a test over the test's series."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from tests.scenarios.building import Project, per_instance, web
from tools.prometheus import prometheus_binaries

DOCUMENTATION = Path(__file__).parents[2] / "docs/testing.md"
COUNTER = 'jobs_total{queue="a"}'


def queue(expr: str) -> dict[str, Any]:
    """The autoscaler with another query."""
    scaler = web()
    scaler["metrics"][0]["external"]["query"]["expr"] = expr
    return scaler


@pytest.fixture
def _prometheus(monkeypatch: pytest.MonkeyPatch) -> None:
    folder = prometheus_binaries().prometheus.parent
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")


@pytest.mark.slow
@pytest.mark.usefixtures("_prometheus")
class TestWithPrometheus:
    def test_a_rate_is_evaluated(self, project: Project) -> None:
        """40 jobs a second from minute 10 on: the rate of five minutes is complete at minute 15."""
        project.configure(queue("sum(rate(jobs_total[5m]))"))
        project.passes(
            {"at": "9m", "size": 2},
            {"never": "size > 2", "to": "10m"},
            {"at": "16m", "size": 4},
            {"never": "size > 4"},
            subject={"values": {}, "replicas": 2},
            series={COUNTER: "0+1200x10 14400+2400x10"},
        )

    def test_the_example_of_the_documentation_passes(self, project: Project) -> None:
        project.configure(queue("sum(rate(http_requests_total[5m]))"))
        (block,) = re.findall(r"```yaml\n(tests:\n.+? series:.+?)```", DOCUMENTATION.read_text(), re.DOTALL)
        project.tests.write_text(f"config: autoscaler.yaml\n{block}")
        code, text = project.run()
        assert code == 0, text

    def test_samples_join_the_instances(self, project: Project) -> None:
        project.configure(per_instance())
        series = {f'l{{instance="web-{number}"}}': str(5 * number) for number in (1, 2, 3)}
        subject = {"values": {}, "replicas": 3}
        assert "got size 3" in project.fails({"at": "1m", "size": 2}, subject=subject, series=series)

    def test_similar_queries_are_merged_as_the_daemon_merges_them(self, project: Project) -> None:
        """Each autoscaler gets its own answer."""
        other = queue('sum(q{queue="b"})') | {"name": "other", "scaleTargetRef": {"adapter": "trial", "name": "other"}}
        project.configure(queue('sum(q{queue="a"})'), other)
        project.write(
            autoscalers={
                "web": {"expect": [{"at": "1m", "size": 3}]},
                "other": {"expect": [{"at": "1m", "size": 7}]},
            },
            series={'q{queue="a"}': "30", 'q{queue="b"}': "70"},
        )
        code, text = project.run()
        assert code == 0, text

    def test_an_outage_fails_the_metric(self, project: Project) -> None:
        project.passes(
            {"at": "2m", "reason": "FailedGetExternalMetric"},
            {"always": "size = 2"},
            subject={"values": {}, "replicas": 2},
            series={"q": "20"},
            events=[{"at": "1m", "outage": "prometheus.default", "for": "5m"}],
        )

    def test_the_error_of_prometheus_is_in_the_explanation(self, project: Project) -> None:
        project.configure(queue("q * on (queue) group_left r"))
        project.write(
            {"at": "1m", "size": 4},
            subject={"values": {}},
            series={'q{queue="a"}': "1", 'r{queue="a",x="1"}': "1", 'r{queue="a",x="2"}': "1"},
        )
        code, text = project.run()
        assert code == 1
        assert "found duplicate series" in text

    def test_a_command_that_is_terminated_ends_its_prometheus(self, project: Project, tmp_path: Path) -> None:
        project.write({"always": "size >= 1"}, subject={"values": {}}, series={"q": "20"}, duration="2d", tick="5s")
        words = [sys.executable, "-X", "faulthandler", "-m", "autoscaler", "test", str(project.tests)]
        environment, said = os.environ | {"TMPDIR": str(tmp_path)}, tmp_path / "stderr"
        with said.open("wb") as err, subprocess.Popen(words, env=environment, stdout=err, stderr=err) as command:
            try:
                end = time.monotonic() + 120
                while not any(tmp_path.glob("autoscaler-test-*/data/queries.active")):
                    assert command.poll() is None, f"the command ended before its Prometheus ran: {said.read_text()}"
                    assert time.monotonic() < end, "its Prometheus did not start"
                    time.sleep(0.05)
                command.send_signal(signal.SIGTERM)
                assert command.wait(60) == 128 + signal.SIGTERM
            finally:
                command.send_signal(signal.SIGABRT)  # one that hangs says where
                command.wait()
                sys.stdout.write(said.read_text())
        left = [each / "cmdline" for each in Path("/proc").iterdir() if each.name.isdecimal()]
        assert not any(str(tmp_path).encode() in _read(file) for file in left)
        assert list(tmp_path.glob("autoscaler-test-*")) == []


@pytest.mark.slow
def test_a_signal_that_arrives_in_a_finalizer_ends_the_command() -> None:
    """Python prints an exception in a finalizer, and goes on."""
    code = """
        import os, signal, weakref
        from autoscaler.scenarios import prometheus

        class Closed: ...

        for number in (signal.SIGTERM, signal.SIGVTALRM):
            signal.signal(number, prometheus._exit)
        weakref.finalize(Closed(), os.kill, os.getpid(), signal.SIGTERM)
        while True: ...
    """
    done = subprocess.run([sys.executable, "-c", dedent(code)], capture_output=True, text=True, check=False)
    assert "Exception ignored" in done.stderr
    assert done.returncode == 128 + signal.SIGTERM


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError:  # the process has ended
        return b""


def test_without_prometheus_the_file_says_what_to_install(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    said = project.refuses({"at": "1m", "size": 2}, subject={"values": {}}, series={"q": "20"})
    assert said.endswith(
        "tests.yaml:1:41: the test has `series`, and promtool is not on PATH; install Prometheus, which has both, "
        "or answer the metrics by `values` or `load`"
    )


@pytest.mark.parametrize(
    ("series", "message"),
    [
        ({"{queue='a'}": "1"}, "\"{queue='a'}\" names no metric; write it as in 'up{"),
        ({"rate(q[5m])": "1"}, "'rate(q[5m])' is not a series"),
        ({"q{a='1',b='2'}": "1", "q{b='2',a='1'}": "1"}, "the test has this series twice; remove one of them"),
        ({"q": "1 two"}, "'two' is not a value; write it as promtool does"),
    ],
)
def test_a_series_that_is_wrong_is_refused(project: Project, series: dict[str, str], message: str) -> None:
    assert message in project.refuses({"at": "1m", "size": 2}, subject={"values": {}}, series=series)


def test_values_load_and_queries_are_refused_beside_series(project: Project) -> None:
    queries = [{"expr": "q", "values": 5}]
    said = project.refuses({"at": "1m", "size": 2}, series={"q": "20"}, queries=queries)
    rule = "the test has `series`, over which Prometheus evaluates every query; remove one of the two"
    assert [line.partition(": ")[2] for line in said.splitlines()] == [
        f"tests[0].autoscalers.web.values: {rule}",
        f"tests[0].queries: {rule}",
    ]


def test_too_many_samples_are_refused(project: Project) -> None:
    series = {f'q{{queue="{number}"}}': "1" for number in range(200)}
    said = project.refuses({"at": "4d", "size": 2}, subject={"values": {}}, series=series)
    assert "they have 1,152,200 samples; 1,000,000 are possible; write a longer `interval`" in said
