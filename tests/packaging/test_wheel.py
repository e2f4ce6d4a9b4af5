import tarfile
import zipfile
from pathlib import Path

import pytest

from tests.packaging.artefacts import PROJECT, distribution

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sdist, and the wheel that is built from it."""
    return distribution(tmp_path_factory)


def test_the_wheel_contains_only_the_two_packages(dist: Path) -> None:
    """Tests, tools and the demo must not be in users' site-packages."""
    with zipfile.ZipFile(next(dist.glob("*.whl"))) as wheel:
        tops = {name.split("/")[0] for name in wheel.namelist()}
        names = set(wheel.namelist())
    assert {top for top in tops if not top.endswith(".dist-info")} == {"autoscaler", "adapters"}
    assert any(name.endswith("licenses/LICENSE") for name in names)
    files = [file for top in ("autoscaler", "adapters") for file in (PROJECT / top).rglob("*") if file.is_file()]
    sources = {str(file.relative_to(PROJECT)) for file in files if file.parent.name != "__pycache__"}
    assert sources <= names  # the page's templates and scripts, too


def test_the_sdist_contains_what_tests_need(dist: Path) -> None:
    """Distributors build and test from it."""
    with tarfile.open(next(dist.glob("*.tar.gz"))) as sdist:
        names = {name.partition("/")[2] for name in sdist.getnames()}
    needed = {"LICENSE", "Makefile", "requirements.lock", "config/demo.yaml", "demo/worker.py"}
    needed |= {"rehearse/rehearsals.py", "tools/prometheus.py"}
    assert needed | {f"tests/conformance/data/hpa-{version}.jsonl.gz" for version in ("1.36", "1.37")} <= names
