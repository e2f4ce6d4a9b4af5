"""A shell lacks the service's $STATE_DIRECTORY, and its commands must find the service's state nevertheless."""

from pathlib import Path

import pytest

from autoscaler.cli.source import daemons_folder


@pytest.fixture
def service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The service's folder; the shell has no state folder yet."""
    monkeypatch.delenv("STATE_DIRECTORY", raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "home"))
    folder = tmp_path / "service"
    folder.mkdir()
    return folder


def test_a_shell_without_a_state_uses_the_services(service: Path) -> None:
    assert daemons_folder(service) == service


def test_a_shells_own_state_takes_precedence(service: Path, tmp_path: Path) -> None:
    own = tmp_path / "home" / "autoscaler"
    own.mkdir(parents=True)
    assert daemons_folder(service) == own


def test_state_directory_takes_precedence_over_both(service: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STATE_DIRECTORY", "/srv/state")
    assert daemons_folder(service) == Path("/srv/state")


def test_without_a_service_the_shells_own_folder_is_used(service: Path, tmp_path: Path) -> None:
    service.rmdir()
    assert daemons_folder(service) == tmp_path / "home" / "autoscaler"
