"""Builds what users install, once for all tests of a run."""

import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import pytest

from tests.servers.required import require

PROJECT: Final = Path(__file__).resolve().parents[2]
_BUILD_SECONDS: Final = 900
_NOT_SOURCES: Final = shutil.ignore_patterns(
    *(".git", ".venv", ".cache", ".*_cache", "*.egg-info", "__pycache__", "build", "dist", "mutants"),
    *(".hypothesis", ".coverage*"),
)


def distribution(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of this tree's sdist and of the wheel that is built from the sdist."""

    def build(to: Path) -> None:
        with TemporaryDirectory() as folder:  # setuptools leaves files where it builds
            source = shutil.copytree(PROJECT, Path(folder) / "source", ignore=_NOT_SOURCES)
            checked(sys.executable, "-m", "build", "--no-isolation", "--outdir", to / "dist", cwd=source)

    return _once(tmp_path_factory, "distribution", build)


def installed_wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder in which pip has installed this tree's wheel, without what it needs."""
    (wheel,) = distribution(tmp_path_factory).glob("*.whl")
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input", "install", "--no-compile")

    def install(to: Path) -> None:
        checked(*pip, "--no-deps", "--no-index", "--target", to / "site", wheel)

    return _once(tmp_path_factory, "installed-wheel", install)


def debian_package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the package of this tree for this machine's Debian; skip the test without the build tools."""
    for program in ("dpkg-buildpackage", "dh_installsysusers"):
        if shutil.which(program) is None:
            require(f"{program} is not installed; install Debian's package debhelper")
    return _once(tmp_path_factory, "debian-package", lambda to: checked(PROJECT / "tools/deb.sh", to))


def image(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the OCI image of that package; skip the test without the build tools."""
    for program in ("mmdebstrap", "umoci", "skopeo"):
        if shutil.which(program) is None:
            require(f"{program} is not installed; install Debian's package of that name")
    package = debian_package(tmp_path_factory)
    return _once(tmp_path_factory, "image", lambda to: checked(PROJECT / "tools/image.sh", package, to))


def _once(tmp_path_factory: pytest.TempPathFactory, name: str, build: Callable[[Path], object]) -> Path:
    """Return the only file or folder that `build` leaves in its folder. Other workers wait until it is built."""
    shared = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:  # the folder of each worker is in that of the run
        shared = shared.parent
    folder = shared / name
    with (shared / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            fresh = shared / f"{name}.new"
            shutil.rmtree(fresh, ignore_errors=True)  # of a worker that died while it built
            build(fresh)
            fresh.rename(folder)
    (built,) = folder.iterdir()
    return built


def checked(*words: str | Path, cwd: Path | None = None) -> str:
    """Return what the command prints; fail the test with its whole output if the command fails."""
    command = [str(word) for word in words]
    done = subprocess.run(command, cwd=cwd, check=False, capture_output=True, text=True, timeout=_BUILD_SECONDS)
    assert done.returncode == 0, f"{' '.join(command)}:\n{done.stdout[-3000:]}{done.stderr[-3000:]}"
    return done.stdout
