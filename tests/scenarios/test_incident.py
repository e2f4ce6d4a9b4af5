"""An incident of a real daemon becomes a test."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from autoscaler.cli.app import app
from tests.daemon.running import autoscaler, running_daemon, write_config
from tests.servers.ports import free_port
from tests.servers.prometheus import running_prometheus

pytestmark = pytest.mark.slow


def said(*words: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, ["test", *words], prog_name="autoscaler")
    return done.exit_code, done.output


def test_an_outage_of_a_real_prometheus_becomes_a_test_that_passes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its recorded sizes are what the same configuration comes to again."""
    port = free_port()
    scaler = autoscaler("web", "vector(4)", adapter="trial")
    groups = {"trial": {"type": "memory", "groups": {"web": {}}}}
    config = write_config(tmp_path, f"http://127.0.0.1:{port}", [scaler], groups)
    server = tmp_path / "prometheus"
    server.mkdir()
    with running_daemon(config) as daemon:
        with running_prometheus(server, port=port):
            daemon.wait_for("decision", written=4)
        line = daemon.wait_for("decision", count=3, reason="FailedGetExternalMetric")
        assert daemon.stop() == 0
    monkeypatch.setenv("STATE_DIRECTORY", str(tmp_path / "state"))
    code, text = said("--init", "web", "--at", line["timestamp"], "--config.file", str(config))
    assert code == 0
    assert "size: 4}\n" in text
    assert "_" in text
    tests = tmp_path / "tests.yaml"
    tests.write_text(text)
    code, text = said(str(tests))
    assert code == 0, text
