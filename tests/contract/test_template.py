"""The template that docs/adapters.md walks through keeps every promise."""

from pathlib import Path

import pytest

from adapters.template import SizeFiles
from autoscaler.model import TargetRef
from autoscaler.target import Adapter
from autoscaler.target.contract import AdapterContract, Harness, make_context


class SizeFilesHarness(Harness):
    patience_seconds = 0
    target = TargetRef("files", "web")
    missing = TargetRef("files", "nobody")

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.set_size_outside(self.small)
        self.rebuild()

    def rebuild(self, *, dry_run: bool = False) -> Adapter:
        self.adapter = self._build(self.folder, dry_run=dry_run)
        return self.adapter

    def set_size_outside(self, size: int) -> None:
        file = self.folder / self.target.name
        revision = int(file.read_text().split()[1]) if file.exists() else 0
        file.write_text(f"{size} {revision + 1}")

    def unreachable(self) -> Adapter | str:
        return self._build(self.folder / "unmounted")

    def _build(self, folder: Path, *, dry_run: bool = False) -> Adapter:
        return SizeFiles(make_context(SizeFiles.Settings(folder=folder), self.folder / ".state", dry_run=dry_run))


class TestSizeFiles(AdapterContract):
    @pytest.fixture
    def harness(self, tmp_path: Path) -> Harness:
        return SizeFilesHarness(tmp_path)


@pytest.mark.parametrize("content", ["", "many", "3", "3 4 5"])
def test_a_file_that_holds_no_size_concerns_its_own_target_alone(tmp_path: Path, content: str) -> None:
    """A half-written file is neither a size of zero nor a traceback."""
    harness = SizeFilesHarness(tmp_path)
    (tmp_path / "broken").write_text(content)
    broken = TargetRef("files", "broken")
    answer = harness.adapter.observe([broken, harness.target], harness.call())
    assert "as in `3 17`" in str(answer[broken])
    assert answer[harness.target] == harness.observe()


@pytest.mark.parametrize("name", ["../etc/passwd", "a/b", "..", ""])
def test_a_name_that_leaves_the_folder_is_a_problem_known_offline(tmp_path: Path, name: str) -> None:
    """`check` says it before anything runs."""
    problem = SizeFiles.target_problem(TargetRef("files", name), SizeFiles.Settings(folder=tmp_path))
    assert problem is not None
    assert "is no file name" in problem
