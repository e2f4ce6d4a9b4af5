"""A shell does not have the service's $STATE_DIRECTORY, and its commands find the service's state all the same."""

from pathlib import Path

import pytest

from autoscaler.cli.source import daemons_folder


@pytest.fixture
def service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The service's folder; the shell has none of its own yet."""
    monkeypatch.delenv("STATE_DIRECTORY", raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "home"))
    folder = tmp_path / "service"
    folder.mkdir()
    return folder


def test_a_shell_without_a_state_finds_the_services(service: Path) -> None:
    assert daemons_folder(service) == service


def test_a_shells_own_state_comes_first(service: Path, tmp_path: Path) -> None:
    own = tmp_path / "home" / "autoscaler"
    own.mkdir(parents=True)
    assert daemons_folder(service) == own


def test_a_folder_that_is_given_comes_before_both(service: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STATE_DIRECTORY", "/srv/state")
    assert daemons_folder(service) == Path("/srv/state")


def test_without_a_service_it_is_the_shells_own(service: Path, tmp_path: Path) -> None:
    service.rmdir()
    assert daemons_folder(service) == tmp_path / "home" / "autoscaler"
