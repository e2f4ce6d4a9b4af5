"""Makes a release: `make release VERSION=0.2.0`. It is files in dist/VERSION, a commit and a tag; nothing is published.

The files: sdist and wheel, the Debian package, the OCI image, the software bill of materials (CycloneDX, of the locked
packages), the changelog's section as notes.md, and SHA256SUMS of them all.
"""

import hashlib
import re
import shutil
import subprocess
import sys
from argparse import ArgumentParser
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

PROJECT: Final = Path(__file__).resolve().parents[1]
_VERSION: Final = re.compile(r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)")
_DECLARED: Final = re.compile(r'^version = "(.*)"$', re.MULTILINE)
_UNRELEASED: Final = "## [Unreleased]\n"
ARTEFACTS: Final = ("wheel", "image", "sbom")
"""Targets of make that write files to $DIST; the image's also writes the Debian package."""


class Refused(Exception):
    """A release is impossible; the message says why, and what to do."""


def main(arguments: list[str]) -> int:
    """Make the release and return 0. Return 1 without a change if it is impossible."""
    parser = ArgumentParser(prog="make release", description=__doc__)
    parser.add_argument("version", help="as in 0.2.0")
    parser.add_argument("--project", type=Path, default=PROJECT, help="the clone; default: this one")
    asked = parser.parse_args(arguments)
    try:
        folder = release(asked.project, asked.version, datetime.now(UTC).date().isoformat())
    except Refused as refused:
        print(f"no release: {refused}", file=sys.stderr)
        return 1
    print(f"{folder}: {', '.join(sorted(file.name for file in folder.iterdir()))}")
    print(f"Committed, and tagged v{asked.version}. To publish: git push --follow-tags, and the files.")
    return 0


def release(project: Path, version: str, date: str) -> Path:
    """Write the version and the changelog, build everything, commit and tag. Returns the folder. Raises Refused."""
    described, changelog = project / "pyproject.toml", project / "CHANGELOG.md"
    before = {file: file.read_text() for file in (described, changelog)}
    _require_newer(_DECLARED.findall(before[described])[0], version, known=_run(project, "git", "tag").split())
    if _run(project, "git", "status", "--porcelain"):
        raise Refused("the tree has changes that are not committed; commit or stash them")
    dated, notes = cut(before[changelog], version, date)
    folder = project / "dist" / version
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        described.write_text(_DECLARED.sub(f'version = "{version}"', before[described], count=1))
        changelog.write_text(dated)
        for target in ARTEFACTS:
            _run(project, "make", target, f"DIST={folder}")
        (folder / "notes.md").write_text(notes)
        write_checksums(folder)
        _run(project, "git", "commit", "--quiet", "--message", f"Release {version}", described.name, changelog.name)
    except BaseException:
        for file, text in before.items():
            file.write_text(text)
        raise
    _run(project, "git", "tag", "--annotate", f"v{version}", "--message", f"{version}\n\n{notes}")
    return folder


def cut(changelog: str, version: str, date: str) -> tuple[str, str]:
    """Return the changelog with the version's section dated, and that section's text. Raises Refused.

    The section is what is under [Unreleased], or one of this version that was prepared under its own heading.
    """
    head, heading, rest = changelog.partition(_UNRELEASED)
    notes, rest = _section(rest)
    prepared = re.match(rf"## \[{re.escape(version)}\].*\n", rest)
    if prepared and notes:
        raise Refused(f"CHANGELOG.md has a section {version} and entries under [Unreleased]; move them into it")
    if prepared:
        notes, rest = _section(rest[prepared.end() :])
    if not heading or not notes:
        raise Refused("CHANGELOG.md has nothing under [Unreleased]; write down what users will notice")
    dated = f"{head}{_UNRELEASED}\n## [{version}] - {date}\n\n{notes}\n"
    return f"{dated}\n{rest}" if rest else dated, f"{notes}\n"


def _section(text: str) -> tuple[str, str]:
    """Return the text before the next version's heading, and the rest from there."""
    following = text.find("\n## [")
    return (text.strip(), "") if following < 0 else (text[:following].strip(), text[following + 1 :])


def write_checksums(folder: Path) -> None:
    """Return SHA256SUMS of every file in the folder, as `sha256sum --check` reads it."""
    lines = [f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in sorted(folder.iterdir())]
    (folder / "SHA256SUMS").write_text("".join(lines))


def _require_newer(declared: str, version: str, known: list[str]) -> None:
    if _VERSION.fullmatch(version) is None:
        raise Refused(f"{version!r} is not a version; expected three numbers, as in 0.2.0")
    if f"v{version}" in known:
        raise Refused(f"there is a tag v{version} already; choose the next version")
    # the first release may be the version that the project was begun with
    if _numbers(version) < _numbers(declared):
        raise Refused(f"{version} is older than {declared}, which pyproject.toml has; choose a newer one")


def _numbers(version: str) -> list[int]:
    return [int(part) for part in version.split(".")]


def _run(project: Path, *command: str) -> str:
    done = subprocess.run(command, cwd=project, check=False, stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise Refused(f"`{' '.join(command[:3])}` failed; its output is above")
    return done.stdout


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
