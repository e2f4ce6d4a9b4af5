"""A message ends with what to do, or with what is wrong: "correct it" says neither."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

END = r"(?:it|them|this|that)[.!]?"
EMPTY = re.compile(rf"[;,:] (?:please )?(?:correct|add|fix|change|repair) {END}$")


def texts(file: Path) -> list[str]:
    """Return the texts of a file of which one ends as an empty remedy does."""
    code = file.read_text()
    return [
        node.value
        for node in (ast.walk(ast.parse(code)) if re.search(rf"{END}[\"']", code) else ())
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]


def test_no_remedy_says_nothing() -> None:
    files = [file for folder in ("autoscaler", "adapters") for file in (ROOT / folder).rglob("*.py")]
    assert [f"{file.relative_to(ROOT)}: {text}" for file in files for text in texts(file) if EMPTY.search(text)] == []
