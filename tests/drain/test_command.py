"""Drains by a command: what it is given, how it succeeds, and that it ends."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import pytest

from autoscaler.model import AwaitingDrain, DrainOutcome
from autoscaler.rules.drain import DrainRule
from tests.drain.backend import BackEnd, Shard
from tests.waiting import until

ONE = AwaitingDrain("i-1", ("10.0.0.1", "10.0.0.2"))


@contextmanager
def shard(script: str, seconds: float = 60, one: AwaitingDrain = ONE) -> Iterator[Shard]:
    """A shard whose drains run this script of `sh`, after the cycle that sees one instance wait."""
    made = Shard(BackEnd(), DrainRule(timedelta(seconds=seconds), command=("/bin/sh", "-c", script)))
    made.cycle(one)
    try:
        yield made
    finally:
        made.drainer.close()


def test_a_command_that_succeeds_drains(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It has the instance's name and address, and of the daemon's variables only those of a worker."""
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("LANG", "C")
    with shard(f"env > {tmp_path}/env") as made:
        assert made.wait_for_release("i-1").outcome is DrainOutcome.DONE
        assert made.back.released == ["i-1"]
    lines = dict(line.split("=", 1) for line in (tmp_path / "env").read_text().splitlines())
    given = {name: value for name, value in lines.items() if name.startswith("AUTOSCALER_")}
    assert given == {"AUTOSCALER_INSTANCE": "i-1", "AUTOSCALER_ADDRESS": "10.0.0.1"}
    assert lines["LANG"] == "C"
    assert "AWS_SECRET_ACCESS_KEY" not in lines


def test_a_command_that_fails_is_tried_again(tmp_path: Path) -> None:
    """The last line of its output and its exit code say why."""
    script = f"test -e {tmp_path}/ok && exit 0; echo first; echo 'no such host' >&2; exit 3"
    with shard(script) as made:
        made.wait_for_detail("i-1", "/bin/sh exited with 3, its last line: no such host")
        assert made.back.released == []
        (tmp_path / "ok").touch()
        report = made.wait_for_release("i-1")
        assert (report.outcome, report.detail) == (DrainOutcome.DONE, "")
        assert made.logger.events == ["drain_goes_on", "drain_ended"]


def test_a_command_that_cannot_be_started_is_said(tmp_path: Path) -> None:
    """The program may be missing on one host alone."""
    made = Shard(BackEnd(), DrainRule(timedelta(seconds=60), command=(f"{tmp_path}/drain",)))
    made.cycle(ONE)
    made.wait_for_detail("i-1", f"{tmp_path}/drain cannot be started: No such file or directory")
    made.drainer.close()


def runs(file: Path) -> bool:
    """Whether the process that wrote its id into the file runs."""
    status = Path(f"/proc/{file.read_text().strip()}/stat")
    return status.exists() and status.read_text().rpartition(")")[2].split()[0] != "Z"


@pytest.mark.slow
def test_at_the_timeout_the_command_and_its_children_end(tmp_path: Path) -> None:
    """The instance is released, and no program of the drain is left."""
    script = f"sh -c 'echo $$ > {tmp_path}/child; exec sleep 100' & echo $$ > {tmp_path}/self; wait; sleep 100"
    with shard(script, seconds=6) as made:
        report = made.wait_for_release("i-1")
        assert report.outcome is DrainOutcome.TIMED_OUT
        assert report.detail == "/bin/sh had not ended, and was ended"
        assert not runs(tmp_path / "self")
        until(lambda: not runs(tmp_path / "child"), "the child to end")


@pytest.mark.slow
def test_a_command_that_ignores_sigterm_is_killed(tmp_path: Path) -> None:
    """An instance must not wait for a program that hangs."""
    with shard(f"trap '' TERM; echo $$ > {tmp_path}/self; while :; do sleep 1; done", seconds=6) as made:
        assert made.wait_for_release("i-1").outcome is DrainOutcome.TIMED_OUT
        assert not runs(tmp_path / "self")


@pytest.mark.slow
def test_closing_ends_the_command_and_lets_nothing_go(tmp_path: Path) -> None:
    """The next daemon begins it anew; two at a time would be one too many."""
    with shard(f"echo $$ > {tmp_path}/self; sleep 100") as made:
        until((tmp_path / "self").exists, "the command to run")
        made.drainer.close()
        until(lambda: not runs(tmp_path / "self"), "the command to end")
        assert made.back.released == []


@pytest.mark.slow
def test_a_long_command_keeps_its_instance_waiting(tmp_path: Path) -> None:
    """AWS would continue at the hook's heartbeat."""
    with shard("sleep 100", one=AwaitingDrain("i-1", heartbeat=timedelta(seconds=0.9))) as made:
        until(lambda: len(made.back.extended) >= 3, "three heartbeats")
        assert made.back.released == []


def test_much_output_does_not_stop_a_command() -> None:
    """An unread pipe holds 64 KiB."""
    with shard("head -c 1000000 /dev/zero | tr '\\0' 'x'; exit 0") as made:
        assert made.wait_for_release("i-1").outcome is DrainOutcome.DONE
