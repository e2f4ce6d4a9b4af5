"""All threads are started in one place, which says when there are no more."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tests.packaging.site import ROOT

_STARTS: Final = frozenset(
    {
        "BackgroundScheduler",
        "Thread",
        "ThreadPoolExecutor",
        "Timer",
        "run_in_executor",
        "run_sync",
        "start_new_thread",
        "to_thread",
    }
)
"""What starts threads, in the standard library and in ours."""
_PLACES: Final = {
    "autoscaler/threads.py": "spawn",
    "autoscaler/web/work.py": "on_thread, which anyio's threads serve",
    "autoscaler/target/contract/suite.py": "tests of adapters",
}


def _starts(file: Path) -> Iterator[int]:
    """Yield the lines with a call that starts a thread."""
    text = file.read_text()
    for node in ast.walk(ast.parse(text)) if any(name in text for name in _STARTS) else ():
        if isinstance(node, ast.Call):
            called = node.func
            name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
            if name in _STARTS:
                yield node.lineno


def test_no_other_place_starts_a_thread() -> None:
    """A process may have no more threads for a while. A bare start raises RuntimeError then, which nothing expects."""
    files = [file for folder in ("autoscaler", "adapters") for file in (ROOT / folder).rglob("*.py")]
    found = {str(file.relative_to(ROOT)): [*_starts(file)] for file in files}
    assert {file: lines for file, lines in found.items() if lines and file not in _PLACES} == {}
    assert all(found[file] for file in _PLACES)
