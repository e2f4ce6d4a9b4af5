"""A Debian 12 with systemd as its init, in a container, with the project's wheel installed as docs/running.md says."""

import fcntl
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tests.servers.required import require

PROJECT: Final = Path(__file__).parents[2]
_CACHE: Final = PROJECT / ".cache" / "systemd"
_PATIENCE_SECONDS: Final = 120.0
_VENV: Final = "/opt/autoscaler"


class Machine:
    """`root` is its file system; `run` runs a command in it."""

    def __init__(self, root: Path, init: int) -> None:
        self.root = root
        self._init = str(init)

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        enter = ("nsenter", "-t", self._init, "-m", "-p", "-u", "-i", "--")
        return subprocess.run((*enter, *words), check=False, capture_output=True, text=True, timeout=_PATIENCE_SECONDS)

    def show(self, *properties: str) -> list[str]:
        """The service's properties, in the order asked for."""
        shown = self.run("systemctl", "show", "autoscaler", *(f"--property={name}" for name in properties)).stdout
        values = dict(line.split("=", 1) for line in shown.splitlines())
        return [values[name] for name in properties]

    def journal(self) -> str:
        return self.run("journalctl", "--unit=autoscaler", "--output=cat", "--no-pager").stdout

    def until(self, true: Callable[[], bool], what: str) -> None:
        end = time.monotonic() + _PATIENCE_SECONDS
        while not true():
            assert time.monotonic() < end, f"{what}: did not come\n{self.journal()[-4000:]}"
            time.sleep(0.2)

    def configure(self, text: str) -> None:
        (self.root / "etc/autoscaler").mkdir(exist_ok=True)
        (self.root / "etc/autoscaler/autoscaler.yaml").write_text(text)

    def drop_in(self, name: str, text: str) -> None:
        folder = self.root / "etc/systemd/system/autoscaler.service.d"
        folder.mkdir(exist_ok=True)
        (folder / name).write_text(text)
        self.run("systemctl", "daemon-reload")

    def reset(self) -> None:
        """No service, no drop-in, no memory of failures."""
        self.run("systemctl", "kill", "--kill-whom=all", "--signal=KILL", "autoscaler")
        self.run("systemctl", "stop", "autoscaler")
        shutil.rmtree(self.root / "etc/systemd/system/autoscaler.service.d", ignore_errors=True)
        self.run("systemctl", "daemon-reload")
        self.run("systemctl", "reset-failed")


@contextmanager
def booted(folder: Path) -> Iterator[Machine]:
    """A machine of its own in `folder`, running."""
    if os.geteuid() != 0:
        require("a container with systemd needs root")
    for program in ("mmdebstrap", "systemd-nspawn", "nsenter"):
        if shutil.which(program) is None:
            require(f"{program} is not installed; install mmdebstrap and systemd-container")
    root = folder / "root"
    _check("cp", "-a", "--reflink=auto", str(_debian()), str(root))
    _install(root, folder)
    boot = ("systemd-nspawn", "--quiet", "--boot", f"--directory={root}", "--register=no", "--keep-unit")
    with (folder / "console.log").open("wb") as console:
        container = subprocess.Popen(
            (*boot, f"--machine=autoscaler-test-{os.getpid()}"),
            stdin=subprocess.DEVNULL, stdout=console, stderr=console, start_new_session=True,
        )  # fmt: skip
        try:
            machine = Machine(root, _init_of(container))
            machine.until(lambda: machine.run("systemctl", "is-system-running").stdout == "running\n", "the boot")
            yield machine
        finally:
            container.terminate()
            container.wait(_PATIENCE_SECONDS)


def _debian() -> Path:
    """A minimal Debian with systemd, made once; when several want it at once, the others wait for it."""
    made = _CACHE / "bookworm"
    _CACHE.mkdir(parents=True, exist_ok=True)
    with (_CACHE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.exists():
            fresh = _CACHE / f"bookworm-{os.getpid()}"
            packages = "systemd,dbus,python3,python3-venv"
            _check("mmdebstrap", "--variant=minbase", f"--include={packages}", "bookworm", str(fresh))
            fresh.rename(made)
    return made


def _install(root: Path, folder: Path) -> None:
    """The wheel and all that it needs, built here, installed there without a network."""
    source = folder / "source"  # a copy: setuptools leaves a build folder where it builds
    source.mkdir()
    for part in ("autoscaler", "adapters", "pyproject.toml", "README.md", "LICENSE"):
        _check("cp", "-r", str(PROJECT / part), str(source))
    wheel = (sys.executable, "-m", "pip", "wheel", "--quiet", "--no-build-isolation", f"--wheel-dir={root}/wheels")
    _check(*wheel, str(source))
    _check("chroot", str(root), "python3", "-m", "venv", _VENV)
    pip = f"{_VENV}/bin/pip"
    _check(
        "chroot", str(root), pip, "install", "--quiet", "--no-index", "--find-links=/wheels", "prometheus-autoscaler"
    )
    shutil.copy(PROJECT / "systemd/autoscaler.service", root / "etc/systemd/system")
    _check("chroot", str(root), "useradd", "--system", "--user-group", "autoscaler")


def _init_of(container: subprocess.Popen[bytes]) -> int:
    children = Path(f"/proc/{container.pid}/task/{container.pid}/children")
    end = time.monotonic() + _PATIENCE_SECONDS
    while not (found := children.read_text().split()):
        assert container.poll() is None, "the container ended"
        assert time.monotonic() < end, "the container has no init"
        time.sleep(0.1)
    return int(found[0])


def _check(*words: str) -> None:
    done = subprocess.run(words, check=False, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, f"{' '.join(words)}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
