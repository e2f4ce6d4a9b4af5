import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.packaging.site import ROOT
from tools.release import ARTEFACTS

IGNORED = {line.strip("/") for line in (ROOT / ".gitignore").read_text().split()} | {".git"}
TEXT = {
    *("", ".cfg", ".conf", ".html", ".js", ".json", ".lock", ".md", ".mod", ".py", ".service", ".sh", ".toml", ".yaml")
}

INSTALLERS = (
    "tools/program.sh",
    "tools/install.sh",
    "tools/deb.sh",
    "tools/check-deb.sh",
    "tools/debian13.sh",
    "debian/rules",
)


def files(folder: Path = ROOT) -> Iterator[Path]:
    """Yield every text file of the project that .gitignore does not name."""
    for entry in sorted(folder.iterdir()):
        if any(entry.match(pattern) for pattern in IGNORED):
            continue
        if entry.is_dir():
            yield from files(entry)
        elif entry.suffix in TEXT:
            yield entry


def test_no_python_file_is_longer_than_400_lines() -> None:
    lengths = {str(file): len(file.read_text().splitlines()) for file in files() if file.suffix == ".py"}
    assert {file: length for file, length in lengths.items() if length > 400} == {}


def test_no_file_imports_from_a_test() -> None:
    """What several tests use is in a module of its own: a test can then be changed without reading others."""
    imports = re.compile(
        r"^ *(?:from [\w.]*\btest_\w+ import|import [\w.]*\btest_|from tests[\w.]* import .*\btest_)", re.MULTILINE
    )
    found = {str(file): imports.findall(file.read_text()) for file in (ROOT / "tests").rglob("*.py")}
    assert {file: lines for file, lines in found.items() if lines} == {}


def test_no_test_is_named_by_a_pronoun() -> None:
    """A report lists names without their files: `it ends` does not say what ends."""
    pronoun = re.compile(r"^ *def (test_(?:it|its|they|what|whatever|which|who)_\w+)", re.MULTILINE)
    found = {str(file): pronoun.findall(file.read_text()) for file in (ROOT / "tests").rglob("test_*.py")}
    assert {file: names for file, names in found.items() if names} == {}


def test_no_file_contains_a_home_directory() -> None:
    """Such a path exists on one machine only."""
    personal = re.compile(r"(?<![\w.])/(?:home|root|Users)/\w")
    assert [str(file) for file in files() if personal.search(file.read_text())] == []


@pytest.mark.parametrize(
    "name", ["pyproject.toml", "Makefile", ".ci/run", "tools/venv.sh", "tools/servers.sh", *INSTALLERS]
)
def test_installers_name_no_download_host(name: str) -> None:
    """Every machine has its own package sources, which pip, apt and Go know."""
    text = (ROOT / name).read_text()
    assert "://" not in text
    assert not re.search(r"--(extra-)?index-url|--find-links|--trusted-host|GOPROXY", text)


@pytest.mark.parametrize("name", ["uv.lock", "pylock.toml", "pip.conf", ".netrc", "poetry.lock"])
def test_no_file_records_download_hosts(name: str) -> None:
    """These formats store where a package came from."""
    assert [str(file) for file in files() if file.name == name] == []


def test_every_shell_script_stops_at_errors() -> None:
    """A step that fails unnoticed leaves an incomplete installation."""
    for name in (".ci/run", "tools/venv.sh", *(name for name in INSTALLERS if name.endswith(".sh"))):
        assert re.search(r"^set -e", (ROOT / name).read_text(), re.MULTILINE), name


def test_no_file_reads_what_lies_beside_the_project() -> None:
    """A clone by itself is built and tested, as CI does it."""
    beside = "/".join(("..", "shared"))
    assert [str(file) for file in files() if beside in file.read_text()] == []


def test_ci_runs_what_contributors_run() -> None:
    """A change that passes here passes there: the same script, with the rights that its servers need."""
    workflow = yaml.safe_load((ROOT / ".github/workflows/ci.yaml").read_text())
    job = workflow["jobs"]["check"]
    assert job["container"] == {"image": "debian:12", "options": "--privileged"}
    assert ".ci/run" in [step.get("run") for step in job["steps"]]


def test_a_release_publishes_what_make_release_builds() -> None:
    """A file that only one of the two makes would be missing from the published release."""
    text = (ROOT / ".github/workflows/release.yaml").read_text()
    assert f"run: make {' '.join(ARTEFACTS)}\n" in text
