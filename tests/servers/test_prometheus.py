"""The servers that other tests lean on."""

import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.servers.exporter import running_exporter
from tests.servers.prometheus import openmetrics, running_prometheus, static
from tools import prometheus as tool

pytestmark = pytest.mark.slow


def test_a_real_prometheus_scrapes_the_values_that_a_test_sets(tmp_path: Path) -> None:
    """Every end-to-end test rests on this: a value set here is a value PromQL sees."""
    with (
        running_exporter({'load{worker="a"}': 3.5}) as exporter,
        running_prometheus(tmp_path, [static("demo", exporter.address)]) as server,
    ):
        assert server.wait_for("load == 3.5")[0]["metric"]["worker"] == "a"
        exporter.values['load{worker="a"}'] = 7.0
        assert server.wait_for("load == 7")


def test_history_can_be_made(tmp_path: Path) -> None:
    """Tests at a given `now` need samples of that time, not of today."""
    at = datetime(2025, 6, 1, 12, tzinfo=UTC)
    history = openmetrics({'load{worker="a"}': [(at, 1.0), (at + timedelta(seconds=60), 2.0)]})
    with running_prometheus(tmp_path, history=history) as server:
        assert server.query("load", at + timedelta(seconds=61))[0]["value"][1] == "2"


def test_without_a_package_manager_a_sentence_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever clones the project elsewhere must not be left with a traceback."""
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(tool.PrometheusNotFound, match="install Prometheus"):
        tool.prometheus_binaries(tmp_path / "cache")


def test_a_failed_download_says_why_and_leaves_nothing_half_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next try must start clean."""
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in ("apt-get", "dpkg"):
        (tools / name).write_text("#!/bin/sh\necho 'E: no network' >&2\nexit 100\n")
        (tools / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:/bin")
    with pytest.raises(tool.PrometheusNotFound, match="E: no network"):
        tool.prometheus_binaries(tmp_path / "cache")
    assert [path.name for path in (tmp_path / "cache").iterdir()] == ["lock"]


def test_binaries_on_path_are_preferred(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An operator's own release is what the demo should run."""
    for name in ("prometheus", "promtool"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert tool.prometheus_binaries(tmp_path / "cache") == tool.Binaries(tmp_path / "prometheus", tmp_path / "promtool")
    assert not (tmp_path / "cache").exists()


def test_the_found_binaries_run() -> None:
    """What is found is a Prometheus, not only a file of that name."""
    binaries = tool.prometheus_binaries()
    for program in (binaries.prometheus, binaries.promtool):
        assert b"version" in subprocess.run([program, "--version"], check=True, capture_output=True).stdout
