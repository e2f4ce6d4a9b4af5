"""A machine for a quickstart page, on which the page's ports and paths are free and of which nothing remains.

It is this machine in other namespaces: the network has only a loopback interface, changes to some folders are kept
in memory (overlayfs), and all processes end with the first.
"""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tests.servers.required import require
from tools.prometheus import prometheus_binaries

_HERE: Final = Path(__file__).resolve().parent
_OVERLAID: Final = ("/etc", "/run", "/srv", "/usr/local", "/var/lib", "/var/log")
"""The folders to which pages write."""
_READY_WITHIN_SECONDS: Final = 180.0
_COMMANDS_TAKE_SECONDS: Final = 600.0
_LOG_CHARACTERS: Final = 3000


class QuickstartMachine:
    """A running machine. `pid`: its first process, as this machine counts."""

    def __init__(self, folder: Path, pid: int, environment: Mapping[str, str]) -> None:
        self.folder = folder
        self.pid = pid
        self._environment = dict(environment)

    def write(self, path: str, text: str) -> None:
        """Write a file, and create the folders above it."""
        draft = self.folder / "draft"
        draft.write_text(text)
        self.run(f"mkdir -p {Path(path).parent} && cp {draft} {path}")

    def run(self, commands: str, *, may_fail: bool = False) -> str:
        """Return what the commands print; fail the test if one of them fails.

        `may_fail`: return what they printed until one failed. The commands are in a file, so that only their own
        processes have their words in the command line.
        """
        script, output = self.folder / "commands.sh", self.folder / "output"
        script.write_text(commands)
        with output.open("wb") as out:
            done = subprocess.run(
                [*self.enter("--mount", "--net", "--pid"), "bash", "-e", str(script)],
                cwd=self.folder,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                check=False,
                timeout=_COMMANDS_TAKE_SECONDS,
            )
        printed = output.read_text()
        assert may_fail or done.returncode == 0, f"{commands}ended with {done.returncode}:\n{printed}"
        return printed

    def enter(self, *namespaces: str) -> list[str]:
        """Return the beginning of a command that runs in these namespaces of the machine."""
        return ["nsenter", f"--target={self.pid}", *namespaces, "--"]

    def logs(self) -> str:
        """Return the end of each service's log."""
        logs = sorted((self.folder / "logs").iterdir())
        return "\n".join(f"{log.name}:\n{log.read_text(errors='replace')[-_LOG_CHARACTERS:]}" for log in logs)


@contextmanager
def running_machine(
    folder: Path, programs: Mapping[str, Path] | None = None, environment: Mapping[str, str] | None = None
) -> Iterator[QuickstartMachine]:
    """Yield a machine with the autoscaler, Prometheus and `systemctl`; its files are in `folder`, which exists.

    `programs`: further programs by name, which take precedence. `environment`: variables of all processes. Skips the
    test if namespaces are not available.
    """
    if os.geteuid() != 0:
        require("a separate machine needs root; run the tests as root")
    for needed in ("unshare", "nsenter", "ip", "curl"):
        if shutil.which(needed) is None:
            require(f"{needed} is not on PATH; install util-linux, iproute2 and curl")
    for name in ("changes", "logs", "home", "tmp", "programs"):
        (folder / name).mkdir()
    for name, program in (programs or {}).items():
        (folder / "programs" / name).symlink_to(program)
    searched = [
        folder / "programs",
        _HERE / "programs",
        Path(sys.executable).parent,
        prometheus_binaries().prometheus.parent,
    ]
    variables = {  # without the developer's proxies, certificates and credentials
        "PATH": ":".join([*map(str, searched), os.environ["PATH"], "/usr/sbin:/sbin"]),
        "HOME": str(folder / "home"),
        "TMPDIR": str(folder / "tmp"),
        "LOGS": str(folder / "logs"),
        **(environment or {}),
    }
    own = ["--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
    with (folder / "setup.log").open("wb") as log:
        process = subprocess.Popen(
            ["unshare", *own, str(_HERE / "machine.sh"), str(folder), *_OVERLAID],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
    try:
        _wait_ready(process, folder)
        first = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()[0]
        machine = QuickstartMachine(folder, int(first), variables)
        try:
            yield machine
        except BaseException as failure:
            failure.add_note(machine.logs())
            raise
    finally:
        process.kill()  # --kill-child: this ends the first process, and with it all others
        process.wait()


def _wait_ready(process: subprocess.Popen[bytes], folder: Path) -> None:
    end = time.monotonic() + _READY_WITHIN_SECONDS
    while not (folder / "ready").exists():
        if process.poll() is not None:
            require(f"a separate machine cannot be started here: {(folder / 'setup.log').read_text()}")
        assert time.monotonic() < end, f"the machine was not ready within {_READY_WITHIN_SECONDS:g} s"
        time.sleep(0.02)
