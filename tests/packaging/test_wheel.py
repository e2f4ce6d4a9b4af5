import json
import shutil
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

from tests.packaging.artefacts import PROJECT, checked

pytestmark = pytest.mark.slow

NOT_SOURCES = (
    *(
        ".git",
        ".venv",
        ".cache",
        ".*_cache",
        "*.egg-info",
        "__pycache__",
        "build",
        "dist",
        "mutants",
        ".hypothesis",
        ".coverage*",
    ),
)


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sdist, and the wheel that is built from it."""
    folder = tmp_path_factory.mktemp("build")
    source = shutil.copytree(PROJECT, folder / "source", ignore=shutil.ignore_patterns(*NOT_SOURCES))
    checked(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder / "dist", cwd=source)
    return folder / "dist"


@pytest.fixture(scope="module")
def source(dist: Path) -> Path:
    """The tree from which they are built."""
    return dist.parent / "source"


def test_the_wheel_contains_only_the_two_packages(dist: Path, source: Path) -> None:
    """Tests, tools and the demo must not be in users' site-packages."""
    with zipfile.ZipFile(next(dist.glob("*.whl"))) as wheel:
        tops = {name.split("/")[0] for name in wheel.namelist()}
        names = set(wheel.namelist())
    assert {top for top in tops if not top.endswith(".dist-info")} == {"autoscaler", "adapters"}
    assert any(name.endswith("licenses/LICENSE") for name in names)
    files = [file for top in ("autoscaler", "adapters") for file in (source / top).rglob("*") if file.is_file()]
    assert {str(file.relative_to(source)) for file in files} <= names  # the page's templates and scripts, too


def test_the_sdist_contains_what_tests_need(dist: Path) -> None:
    """Distributors build and test from it."""
    with tarfile.open(next(dist.glob("*.tar.gz"))) as sdist:
        names = {name.partition("/")[2] for name in sdist.getnames()}
    needed = {"LICENSE", "Makefile", "requirements.lock", "config/demo.yaml", "demo/worker.py", "tools/prometheus.py"}
    assert needed | {f"tests/conformance/data/hpa-{version}.jsonl.gz" for version in ("1.36", "1.37")} <= names


def test_the_wheel_works_without_this_clone(dist: Path, tmp_path: Path) -> None:
    """Its modules, data and command are its own. The test of `make install` installs the locked packages."""
    site = tmp_path / "site"
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input", "install", "--no-compile")
    checked(*pip, "--no-deps", "--no-index", "--target", site, next(dist.glob("*.whl")), cwd=tmp_path)
    config = shutil.copy(PROJECT / "config/demo.yaml", tmp_path)
    version = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]["version"]
    program = ("env", f"PYTHONPATH={site}", site / "bin/autoscaler")
    assert checked(*program, "--version", cwd=tmp_path) == f"autoscaler {version}\n"
    checked(*program, "check", config, cwd=tmp_path)
    found = "import autoscaler, adapters, json; from autoscaler.target import installed; "
    found += "print(json.dumps([autoscaler.__file__, adapters.__path__[0], sorted(installed())]))"
    *places, types = json.loads(checked(*program[:2], sys.executable, "-c", found, cwd=tmp_path))
    assert all(Path(place).is_relative_to(site) for place in places)
    assert {"aws-asg", "aws-ecs", "command", "docker-swarm", "memory", "nomad", "process"} <= set(types)
