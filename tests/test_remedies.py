"""A message ends with what to do, or with what is wrong: "correct it" says neither."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

EMPTY = re.compile(r"[;,:] (?:please )?(?:correct|add|fix|change|repair) (?:it|them|this|that)[.!]?$")


def texts(file: Path) -> list[str]:
    return [
        node.value
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]


def test_no_remedy_says_nothing() -> None:
    files = [file for folder in ("autoscaler", "adapters") for file in (ROOT / folder).rglob("*.py")]
    assert [f"{file.relative_to(ROOT)}: {text}" for file in files for text in texts(file) if EMPTY.search(text)] == []
