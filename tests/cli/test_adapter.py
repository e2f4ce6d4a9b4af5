"""`autoscaler adapter test`, on a group in memory and on a program that breaks promises."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from typer.testing import CliRunner

from autoscaler.cli.app import app
from autoscaler.target.contract import AdapterContract
from tests.adapters.command.harness import WRITTEN, script

_PROMISES = [name for name in vars(AdapterContract) if name.startswith("test_")]
_ONE_MEMBER = '{"targets": [{"target": {"name": "web"}, "replicas": 1, "instances": [{"name": "web-a"}]}]}'


def write(folder: Path, program: str = "/bin/false") -> Path:
    """Write a configuration with groups in memory, and with a connection `groups` that has this program."""
    file = folder / "autoscaler.yaml"
    memory = "{type: memory, groups: {web: {}, fixed: {scalable: false}}}"
    programs = ", ".join(f"{verb}: [{program}, {verb}]" for verb in ("observe", "scale"))
    pools = "{type: process, pools: {web: {command: x}}}"
    adapters = f"{{memory: {memory}, groups: {{type: command, {programs}}}, pools: {pools}}}"
    file.write_text(f"adapters: {adapters}\nautoscalers: []\n")
    return file


def run(file: Path, *words: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, ["adapter", "test", *words, "--config.file", str(file)], prog_name="autoscaler")
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, done.output


def verdicts(output: str) -> Mapping[str, str]:
    """Return promise -> verdict."""
    lines = [line.split(maxsplit=1) for line in output.splitlines()[:-1]]
    return {rest.partition(":")[0]: verdict for verdict, rest in lines}


def test_an_adapter_that_keeps_all_promises_passes(tmp_path: Path) -> None:
    """Each promise of the suite is named; what the connection cannot show is skipped with the reason."""
    can = ["--to-zero", "--victims", "--unscalable", "fixed"]
    code, said = run(write(tmp_path), "memory", "web", *can, "--patience", "0")
    assert code == 0, said
    assert list(verdicts(said)) == [name.removeprefix("test_").replace("_", " ") for name in _PROMISES]
    assert said.splitlines()[-1] == f"{len(_PROMISES)} promises: {len(_PROMISES) - 4} kept, 0 broken, 4 skipped"
    assert "skipped  writes side by side do not mix: this adapter takes one write at a time" in said


def test_a_program_that_ignores_the_size_breaks_the_promises_of_writes(tmp_path: Path) -> None:
    """It fails, and its author reads what was expected. What does not depend on sizes is kept."""
    lazy = script(tmp_path, f"if [ $1 = observe ]; then echo '{_ONE_MEMBER}'; else {WRITTEN}; fi")
    code, said = run(write(tmp_path, lazy), "groups", "web", "--patience", "0")
    found = verdicts(said)
    assert code == 1
    assert found["scale out comes to pass and keeps the instances that run"] == "BROKEN"
    assert found["the same size is unchanged"] == "ok"
    assert found["scaling to zero and back"] == found["named victims leave first"] == "skipped"
    assert "should come to ask for the 3 just written within 0 s; last seen: TargetState(replicas=1" in said


@pytest.mark.parametrize(
    ("words", "code", "words_of_error"),
    [
        (["group", "web"], 1, "autoscaler.yaml has no connection 'group'; did you mean `groups`?"),
        (["groups", " "], 1, "TARGET: it is empty; write a name that the programs know"),
        (["groups", "web"], 1, "groups/web cannot be read, so no promise was tested"),
        (["pools", "web"], 1, "an adapter of type 'process' keeps its targets running by itself; it is not tested"),
        (["groups", "web", "--small", "2", "--large", "3"], 2, "must be at least 2 more than --small"),
    ],
)
def test_a_target_that_cannot_be_tested_is_refused(
    tmp_path: Path, words: list[str], code: int, words_of_error: str
) -> None:
    """Nothing is scaled."""
    program = script(tmp_path, f"[ $1 = observe ] || touch {tmp_path}/scaled; exit 1")
    found, said = run(write(tmp_path, program), *words)
    assert found == code
    assert words_of_error in " ".join(said.split())
    assert not (tmp_path / "scaled").exists()
