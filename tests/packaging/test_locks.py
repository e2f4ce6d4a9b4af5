import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
LOCKS = ("requirements-build.lock", "requirements.lock", "requirements-postgresql.lock", "requirements-dev.lock")
_PIN = re.compile(
    r"^([A-Za-z0-9._-]+)(?:\[[\w,-]+\])?==([^\s\\]+)((?: \\\n    --hash=sha256:[0-9a-f]{64})+)$", re.MULTILINE
)


def pins(name: str) -> dict[str, str]:
    """Package -> version."""
    return {canonicalize_name(package): version for package, version, _ in _PIN.findall((ROOT / name).read_text())}


@pytest.mark.parametrize(
    ("lock", "wanted"),
    [
        ("requirements-build.lock", PROJECT["build-system"]["requires"]),
        ("requirements.lock", PROJECT["project"]["dependencies"]),
        ("requirements-postgresql.lock", PROJECT["project"]["dependencies"]),
        ("requirements-postgresql.lock", PROJECT["project"]["optional-dependencies"]["postgresql"]),
        ("requirements-dev.lock", PROJECT["project"]["dependencies"]),
        ("requirements-dev.lock", PROJECT["project"]["optional-dependencies"]["dev"]),
        ("requirements-dev.lock", PROJECT["project"]["optional-dependencies"]["postgresql"]),
    ],
)
def test_a_lock_satisfies_the_project(lock: str, wanted: list[str]) -> None:
    """A declared package that is not locked would be missing on a new machine."""
    found = pins(lock)
    for requirement in map(Requirement, wanted):
        version = found.get(canonicalize_name(requirement.name))
        assert version is not None, f"{requirement.name} is not in {lock}; run `make lock`"
        assert requirement.specifier.contains(version), f"{lock} has {requirement.name} {version}; run `make lock`"


def test_development_uses_the_versions_that_users_get() -> None:
    """Tests with other versions would prove little."""
    development = pins("requirements-dev.lock")
    for lock in ("requirements.lock", "requirements-postgresql.lock"):
        assert {name: development.get(name) for name in pins(lock)} == pins(lock)


@pytest.mark.parametrize("lock", LOCKS)
def test_every_pin_has_a_hash_and_no_host(lock: str) -> None:
    """Each machine has its own package sources."""
    text = (ROOT / lock).read_text()
    names = [line for line in text.splitlines() if line and not line.startswith((" ", "#"))]
    assert len(names) == len(pins(lock)) > 0
    assert "://" not in text
    assert "--index" not in text
    assert "--find-links" not in text
