import json
import re
from pathlib import Path

import pytest
import yaml

from autoscaler.config.loader import load
from autoscaler.log.line import keys
from rehearse.rehearsals import REHEARSALS
from tests.decisions import decision
from tools.site import PAGES

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
NAMES = [str(file.relative_to(ROOT)) for file in DOCUMENTS]
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_NAMED_LINK = re.compile(r"\[([^\]]+)\]\(([^)]+)\)")
_LINK = re.compile(r"\]\((?!https?://)([^)#]+)(?:#[^)]*)?\)")


def blocks(document: str, language: str) -> list[str]:
    """Return a document's examples in a language."""
    return [text for name, text in _BLOCK.findall((ROOT / document).read_text()) if name == language]


@pytest.mark.parametrize("name", NAMES)
def test_every_link_within_the_project_has_a_target(name: str) -> None:
    document = ROOT / name
    links = _LINK.findall(document.read_text())
    assert [link for link in links if not (document.parent / link).exists()] == []


def test_the_tests_and_rehearsals_that_reliability_names_exist() -> None:
    """Every rehearsal is named there."""
    text = (ROOT / "docs/internals/reliability.md").read_text()
    tests = re.findall(r"`(tests/[\w/]+\.py)`", text)
    assert len(tests) > 10
    assert [file for file in tests if not (ROOT / file).exists()] == []
    named = [name for cell in re.findall(r"rehearse: ([^;|]+)", text) for name in cell.strip().split(", ")]
    assert set(named) == set(REHEARSALS)


def test_every_event_that_the_daemon_logs_is_documented() -> None:
    """Operators look it up. Events of adapters are documented with the adapters."""
    sources = [file.read_text() for file in (ROOT / "autoscaler").rglob("*.py")]
    logged = {name for text in sources for name in re.findall(r'logger\.(?:info|warning|error)\(\s*"(\w+)"', text)}
    assert len(logged) > 20
    listed = set(re.findall(r"`(\w+)`", (ROOT / "docs/log.md").read_text()))
    assert logged - listed == set()


@pytest.mark.parametrize("name", NAMES)
def test_every_documented_make_target_exists(name: str) -> None:
    targets = set(re.findall(r"^([a-z0-9.-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = re.findall(r"(?:`|^ {4})make ((?:[a-z][a-z0-9.-]* ?)+)", (ROOT / name).read_text(), re.MULTILINE)
    assert {target for words in named for target in words.split()} <= targets


def test_the_readmes_configuration_is_valid(tmp_path: Path) -> None:
    examples = blocks("README.md", "yaml")
    assert examples
    for text in examples:
        file = tmp_path / "readme.yaml"
        file.write_text(text)
        assert load(file).autoscalers


def test_the_installed_configuration_is_valid_without_its_comment_marks(tmp_path: Path) -> None:
    """Users of the package begin with it."""
    header, start, example = (ROOT / "debian/autoscaler.yaml").read_text().partition("#prometheus:")
    assert all(line.startswith("#") for line in header.splitlines())
    file = tmp_path / "autoscaler.yaml"
    file.write_text(re.sub("^#", "", start + example, flags=re.MULTILINE))
    assert [scaler.name for scaler in load(file).autoscalers] == ["web"]


def test_the_documented_log_line_has_the_keys_of_a_real_one() -> None:
    """Users write programs against it."""
    shown = [json.loads(text) for text in blocks("docs/log.md", "json")]
    real = ["timestamp", "level", "event", *keys(decision())]
    assert [list(line) for line in shown] == [real]


def test_every_path_that_the_architecture_names_exists() -> None:
    """Newcomers look there first."""
    text = (ROOT / "docs/internals/architecture.md").read_text()
    rooms = re.findall(r"^\| (`.+?`) \|", text, re.MULTILINE)
    answers = re.findall(r"^\| [^`|]+ \| (.+) \|$", text, re.MULTILINE)
    named = [name for cell in [*rooms, *answers] for name in re.findall(r"`([\w./]+)`", cell)]
    assert len(named) > 40
    assert [name for name in named if not any((ROOT / base / name).exists() for base in ("", "autoscaler"))] == []


def test_the_readmes_documents_are_the_first_pages_of_the_sites_sections() -> None:
    """A reader finds a page at the same place and under the same name in both."""
    (_, *sections) = yaml.safe_load((ROOT / "mkdocs.yml").read_text().partition("\nnav:")[2].partition("\n")[2])
    shown = (ROOT / "README.md").read_text().partition("\n## Documents\n")[2]
    rows = re.findall(r"^\| (\w[^|]*) \| (.+) \|$", shown, re.MULTILINE)
    assert [section for section, _ in rows] == [name for section in sections for name in section]
    for section, (name, links) in zip(sections, rows, strict=True):
        pages = [(title, page) for entry in section[name] for title, page in entry.items()]
        listed = [(title, PAGES.get(file, file.removeprefix("docs/"))) for title, file in _NAMED_LINK.findall(links)]
        assert listed == pages[: len(listed)], name
