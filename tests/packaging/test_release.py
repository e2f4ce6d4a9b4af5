"""`make release` in a temporary clone: version, changelog, checksums, a commit and a tag."""

import json
import re
import subprocess
from pathlib import Path

import pytest

from tools.release import PROJECT, Refused, cut, main, release

_CHANGELOG = """# Changelog

## [Unreleased]

### Added

- Something new.

## [0.1.0] - 2026-01-01

- The beginning.
"""
_MAKEFILE = "wheel image sbom:\n\t@echo $@ >$(DIST)/a-$@\n"
"""Replaces the project's. Other tests cover what these targets build."""


def git(clone: Path, *words: str) -> str:
    who = ("-c", "user.name=A", "-c", "user.email=a@example.org")
    return subprocess.run(("git", *who, *words), cwd=clone, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{name}_NAME", "A")
        monkeypatch.setenv(f"GIT_{name}_EMAIL", "a@example.org")
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "it"\nversion = "0.1.0"\n')
    (tmp_path / "CHANGELOG.md").write_text(_CHANGELOG)
    (tmp_path / "Makefile").write_text(_MAKEFILE)
    (tmp_path / ".gitignore").write_text("dist/\n")
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--quiet", "--message", "Begin")
    git(tmp_path, "tag", "v0.1.0")
    return tmp_path


def test_a_release_is_a_commit_a_tag_and_a_folder(clone: Path) -> None:
    """The tag names what is published."""
    folder = release(clone, "0.2.0", "2026-05-01")
    assert 'version = "0.2.0"' in (clone / "pyproject.toml").read_text()
    changelog = (clone / "CHANGELOG.md").read_text()
    assert "## [Unreleased]\n\n## [0.2.0] - 2026-05-01\n\n### Added\n\n- Something new.\n\n## [0.1.0]" in changelog
    assert git(clone, "log", "-1", "--format=%s %D").strip().startswith("Release 0.2.0 HEAD -> ")
    assert git(clone, "tag", "--points-at", "HEAD").strip() == "v0.2.0"
    assert git(clone, "status", "--porcelain") == ""
    built = ["a-image", "a-sbom", "a-wheel"]
    assert sorted(file.name for file in folder.iterdir()) == ["SHA256SUMS", *built, "notes.md"]
    assert (folder / "notes.md").read_text() == "### Added\n\n- Something new.\n"


def test_the_checksums_are_those_of_the_files(clone: Path) -> None:
    """Users check them with the same program."""
    folder = release(clone, "0.2.0", "2026-05-01")
    done = subprocess.run(
        ("sha256sum", "--check", "SHA256SUMS"), cwd=folder, check=False, capture_output=True, text=True
    )
    assert done.returncode == 0
    assert done.stdout.count(": OK") == 4


def test_a_failed_build_changes_neither_files_nor_history(clone: Path) -> None:
    """The release can be tried again."""
    (clone / "Makefile").write_text("wheel:\nimage:\n\tfalse\n")
    git(clone, "commit", "--quiet", "--all", "--message", "Break the package")
    with pytest.raises(Refused, match="`make image DIST="):
        release(clone, "0.2.0", "2026-05-01")
    assert git(clone, "status", "--porcelain") == ""
    assert git(clone, "log", "-1", "--format=%s").strip() == "Break the package"
    assert git(clone, "tag").split() == ["v0.1.0"]


@pytest.mark.parametrize(
    ("version", "words"),
    [
        ("v0.2.0", "expected three numbers, as in 0.2.0"),
        ("0.2", "expected three numbers"),
        ("0.1.0", "there is a tag v0.1.0 already"),
        ("0.0.9", "0.0.9 is older than 0.1.0"),
    ],
)
def test_an_invalid_version_is_refused(
    clone: Path, capsys: pytest.CaptureFixture[str], version: str, words: str
) -> None:
    assert main([version, "--project", str(clone)]) == 1
    assert words in capsys.readouterr().err


def test_a_changed_tree_is_refused(clone: Path) -> None:
    """What is built must be what is tagged."""
    (clone / "new.py").write_text("")
    with pytest.raises(Refused, match="not committed"):
        release(clone, "0.2.0", "2026-05-01")


def test_a_section_that_was_prepared_under_its_version_gets_the_date_of_the_release() -> None:
    """The first release is described before it is made."""
    prepared = _CHANGELOG.replace("## [Unreleased]\n", "## [Unreleased]\n\n## [0.2.0] - 2026-04-01\n")
    assert cut(prepared, "0.2.0", "2026-05-01") == cut(_CHANGELOG, "0.2.0", "2026-05-01")


def test_an_entry_beside_a_prepared_section_is_not_forgotten() -> None:
    prepared = _CHANGELOG.replace("### Added", "- It.\n\n## [0.2.0] - 2026-04-01\n\n### Added")
    with pytest.raises(Refused, match=r"a section 0\.2\.0 and entries under"):
        cut(prepared, "0.2.0", "2026-05-01")


def test_this_projects_changelog_has_a_date_for_each_version() -> None:
    """`make release` finds its section by these headings."""
    unreleased, *versions = re.findall(r"^## (.*)$", (PROJECT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert unreleased == "[Unreleased]"
    assert versions
    assert all(re.fullmatch(r"\[\d+\.\d+\.\d+\] - \d{4}-\d\d-\d\d", each) for each in versions)


@pytest.mark.parametrize("changelog", ["# Changelog\n", "## [Unreleased]\n\n## [0.1.0] - 2026-01-01\n\n- It.\n"])
def test_a_release_without_notes_is_refused(changelog: str) -> None:
    """Users could not decide whether to upgrade."""
    with pytest.raises(Refused, match="nothing under"):
        cut(changelog, "0.2.0", "2026-05-01")


@pytest.mark.slow
def test_the_bill_of_materials_names_every_locked_package(tmp_path: Path) -> None:
    """Users look up vulnerable versions there."""
    subprocess.run(("make", "sbom", f"DIST={tmp_path}"), cwd=PROJECT, check=True, capture_output=True, timeout=120)
    named = json.loads((tmp_path / "prometheus-autoscaler.cdx.json").read_text())
    locked = re.findall(
        r"^([\w.-]+)(?:\[[\w,-]+\])?==(\S+)", (PROJECT / "requirements-postgresql.lock").read_text(), re.MULTILINE
    )
    assert sorted((each["name"], each["version"]) for each in named["components"]) == sorted(locked)
    assert named["metadata"]["component"]["name"] == "prometheus-autoscaler"
