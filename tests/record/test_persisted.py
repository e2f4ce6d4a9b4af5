"""What the state holds does not change unnoticed: a field that is renamed is dropped silently when it is read."""

import difflib
import os
from pathlib import Path

from autoscaler.record import schema
from tests.record.persisted import persisted

KNOWN = Path(__file__).with_name("persisted.txt")


def test_no_persisted_type_changes_without_a_version() -> None:
    """A field, an order or a default that changes needs another `schema.VERSION`. WRITE_DOCUMENTS=1 then writes the
    file anew.
    """
    found = [f"version {schema.VERSION}", *persisted()]
    if os.environ.get("WRITE_DOCUMENTS"):
        KNOWN.write_text("".join(f"{line}\n" for line in found), encoding="utf-8")
    known = KNOWN.read_text(encoding="utf-8").splitlines()
    changes = list(difflib.unified_diff(known, found, "before", "now", lineterm="", n=0))
    assert not changes, "\n".join(changes)


def test_a_renamed_field_is_named() -> None:
    """The list has a pending write's fields, each by its name in the bytes."""
    lines = persisted()
    assert any(".PendingWrite.earlier:" in line for line in lines)
    assert any(line.endswith("(array)") for line in lines)
