"""How the adapter runs programs: what they get, and what follows when they fail."""

import json
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from adapters.command import CommandAdapter
from autoscaler.model import Held, TargetRef, Written
from autoscaler.target import TargetDeferred, TargetNotFound, TargetNotWritten, TargetUnavailable
from tests.adapters.command.harness import SHOP, STATE, WEB, WRITTEN, build, call, change, script, seen
from tests.waiting import until


def adapter(folder: Path, observe: str = f"echo '{STATE}'", scale: str = WRITTEN, **env: str) -> CommandAdapter:
    programs = (script(folder, observe, "observe"),), (script(folder, scale, "scale"),)
    return build(*programs, folder, env)


def test_a_program_is_given_names_on_standard_input_and_few_variables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name in an argument or a variable could be taken for an option or a path of a library."""
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    web = TargetRef("test", "--web", region="east")
    look = f"env >{tmp_path}/env; echo $# >{tmp_path}/count; pwd >>{tmp_path}/count; cat >{tmp_path}/input; exit 1"
    with pytest.raises(TargetUnavailable):
        adapter(tmp_path, look, CLOUDSDK_CONFIG="/etc/cloud").observe([web, SHOP], call(80))
    given = (tmp_path / "env").read_text().splitlines()
    assert "CLOUDSDK_CONFIG=/etc/cloud" in given
    assert not [line for line in given if "secret" in line or "web" in line]
    assert (tmp_path / "count").read_text() == "0\n/\n"
    request = json.loads((tmp_path / "input").read_text())
    assert request.keys() == {"version", "now", "secondsLeft", "targets"}
    assert request["targets"] == [{"name": "--web", "region": "east"}, {"name": "shop"}]
    assert 18 < request["secondsLeft"] <= 78  # two are for its end


def test_no_target_runs_no_program(tmp_path: Path) -> None:
    assert build(("/nope",), ("/nope",), tmp_path).observe([], call()) == {}


def test_a_program_that_fails_costs_the_batch_with_its_last_line(tmp_path: Path) -> None:
    """Standard error is foreign text: short, printable, without passwords."""
    broken = adapter(tmp_path, "echo https://me:secret@cloud.example >&2; printf '\\033[31mno network\\n' >&2; exit 3")
    with pytest.raises(TargetUnavailable) as failure:
        broken.observe([WEB, SHOP], call())
    assert str(failure.value) == f"{tmp_path}/observe exited with 3, its last line: \\x1b[31mno network"


def test_output_without_end_is_ended(tmp_path: Path) -> None:
    began = time.monotonic()
    with pytest.raises(TargetUnavailable, match="wrote more than 16,777,216 bytes, and was ended"):
        adapter(tmp_path, "exec cat /dev/zero").observe([WEB], call(120))
    assert time.monotonic() - began < 60, "it waited for the deadline"


def test_output_that_is_too_long_is_not_cut(tmp_path: Path) -> None:
    """Also when its end is only read after the program's: a part could be a right answer."""
    padded = adapter(tmp_path, f"echo '{STATE}'; head -c 16777216 /dev/zero | tr '\\0' ' '")
    with pytest.raises(TargetUnavailable, match="wrote more than 16,777,216 bytes"):
        padded.observe([WEB], call(60))


def test_standard_error_without_end_changes_nothing(tmp_path: Path) -> None:
    """A pipe that is not read would stop the program."""
    talkative = adapter(tmp_path, f"head -c 3000000 /dev/zero >&2; echo '{STATE}'")
    assert seen(talkative).replicas == 3


def test_a_program_that_is_missing_is_named(tmp_path: Path) -> None:
    """It costs the connection's targets; the daemon starts."""
    absent = build((f"{tmp_path}/absent",), (f"{tmp_path}/absent",), tmp_path)
    with pytest.raises(TargetUnavailable, match="/absent cannot be started: No such file"):
        absent.observe([WEB], call())
    assert absent.examine(WEB) == f"{tmp_path}/absent does not exist here; install it, or correct the path"


def test_a_folder_is_no_program(tmp_path: Path) -> None:
    """A user may enter it, which the system calls executing it; no test of the reads tells that no write can work."""
    assert build(("/bin/true",), ("/usr/bin",), tmp_path).examine(WEB) == (
        "/usr/bin is not a program that this user may run; check the path and its permissions"
    )


def test_a_process_that_leaves_the_group_and_keeps_standard_output_delays_nothing(tmp_path: Path) -> None:
    """A program may start a service, whose end nobody knows."""
    began = time.monotonic()
    leaves = f"setsid sleep 100 & echo '{STATE}'"
    assert seen(adapter(tmp_path, leaves)).replicas == 3
    assert time.monotonic() - began < 60, "it waited for the process"


@pytest.mark.parametrize("which", ["observe", ""], ids=["the program", "its folder"])
def test_a_program_that_every_user_may_change_is_not_run(tmp_path: Path, which: str) -> None:
    """Its author would have the daemon's rights."""
    folder = tmp_path / "bin"
    folder.mkdir()
    open_to_all = adapter(folder, f"touch {tmp_path}/ran")
    (folder / which).chmod(0o777)
    with pytest.raises(TargetUnavailable) as failure:
        open_to_all.observe([WEB], call())
    assert str(failure.value).endswith(f"; chmod o-w {folder / which}")
    assert not (tmp_path / "ran").exists()


def test_a_scale_program_that_every_user_may_change_is_found_beforehand(tmp_path: Path) -> None:
    """`check --live` examines it, without running it."""
    writes = adapter(tmp_path)
    state = seen(writes)
    (tmp_path / "scale").chmod(0o757)
    with pytest.raises(TargetNotWritten, match="every user may change it; chmod o-w"):
        writes.scale(WEB, change(state, 5), call())
    assert f"every user may change it; chmod o-w {tmp_path}/scale" in str(writes.examine(WEB))


def test_a_write_is_given_the_decision(tmp_path: Path) -> None:
    writes = adapter(tmp_path, scale=f"cat >{tmp_path}/input; {WRITTEN}")
    wanted = replace(change(seen(writes), 2), victims=("web-1",))
    assert writes.scale(WEB, wanted, call()) == Written(2)
    request = json.loads((tmp_path / "input").read_text())
    assert request["target"] == {"name": "web"}
    assert request["change"] == {
        "id": "1",
        "size": 2,
        "decidedFrom": 3,
        "revision": "7",
        "reason": "the test says so",
        "victims": ["web-1"],
    }


def test_an_operation_that_began_since_the_observation_holds_its_direction(tmp_path: Path) -> None:
    held = STATE.replace('"replicas"', '"hold": {"scaleIn": {"reason": "Rolling", "message": "wait"}}, "replicas"')
    writes = adapter(tmp_path, f"echo '{held}'")
    state = seen(writes)
    assert isinstance(writes.scale(WEB, change(state, 2), call()), Held)
    assert writes.scale(WEB, change(state, 5), call()) == Written(5)


@pytest.mark.parametrize(
    ("scale", "kind", "words"),
    [
        ("echo no >&2; exit 1", TargetUnavailable, "exited with 1, its last line: no; whether test/web was written is"),
        ("kill -9 $$", TargetUnavailable, "was ended by signal 9"),
        ("echo", TargetUnavailable, "is not JSON"),
    ],
)
def test_a_write_that_fails_may_have_been_done(tmp_path: Path, scale: str, kind: type[Exception], words: str) -> None:
    writes = adapter(tmp_path, scale=scale)
    with pytest.raises(kind, match=words):
        writes.scale(WEB, change(seen(writes), 5), call())


def test_a_write_whose_target_cannot_be_read_is_not_done(tmp_path: Path) -> None:
    """Nothing counts under policies."""
    state = seen(adapter(tmp_path))
    for observe in ("exit 1", """echo '{"targets": []}'"""):
        with pytest.raises(TargetNotWritten):
            adapter(tmp_path, observe).scale(WEB, change(state, 5), call())
    gone = """echo '{"targets": [{"target": {"name": "web"}, "error": "NotFound", "message": "gone"}]}'"""
    with pytest.raises(TargetNotFound):
        adapter(tmp_path, gone).scale(WEB, change(state, 5), call())


@pytest.mark.parametrize("asked", [0, 2], ids=["before it observes", "after it"])
def test_a_write_without_time_is_deferred(tmp_path: Path, asked: int) -> None:
    """It goes first in the next cycle."""
    writes = adapter(tmp_path, scale="exit 1")
    state, answers = seen(writes), iter([True] * asked)
    late = replace(call(), is_current=lambda: next(answers, False))
    with pytest.raises(
        TargetDeferred, match=r"^no time is left before the cycle's deadline; the next cycle tries again$"
    ):
        writes.scale(WEB, change(state, 5), late)


@pytest.mark.slow
def test_a_program_and_its_children_end_by_the_deadline(tmp_path: Path) -> None:
    """Also those that ignore SIGTERM. The call returns in time."""
    hangs = f"trap '' TERM; sleep 100 & echo $! >{tmp_path}/child; while :; do sleep 1; done"
    began = time.monotonic()
    with pytest.raises(TargetUnavailable, match="had not ended, and was ended"):
        adapter(tmp_path, hangs).observe([WEB], call(3))
    assert time.monotonic() - began < 60, "it waited for the program"
    child = Path("/proc", (tmp_path / "child").read_text().strip(), "stat")
    until(lambda: not child.exists() or child.read_text().rpartition(")")[2].split()[0] == "Z", "the child to end")


@pytest.mark.slow
def test_the_children_of_a_program_end_with_it(tmp_path: Path) -> None:
    """Otherwise each cycle would leave another process."""
    leaves = f"sleep 100 & echo $! >{tmp_path}/child; echo '{STATE}'"
    assert seen(adapter(tmp_path, leaves)).replicas == 3
    child = Path("/proc", (tmp_path / "child").read_text().strip(), "stat")
    until(lambda: not child.exists() or child.read_text().rpartition(")")[2].split()[0] == "Z", "the child to end")


@pytest.mark.slow
def test_closing_ends_a_program(tmp_path: Path) -> None:
    """A daemon that stops leaves none behind."""
    running = adapter(tmp_path, f"touch {tmp_path}/begun; exec sleep 100")
    with ThreadPoolExecutor(1) as thread:
        asked = thread.submit(running.observe, [WEB], call(60))
        until((tmp_path / "begun").exists, "the program to run")
        running.close()
        with pytest.raises(TargetUnavailable):
            asked.result(30)  # less than the call may last
