"""The tables of docs/coming-from.md."""

import re
from pathlib import Path

_PAGE = Path(__file__).resolve().parents[2] / "docs" / "coming-from.md"


def rows(section: str) -> set[str]:
    """Return the first column of a section's table."""
    text = _PAGE.read_text().split(f"\n## {section}\n")[1].split("\n## ")[0]
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    return {re.split(r"(?<!\\) \| ", line.removeprefix("| "))[0] for line in lines[1:]}
