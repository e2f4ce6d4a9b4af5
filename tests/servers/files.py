"""Writes files that a running process reads."""

from pathlib import Path


def replace_text(file: Path, text: str) -> None:
    """Replace a file in one step: a reader finds the old text or the new one, never an empty file."""
    new = file.with_name(f"{file.name}.new")
    new.write_text(text)
    new.replace(file)
