"""The states and sizes of the reference adapter's groups."""

import errno
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from adapters.memory import Memory
from adapters.memory.settings import MemorySettings
from autoscaler.target import (
    Call,
    ScaleChange,
    TargetNotWritten,
    TargetRef,
    TargetState,
    TargetUnavailable,
    Written,
)
from autoscaler.target.contract import make_context

NOW = datetime(2026, 1, 1, tzinfo=UTC)
CALL = Call(NOW, float("inf"))
WEB = TargetRef("trial", "web")


def settings(**group: Any) -> MemorySettings:
    return MemorySettings.model_validate({"groups": {"web": group, "batch": {}}})


def build(folder: Path, **group: Any) -> Memory:
    return Memory(make_context(settings(**group), folder))


def seen(adapter: Memory, call: Call = CALL) -> TargetState:
    state = adapter.observe([WEB], call)[WEB]
    assert isinstance(state, TargetState)
    return state


def scale(adapter: Memory, size: int) -> None:
    state = seen(adapter)
    change = ScaleChange("1", size, state.replicas, state.revision, "the test says so")
    assert adapter.scale(WEB, change, CALL) == Written(size)


def test_a_group_begins_at_its_initial_size_and_is_ready(tmp_path: Path) -> None:
    state = seen(build(tmp_path, initialReplicas=2))
    assert [(one.name, one.ready) for one in state.instances] == [("web-1", True), ("web-2", True)]


def test_observing_writes_nothing(tmp_path: Path) -> None:
    """A dry run and `check --live` only read."""
    seen(build(tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_a_size_outlasts_a_restart_and_another_configuration(tmp_path: Path) -> None:
    """Otherwise each reload would look like another client's change."""
    scale(build(tmp_path, initialReplicas=2), 5)
    assert seen(build(tmp_path, initialReplicas=3)).replicas == 5


def test_a_new_member_is_ready_after_its_startup_time(tmp_path: Path) -> None:
    """HPA handles unready instances specially; this group shows it."""
    adapter = build(tmp_path, startupTime="30s")
    scale(adapter, 2)
    early, late = (seen(adapter, replace(CALL, now=NOW + timedelta(seconds=after))) for after in (29, 30))
    assert [one.ready for one in early.instances] == [True, False]
    assert [one.ready for one in late.instances] == [True, True]
    assert late.instances[1].ready_transition == NOW + timedelta(seconds=30)


@pytest.mark.parametrize(
    "content",
    ["", "3", '{"born": 1, "members": ["web-1"]}', '{"born": 1}', '{"born": 1, "members": {}, "size": 1}', "\x00"],
)
def test_a_damaged_record_affects_only_its_own_group(tmp_path: Path, content: str) -> None:
    """It is neither a size of zero nor a traceback."""
    adapter, batch = build(tmp_path), TargetRef("trial", "batch")
    (tmp_path / "web.json").write_text(content)
    answer = adapter.observe([WEB, batch], CALL)
    assert isinstance(answer[WEB], TargetUnavailable)
    assert "web.json is not a valid record of a group; repair it" in str(answer[WEB])
    assert isinstance(answer[batch], TargetState)


def test_a_write_that_fails_says_that_nothing_was_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    adapter = build(tmp_path)
    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(TargetNotWritten, match="trial/web was not written"):
        scale(adapter, 2)
    assert seen(adapter).replicas == 1


@pytest.mark.parametrize(
    "section",
    [
        {},
        {"groups": {}},
        {"groups": {"../web": {}}},
        {"groups": {"web": {"initialReplicas": 0}}},
        {"groups": {"web": {"startupTime": "-1s"}}},
        {"groups": {"web": {"size": 3}}},
    ],
    ids=["nothing", "no groups", "a path", "size 0", "negative time", "unknown key"],
)
def test_a_section_that_cannot_work_is_refused(section: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        MemorySettings.model_validate(section)
