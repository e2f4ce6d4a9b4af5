"""The servers of other tests."""

from pathlib import Path

import pytest

from tools import prometheus as tool

pytestmark = pytest.mark.slow


def test_without_a_package_manager_an_error_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Users on other systems must not get a traceback."""
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(tool.PrometheusNotFound, match="install Prometheus"):
        tool.prometheus_binaries(tmp_path / "cache")


def test_a_failed_download_names_the_cause_and_leaves_no_partial_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next attempt must begin anew."""
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
    """The demo should run an operator's own release."""
    for name in ("prometheus", "promtool"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert tool.prometheus_binaries(tmp_path / "cache") == tool.Binaries(tmp_path / "prometheus", tmp_path / "promtool")
    assert not (tmp_path / "cache").exists()
