import json
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
NOT_SOURCES = (
    ".git",
    ".venv",
    ".cache",
    ".*_cache",
    "*.egg-info",
    "__pycache__",
    "build",
    "dist",
    ".hypothesis",
    ".coverage*",
)


def run(*command: str | Path, cwd: Path) -> str:
    done = subprocess.run([str(word) for word in command], cwd=cwd, check=False, capture_output=True, text=True)
    assert done.returncode == 0, f"{command}: {done.stdout[-2000:]}{done.stderr[-2000:]}"
    return done.stdout


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sdist, and the wheel that was built from it."""
    folder = tmp_path_factory.mktemp("build")
    source = shutil.copytree(ROOT, folder / "source", ignore=shutil.ignore_patterns(*NOT_SOURCES))
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder / "dist", cwd=source)
    return folder / "dist"


@pytest.fixture(scope="module")
def source(dist: Path) -> Path:
    """The tree that they were built from."""
    return dist.parent / "source"


def test_the_wheel_holds_the_two_packages_and_nothing_else(dist: Path, source: Path) -> None:
    """Tests, tools and the demo would land in everybody's site-packages."""
    with zipfile.ZipFile(next(dist.glob("*.whl"))) as wheel:
        tops = {name.split("/")[0] for name in wheel.namelist()}
        names = set(wheel.namelist())
    assert {top for top in tops if not top.endswith(".dist-info")} == {"autoscaler", "adapters"}
    assert any(name.endswith("licenses/LICENSE") for name in names)
    files = [file for top in ("autoscaler", "adapters") for file in (source / top).rglob("*") if file.is_file()]
    assert {str(file.relative_to(source)) for file in files} <= names  # the page's templates and scripts, too


def test_the_sdist_holds_what_is_needed_to_test_it(dist: Path) -> None:
    """A distributor builds and tests from it."""
    with tarfile.open(next(dist.glob("*.tar.gz"))) as sdist:
        names = {name.partition("/")[2] for name in sdist.getnames()}
    for name in (
        "LICENSE",
        "Makefile",
        "requirements.lock",
        "config/demo.yaml",
        "demo/worker.py",
        "tools/prometheus.py",
    ):
        assert name in names
    assert "tests/conformance/data/hpa-1.36.jsonl.gz" in names


def test_the_wheel_in_an_empty_environment_checks_the_demos_configuration(dist: Path, tmp_path: Path) -> None:
    """What users install must work without this clone around it."""
    python = tmp_path / "venv/bin/python"
    run(sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv", cwd=tmp_path)
    pip = (sys.executable, "-m", "pip", "--python", python, "--disable-pip-version-check", "--no-input")
    install = (*pip, "install", "--no-compile")  # what is used once is not worth compiling
    hashed = ("--require-hashes", "--no-build-isolation", "--use-pep517", "--requirement")
    run(*install, "--require-hashes", "--requirement", ROOT / "requirements-build.lock", cwd=tmp_path)
    run(*install, *hashed, ROOT / "requirements.lock", cwd=tmp_path)
    run(*install, "--no-deps", "--no-index", next(dist.glob("*.whl")), cwd=tmp_path)
    run(*pip, "check", cwd=tmp_path)
    config = shutil.copy(ROOT / "config/demo.yaml", tmp_path)
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    program = tmp_path / "venv/bin/autoscaler"
    assert run(program, "--version", cwd=tmp_path) == f"autoscaler {version}\n"
    run(program, "check", config, cwd=tmp_path)
    found = "import autoscaler, json; from autoscaler.target import installed; "
    found += "print(json.dumps([autoscaler.__file__, sorted(installed())]))"
    where, adapters = json.loads(run(python, "-c", found, cwd=tmp_path))
    assert Path(where).is_relative_to(tmp_path / "venv")
    assert {"aws-asg", "docker-swarm", "memory", "nomad", "process"} <= set(adapters)
