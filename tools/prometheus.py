"""Finds the Prometheus binaries: those on PATH, else Debian's, unpacked into the clone's cache, never installed.

Debian's package starts services when it is installed; unpacked it needs no root and leaves nothing running.
`python -m tools.prometheus` prints where the two binaries are.
"""

import fcntl
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

CACHE: Final = Path(__file__).resolve().parent.parent / ".cache" / "prometheus"
_REMEDY: Final = (
    "install Prometheus (https://prometheus.io/download) so that `prometheus` and `promtool` are on PATH, "
    "or run this on Debian 12 with network access"
)
_APT_TIMEOUT_SECONDS: Final = 600


class PrometheusNotFound(Exception):
    """Prometheus is missing and could not be fetched; the message says what to install."""


@dataclass(frozen=True, slots=True)
class Binaries:
    """The two programs of a Prometheus release."""

    prometheus: Path
    promtool: Path


def prometheus_binaries(cache: Path = CACHE) -> Binaries:
    """Return the paths of `prometheus` and `promtool`. Fetches them into `cache` if they are not on PATH.

    Any number of processes may ask at once: one fetches, the others wait for it. Raises PrometheusNotFound.
    """
    on_path = shutil.which("prometheus"), shutil.which("promtool")
    if on_path[0] and on_path[1]:
        return Binaries(Path(on_path[0]), Path(on_path[1]))
    unpacked = cache / "debian"
    with _locked(cache):
        if not unpacked.exists():
            _fetch(unpacked)
    return Binaries(unpacked / "usr/bin/prometheus", unpacked / "usr/bin/promtool")


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Lock the folder for this process. The kernel releases the lock of a dead process."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _fetch(unpacked: Path) -> None:
    """Download and unpack Debian's package; `unpacked` appears complete or not at all."""
    for tool in ("apt-get", "dpkg"):
        if shutil.which(tool) is None:
            raise PrometheusNotFound(f"prometheus and promtool are not on PATH, and there is no {tool}; {_REMEDY}")
    with tempfile.TemporaryDirectory(dir=unpacked.parent, prefix="fetch-") as temporary:
        folder = Path(temporary)
        try:
            try:
                _download(folder)
            except subprocess.CalledProcessError:  # no package lists, or so old that the file is gone
                _download(folder, *_own_lists(folder))
            _run(["dpkg", "-x", str(next(folder.glob("prometheus_*.deb"))), "unpacked"], folder)
        except (subprocess.SubprocessError, StopIteration) as error:
            said = str(getattr(error, "stderr", None) or error or "apt-get left no package")
            raise PrometheusNotFound(
                f"prometheus and promtool are not on PATH, nor could Debian's package be fetched "
                f"({said.strip().splitlines()[-1]}); {_REMEDY}"
            ) from error
        (folder / "unpacked").replace(unpacked)


def _download(folder: Path, *options: str) -> None:
    _run(["apt-get", "--quiet", *options, "download", "prometheus"], folder)


def _own_lists(folder: Path) -> tuple[str, ...]:
    """Return options for apt with package lists of their own, which need no root and change nothing of the machine."""
    for name in ("lists/partial", "cache/archives/partial"):
        (folder / name).mkdir(parents=True)
    options = ("-o", f"Dir::State::lists={folder}/lists", "-o", f"Dir::Cache={folder}/cache")
    _run(["apt-get", "--quiet", *options, "update"], folder)
    return options


def _run(command: list[str], folder: Path) -> None:
    subprocess.run(  # noqa: S603 - only the fixed commands above
        command, cwd=folder, check=True, capture_output=True, text=True, timeout=_APT_TIMEOUT_SECONDS
    )


def main() -> int:
    """Print the two paths. Return 1 with a message on stderr if there are none."""
    try:
        binaries = prometheus_binaries()
    except PrometheusNotFound as missing:
        sys.stderr.write(f"{missing}\n")
        return 1
    sys.stdout.write(f"{binaries.prometheus}\n{binaries.promtool}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
