"""Workers' output does not fill the disk."""

import os
from pathlib import Path

import pytest

from adapters.process import logs


def test_a_log_that_is_too_large_starts_again_and_is_kept_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The worker's own handle goes on writing, at the beginning, for it appends."""
    monkeypatch.setattr(logs, "LOG_BYTES", 10)
    log = tmp_path / "web-1.log"
    with log.open("ab", buffering=0) as worker:
        worker.write(b"twenty characters...")
        logs.bound(tmp_path, ["web-1", "web-2"])
        worker.write(b"more")
    assert (tmp_path / "web-1.log.1").read_text() == "twenty characters..."
    assert log.read_text() == "more"


def test_a_log_within_bounds_stays(tmp_path: Path) -> None:
    """The usual case costs one look."""
    (tmp_path / "web-1.log").write_text("short")
    logs.bound(tmp_path, ["web-1"])
    assert [file.name for file in tmp_path.iterdir()] == ["web-1.log"]


def test_logs_of_the_last_workers_that_are_gone_are_kept(tmp_path: Path) -> None:
    """Why did it die? Older ones go, those of living workers never do."""
    for number in range(1, 15):
        log = tmp_path / f"web-{number}.log"
        log.touch()
        (tmp_path / f"web-{number}.log.1").touch()
        os.utime(log, (number, number))
    logs.forget(tmp_path, {"web-1"})
    assert {file.stem for file in tmp_path.glob("*.log")} == {"web-1", *(f"web-{number}" for number in range(5, 15))}
    assert len(list(tmp_path.glob("*.log.1"))) == 11
