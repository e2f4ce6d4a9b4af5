"""Reads of /proc when a sandbox hides a part of it."""

from pathlib import Path

import pytest

from adapters.process import procfs


@pytest.fixture
def processes_alone(tmp_path: Path) -> Path:
    """Return a /proc under systemd's ProcSubset=pid: only processes."""
    (tmp_path / "self").mkdir()
    (tmp_path / "self/stat").touch()
    return tmp_path


def test_the_unit_says_which_boot_this_is_where_proc_does_not(
    processes_alone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The id has /proc's form, so workers are found after the sandbox changes between two starts."""
    monkeypatch.setenv("AUTOSCALER_BOOT_ID", "0123456789abcdef0123456789abcdef")
    assert procfs.available(processes_alone)
    assert procfs.boot_id(processes_alone) == "01234567-89ab-cdef-0123-456789abcdef"


@pytest.mark.parametrize("given", [None, "", "today"])
def test_without_a_boot_id_no_worker_can_be_known_again(
    processes_alone: Path, monkeypatch: pytest.MonkeyPatch, given: str | None
) -> None:
    monkeypatch.delenv("AUTOSCALER_BOOT_ID", raising=False)
    if given is not None:
        monkeypatch.setenv("AUTOSCALER_BOOT_ID", given)
    assert not procfs.available(processes_alone)
