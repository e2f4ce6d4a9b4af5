"""Temporary files. Those of a run are in one folder, which shows what tests have left, and is removed at the end."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.waiting import until

FOR_ALL_RUNS: Final = Path("/tmp")
"""The folder of files that concern all runs on this machine, such as locks."""
_ROOT_OF_PYTEST: Final = "PYTEST_DEBUG_TEMPROOT"
"""The variable that says where pytest keeps the folders of its last three runs."""


def make_folder(prefix: str) -> Path:
    """Return a new temporary folder with a short path: that of a socket has 108 bytes at most.

    Every user may enter it: some servers do not run as root.
    """
    folder = Path(tempfile.mkdtemp(prefix=prefix))
    folder.chmod(0o711)
    return folder


@contextmanager
def own_folder(prefix: str) -> Iterator[Path]:
    """Yield a new temporary folder, which is removed at the end with all that is mounted in it."""
    folder = make_folder(prefix)
    try:
        yield folder
    finally:
        remove(folder)


def remove(folder: Path) -> None:
    """Remove a folder, also if a server has left mounts in it.

    A server's last process may still write and remove files there, so one try may not be enough.
    """

    def removed() -> bool:
        unmount_below(folder)
        shutil.rmtree(folder, ignore_errors=True)
        return not folder.exists()

    until(removed, f"removal of {folder}")


def unmount_below(folder: Path) -> None:
    """Unmount all that is mounted in the folder."""
    mounts = [line.split()[1] for line in Path("/proc/self/mounts").read_text().splitlines()]
    for mount in sorted((one for one in mounts if one.startswith(f"{folder}/")), reverse=True):
        subprocess.run(["umount", "--lazy", mount], check=False)  # its server may have unmounted it by now


@dataclass(frozen=True, slots=True)
class OfRun:
    """The folder of a run, in which this process and those that it starts make temporary files."""

    folder: Path
    before: str | None
    """The variable TMPDIR before the run."""

    @classmethod
    def begin(cls) -> "OfRun":
        """Make the folder of a run."""
        os.environ.setdefault(_ROOT_OF_PYTEST, tempfile.gettempdir())
        run = cls(make_folder("tests-"), os.environ.get("TMPDIR"))
        os.environ["TMPDIR"] = str(run.folder)
        tempfile.tempdir = None  # otherwise this process keeps the folder that it has found before
        return run

    def end(self) -> list[str]:
        """Remove the folder. Returns the names of what tests have left in it."""
        del os.environ["TMPDIR"]
        if self.before is not None:
            os.environ["TMPDIR"] = self.before
        tempfile.tempdir = None
        left = sorted(entry.name for entry in self.folder.iterdir())
        unmount_below(self.folder)
        shutil.rmtree(self.folder, ignore_errors=True)  # a process that still writes there must not fail the run
        return left
