"""What a process inherits from its parent changes nothing: signals, and standard streams that are closed."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.adapters.command.harness import script
from tests.daemon.running import RunningDaemon, autoscaler, command, environment, write_config
from tests.waiting import PATIENCE_SECONDS

pytestmark = pytest.mark.slow
STATE = {"targets": [{"target": {"name": "web"}, "replicas": 2, "revision": "7"}]}


def inherit(number: signal.Signals) -> Callable[[], None]:
    """Return what a parent does that blocks every signal and ignores this one."""

    def prepare() -> None:
        signal.signal(number, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())

    return prepare


@pytest.mark.parametrize("ignored", [signal.SIGCHLD, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1])
def test_a_daemon_works_and_ends_whatever_its_parent_does_with_signals(tmp_path: Path, ignored: signal.Signals) -> None:
    """Some supervisors ignore SIGCHLD or block signals while they start a program. With the first, no program of the
    adapter `command` ended well; with the second, SIGTERM ended nothing.
    """
    statuses = tmp_path / "statuses"
    look = (
        """while read -r key value; do case $key in SigBlk:|SigIgn:) echo $key $value;; esac; done </proc/self/status"""
    )
    read = script(tmp_path, f"{look} >{statuses}\necho '{json.dumps(STATE)}'")  # a fork of `sh` blocks signals
    adapters = {"own": {"type": "command", "observe": [read], "scale": [read]}}
    config = write_config(tmp_path, "http://127.0.0.1:1", [autoscaler("web", "vector(1)", "own")], adapters)
    stderr = tmp_path / "stderr"
    with stderr.open("wb") as log:
        process = subprocess.Popen(
            command(config),
            stderr=log,
            env=environment(tmp_path / "state"),
            preexec_fn=inherit(ignored),  # noqa: PLW1509 - no other way sets what a child inherits; it takes no lock
        )
    try:
        daemon = RunningDaemon(process, config, stderr)
        decision = daemon.wait_for("decision", autoscaler="web")
        assert decision["current"] == 2
        daemon.send(signal.SIGHUP)
        daemon.wait_for("reloaded")
        assert daemon.stop() == 0
    finally:
        process.kill()
        process.wait()
    blocked, handled = (int(line.split()[1], 16) for line in statuses.read_text().splitlines())
    assert blocked == 0
    assert not handled & 1 << (ignored - 1)


def run(words: Sequence[str], state: Path, closed: Sequence[int] = ()) -> subprocess.CompletedProcess[bytes]:
    def close() -> None:
        for number in closed:
            os.close(number)

    return subprocess.run(
        [sys.executable, "-m", "autoscaler", *words],
        env=environment(state),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        timeout=PATIENCE_SECONDS,
        preexec_fn=close,
    )


@pytest.mark.parametrize(
    ("words", "code"), [(["create", "web"], 2), (["import", "-"], 1), (["check", "missing"], 1), (["--version"], 0)]
)
def test_closed_standard_streams_change_no_exit_code(tmp_path: Path, words: Sequence[str], code: int) -> None:
    """Shell scripts close what they do not read (`>&-`)."""
    for closed in ((0,), (1,), (2,), (0, 1, 2)):
        said = run(words, tmp_path, closed)
        assert (said.returncode, b"Traceback" in said.stderr) == (code, False)


def test_a_name_that_is_no_text_is_shown(tmp_path: Path) -> None:
    """A file's name may hold any bytes, and no encoding has a form for them."""
    for name in (b"\xff.yaml", "東京.yaml".encode()):
        call: list[str | bytes] = [sys.executable, "-m", "autoscaler", "check", os.fsencode(tmp_path) + b"/" + name]
        for encoding in ("utf-8", "ascii"):
            env = environment(tmp_path) | {"PYTHONIOENCODING": encoding}
            said = subprocess.run(call, env=env, capture_output=True, check=False, timeout=PATIENCE_SECONDS)
            assert said.returncode == 1
            assert b"No such file" in said.stdout
            assert b"Traceback" not in said.stderr
