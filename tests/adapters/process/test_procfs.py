"""Reads of /proc when a sandbox hides a part of it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from adapters.process import procfs


@pytest.fixture
def processes_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A /proc under systemd's ProcSubset=pid: only processes."""
    (tmp_path / "self").mkdir()
    (tmp_path / "self/stat").touch()
    monkeypatch.setattr(procfs, "_PROC", tmp_path)
    procfs.boot_id.cache_clear()
    yield
    procfs.boot_id.cache_clear()


@pytest.mark.usefixtures("processes_alone")
def test_the_unit_says_which_boot_this_is_where_proc_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """The id has /proc's form, so workers are found after the sandbox changes between two starts."""
    monkeypatch.setenv("AUTOSCALER_BOOT_ID", "0123456789abcdef0123456789abcdef")
    assert procfs.available()
    assert procfs.boot_id() == "01234567-89ab-cdef-0123-456789abcdef"


@pytest.mark.usefixtures("processes_alone")
@pytest.mark.parametrize("given", [None, "", "today"])
def test_without_a_boot_id_no_worker_can_be_known_again(monkeypatch: pytest.MonkeyPatch, given: str | None) -> None:
    monkeypatch.delenv("AUTOSCALER_BOOT_ID", raising=False)
    if given is not None:
        monkeypatch.setenv("AUTOSCALER_BOOT_ID", given)
    assert not procfs.available()
