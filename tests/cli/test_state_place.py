"""Which state a command is about: `state.url`, $STATE_DIRECTORY, then the one default that exists."""

from collections.abc import Sequence
from errno import EACCES
from pathlib import Path

import pytest

from autoscaler import service
from autoscaler.cli import find_daemon
from autoscaler.errors import StateError
from autoscaler.record.housekeeping import Retention
from autoscaler.record.state import State
from tests.cli.scene import Scene


@pytest.fixture
def defaults(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """Return the service's folder and this user's; neither exists."""
    monkeypatch.delenv("STATE_DIRECTORY", raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(service, "STATE_FOLDER", tmp_path / "service")
    return tmp_path / "service", tmp_path / "home" / "autoscaler"


@pytest.mark.parametrize(
    ("exist", "hold", "expected"),
    [
        ((), (), "home/autoscaler"),
        (("service",), (), "service"),
        (("home/autoscaler",), (), "home/autoscaler"),
        (("service",), ("service",), "service"),
        (("service", "home/autoscaler"), ("service",), "service"),
        (("service", "home/autoscaler"), ("home/autoscaler",), "home/autoscaler"),
    ],
)
def test_the_default_that_holds_a_state_is_used(
    tmp_path: Path, defaults: tuple[Path, Path], exist: Sequence[str], hold: Sequence[str], expected: str
) -> None:
    """A shell lacks the service's $STATE_DIRECTORY, and its commands must find the service's state nevertheless."""
    for each in exist:
        (tmp_path / each).mkdir(parents=True)
    for each in hold:
        (tmp_path / each / "state.db").touch()
    assert find_daemon.daemons_folder() == tmp_path / expected


@pytest.mark.parametrize("hold", [True, False])
def test_two_defaults_are_an_error_that_names_both(defaults: tuple[Path, Path], hold: bool) -> None:
    """Somebody once ran the daemon by hand, and every later backup was of that state."""
    for folder in defaults:
        folder.mkdir(parents=True)
        if hold:
            (folder / "state.db").touch()
    with pytest.raises(StateError) as caught:
        find_daemon.daemons_folder()
    assert all(str(folder) in str(caught.value) for folder in defaults)
    assert "STATE_DIRECTORY=" in str(caught.value)
    assert "state.url" in str(caught.value)


def test_a_folder_that_may_not_be_looked_into_may_hold_a_state(
    defaults: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only root may enter /var/lib/private, where systemd keeps the folder of a dynamic user."""
    service, own = defaults
    own.mkdir(parents=True)
    (own / "state.db").touch()
    stat = Path.stat

    def closed(path: Path, *, follow_symlinks: bool = True) -> object:
        if path.is_relative_to(service):
            raise PermissionError(13, "Permission denied")
        return stat(path, follow_symlinks=follow_symlinks)

    monkeypatch.setattr(Path, "stat", closed)
    with pytest.raises(StateError, match="two state folders exist"):
        find_daemon.daemons_folder()


def test_the_given_folder_and_the_configured_state_go_first(
    defaults: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Then it does not matter that both defaults exist."""
    for folder in defaults:
        folder.mkdir(parents=True)
    config = tmp_path / "autoscaler.yaml"
    config.write_text(
        f"state: {{url: 'sqlite:///{tmp_path}/named.db'}}\n"
        "adapters: {fleet: {type: memory, groups: {web: {}}}}\nautoscalers: []\n"
    )
    assert find_daemon.state_place(config)[0] == f"sqlite:///{tmp_path}/named.db"
    monkeypatch.setenv("STATE_DIRECTORY", str(tmp_path / "given"))
    assert find_daemon.daemons_folder() == tmp_path / "given"


@pytest.mark.parametrize(
    "command",
    [
        ("backup", "new.db"),
        ("restore", "autoscaler.yaml"),
        ("forget", "web"),
        ("get",),
        ("describe", "web"),
        ("explain", "web"),
        ("events",),
        ("history", "web"),
        ("status",),
        ("check", "--live", "autoscaler.yaml"),
    ],
    ids=lambda words: words[0],
)
def test_no_command_chooses_one_of_two_states(
    offline: Scene, defaults: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: Sequence[str]
) -> None:
    """Each says which folders exist; none reads, writes or backs up the wrong one."""
    for folder in defaults:
        State.open(None, folder, Retention()).close()
    monkeypatch.chdir(tmp_path)
    Path("autoscaler.yaml").write_text("adapters: {fleet: {type: memory, groups: {web: {}}}}\nautoscalers: []\n")
    monkeypatch.setattr(service, "CONFIG", tmp_path / "absent.yaml")
    scene = Scene(offline.folder, offline.state, offline.web, offline.jobs, offline.daemon, {})
    said = scene.run(*command, AUTOSCALER_SERVER=offline.env["AUTOSCALER_SERVER"])
    assert said.code == 1
    assert all(str(folder) in said.err for folder in defaults)
    assert not Path("new.db").exists()


@pytest.mark.parametrize("command", [("get",), ("status",), ("explain", "web")], ids=lambda words: words[0])
def test_a_configuration_that_the_user_may_not_look_for_is_named(
    offline: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: Sequence[str]
) -> None:
    """Its folder may be an administrator's alone, and root, who runs the tests, may enter every folder."""
    file, exists = tmp_path / "autoscaler.yaml", Path.exists

    def forbidden(path: Path) -> bool:  # as of Python 3.11
        if path == file:
            raise PermissionError(EACCES, "Permission denied", str(path))
        return exists(path)

    monkeypatch.setattr(service, "CONFIG", file)
    monkeypatch.setattr(Path, "exists", forbidden)
    scene = Scene(offline.folder, offline.state, offline.web, offline.jobs, offline.daemon, {})
    said = scene.run(*command, AUTOSCALER_SERVER=offline.env["AUTOSCALER_SERVER"])
    assert said.code == 1
    assert f"{file}:1:1: the file cannot be read" in said.err
