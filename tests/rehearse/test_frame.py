"""The program that runs the rehearsals must not hide failures."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from rehearse import __main__ as frame
from rehearse.rehearsal import Extent, Rehearsal, Row, run

KEPT = Row(3, "it holds", "3 of 3")
BROKEN = Row(3, "it holds, too", "2 of 3", ["run 2: 5 instead of 4"])


def kept(folder: Path, extent: Extent) -> Iterator[Row]:
    assert not list(folder.iterdir())
    yield KEPT


def broken(folder: Path, extent: Extent) -> Iterator[Row]:
    yield BROKEN


def breaks_off(folder: Path, extent: Extent) -> Iterator[Row]:
    yield KEPT
    raise AssertionError("the daemon did not start")


def with_these(monkeypatch: pytest.MonkeyPatch, found: Mapping[str, Rehearsal]) -> None:
    monkeypatch.setattr(frame, "REHEARSALS", found)


def test_a_broken_promise_is_shown_and_fails_the_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with_these(monkeypatch, {"one": Rehearsal("breaks", broken), "two": Rehearsal("holds", kept)})
    assert frame.main([]) == 1
    told = capsys.readouterr().out
    assert [line.split()[-1] for line in told.splitlines() if "it holds" in line] == ["FAILED", "ok"]
    assert "! run 2: 5 instead of 4" in told
    assert "1 promises not kept" in told
    assert frame.main(["--only", "two"]) == 0


def test_a_rehearsal_with_an_error_fails_and_the_next_one_runs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with_these(monkeypatch, {"one": Rehearsal("breaks off", breaks_off), "two": Rehearsal("holds", kept)})
    assert frame.main([]) == 1
    told = capsys.readouterr().out
    assert "AssertionError: the daemon did not start" in told
    assert told.count("it holds") == 2


def test_a_rehearsal_without_a_selected_case_fails() -> None:
    """Otherwise a renamed case would pass for ever."""
    rows = run(Rehearsal("has no such case", lambda folder, extent: iter(())), Extent(cases=["moved"]))
    assert [row.ok for row in rows] == [False]
