"""A fresh Debian with systemd as its init, in a container."""

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from tests.packaging.artefacts import PROJECT, checked
from tests.servers.required import require

_CACHE: Final = PROJECT / ".cache" / "systemd"
_PATIENCE_SECONDS: Final = 300.0


class Machine:
    """`root` is its file system; `run` runs a command in it."""

    def __init__(self, root: Path, init: int) -> None:
        self.root = root
        self._init = str(init)

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        command = self.entering(*words)
        return subprocess.run(command, check=False, capture_output=True, text=True, timeout=_PATIENCE_SECONDS)

    def entering(self, *words: str) -> tuple[str, ...]:
        """Return this machine's command that runs `words` in it, where the folder of our temporary files is missing."""
        inside = ("/usr/bin/nsenter", "-t", self._init, "-m", "-p", "-u", "-i", "-n", "--")
        return (*inside, "/usr/bin/env", "--unset=TMPDIR", *words)

    def checked(self, *words: str) -> str:
        """Run a command. Returns its output. Fails the test with the output if the command fails."""
        done = self.run(*words)
        assert done.returncode == 0, (
            f"{' '.join(words)}:\n{done.stdout[-3000:]}{done.stderr[-3000:]}\n{self.journal()[-3000:]}"
        )
        return done.stdout

    def install(self, *packages: str | Path) -> None:
        """Install by apt: Debian's packages by name, and files of this machine."""
        files = [package for package in packages if isinstance(package, Path)]
        for file in files:
            shutil.copy(file, self.root / "srv")  # the machine has its own mount at /tmp
        words = [f"/srv/{package.name}" if isinstance(package, Path) else package for package in packages]
        options = ("--yes", "--quiet", "--no-install-recommends", "--allow-downgrades")
        self.checked("env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "install", *options, *words)

    def show(self, *properties: str) -> list[str]:
        """Return the service's properties, in the given order."""
        shown = self.run("systemctl", "show", "autoscaler", *(f"--property={name}" for name in properties)).stdout
        values = dict(line.split("=", 1) for line in shown.splitlines())
        return [values[name] for name in properties]

    def journal(self) -> str:
        return self.run("journalctl", "--unit=autoscaler", "--output=cat", "--no-pager").stdout

    def until(self, true: Callable[[], bool], what: str) -> None:
        end = time.monotonic() + _PATIENCE_SECONDS
        while not true():
            assert time.monotonic() < end, f"{what}: not in time\n{self.journal()[-4000:]}{self._troubles()}"
            time.sleep(0.2)

    def _troubles(self) -> str:
        """Return systemd's waiting and failed jobs."""
        asked = "systemctl is-system-running; systemctl list-jobs; systemctl --failed"
        done = self.run("sh", "-c", asked)
        return done.stdout + done.stderr

    def configure(self, text: str) -> None:
        (self.root / "etc/autoscaler/autoscaler.yaml").write_text(text)

    def drop_in(self, name: str, text: str) -> None:
        folder = self.root / "etc/systemd/system/autoscaler.service.d"
        folder.mkdir(exist_ok=True)
        (folder / name).write_text(text)
        self.run("systemctl", "daemon-reload")

    def reset(self) -> None:
        """End the service, and remove drop-ins and counts of failures."""
        self.run("systemctl", "kill", "--kill-whom=all", "--signal=KILL", "autoscaler")
        self.run("systemctl", "stop", "autoscaler")
        shutil.rmtree(self.root / "etc/systemd/system/autoscaler.service.d", ignore_errors=True)
        self.run("systemctl", "daemon-reload")
        self.run("systemctl", "reset-failed")


_OWN_CONTROL_GROUP = """
for at in /sys/fs/cgroup /sys/fs/cgroup/unified /sys/fs/cgroup/systemd; do
    if [ -w $at/cgroup.procs ]; then mkdir -p $at/$0 && echo $$ >$at/$0/cgroup.procs; fi
done
exec "$@"
"""
"""Runs a command in its own cgroup.

In a shared one, two machines would have one cgroup of the service, and neither could end it.
"""


@contextmanager
def booted(folder: Path) -> Iterator[Machine]:
    """Boot a machine in `folder`. Its only network is its loopback."""
    if os.geteuid() != 0:
        require("a container with systemd needs root")
    for program in ("mmdebstrap", "systemd-nspawn", "nsenter"):
        if shutil.which(program) is None:
            require(f"{program} is not installed; install mmdebstrap and systemd-container")
    root = folder / "root"
    checked("cp", "-a", "--reflink=auto", _debian(), root)
    name = f"autoscaler-test-{os.getpid()}-{time.monotonic_ns()}"
    boot = ("systemd-nspawn", "--quiet", "--boot", f"--directory={root}", "--register=no", "--keep-unit")
    with (folder / "console.log").open("wb") as console:
        container = subprocess.Popen(
            ("sh", "-c", _OWN_CONTROL_GROUP, name, *boot, "--private-network", f"--machine={name}"),
            stdin=subprocess.DEVNULL, stdout=console, stderr=console, start_new_session=True,
        )  # fmt: skip
        try:
            machine = Machine(root, _init_of(container))
            machine.until(lambda: machine.run("systemctl", "is-system-running").stdout == "running\n", "the boot")
            yield machine
        finally:
            container.terminate()
            container.wait(_PATIENCE_SECONDS)
            groups = Path("/sys/fs/cgroup")
            for group in (groups / name, groups / "unified" / name, groups / "systemd" / name):
                for each, _, _ in os.walk(group, topdown=False):
                    with suppress(OSError):
                        Path(each).rmdir()
            shutil.rmtree(root, ignore_errors=True)  # hundreds of MB without use: the journal is shown


def _debian() -> Path:
    """Return a minimal Debian with systemd. It is built once; other processes wait for it.

    Debian's Prometheus and Ansible are not installed, but their packages are there: apt can install them without a
    network.
    """
    fetch = "apt-get install --yes --no-install-recommends --download-only"
    making = (
        "mmdebstrap", "--variant=minbase", "--include=systemd,dbus,python3", "--skip=cleanup/apt",
        f'--customize-hook=chroot "$1" {fetch} prometheus ansible-core python3-apt',
        # They would wait for a network and delay the boot or the test's own apt.
        '--customize-hook=chroot "$1" systemctl mask apt-daily.timer apt-daily-upgrade.timer',
        _release(),
    )  # fmt: skip
    made = _CACHE / f"debian-{hashlib.sha256(repr(making).encode()).hexdigest()[:8]}"
    _CACHE.mkdir(parents=True, exist_ok=True)
    with (_CACHE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.exists():
            fresh = _CACHE / f"debian-{os.getpid()}"
            checked(*making, fresh)
            fresh.rename(made)
    return made


def _release() -> str:
    """Return this machine's release, for which packages are built here: bookworm."""
    return dict(line.split("=", 1) for line in Path("/etc/os-release").read_text().splitlines())["VERSION_CODENAME"]


def _init_of(container: subprocess.Popen[bytes]) -> int:
    """Return process 1 of the machine's namespace, a child of the process that prepares it."""
    children = Path(f"/proc/{container.pid}/task/{container.pid}/children")
    end = time.monotonic() + _PATIENCE_SECONDS
    while True:
        for child in children.read_text().split():
            with suppress(FileNotFoundError, ProcessLookupError):  # it ended meanwhile
                if re.search(r"^NSpid:.*\t1$", Path(f"/proc/{child}/status").read_text(), re.MULTILINE):
                    return int(child)
        assert container.poll() is None, "the container ended"
        assert time.monotonic() < end, "the container has no init"
        time.sleep(0.1)


CONFIG = """
prometheus: {default: {url: "http://127.0.0.1:1", timeout: 1s, bearerTokenFile: TOKEN}}
adapters: {local: {type: process, pools: {web: {command: [sleep, "3600"], initialReplicas: 2}}}}
autoscalers:
  - name: web
    scaleTargetRef: {adapter: local, name: web}
    minReplicas: 1
    maxReplicas: 5
    syncPeriod: 2s
    metrics: [{type: External, external: {metric: {name: q}, query: {expr: q}, target: {type: Value, value: 1}}}]
""".replace("TOKEN", "/run/credentials/autoscaler.service/token")
DRY = CONFIG + "controller: {dryRun: true}\n"
