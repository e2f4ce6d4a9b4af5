"""The scripts of the packages that complete commands, in real shells."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from autoscaler.cli.app import COMMANDS
from tests.cli.scene import UNREACHABLE
from tests.servers.required import require
from tools.extras import completion

pytestmark = pytest.mark.slow
BIN = Path(sys.executable).parent


def run(*words: str) -> str:
    """Return what the command prints, with `autoscaler` on PATH and without a daemon."""
    path = f"{BIN}:{os.environ['PATH']}"
    environment = {"PATH": path, "AUTOSCALER_SERVER": UNREACHABLE, "LC_ALL": "C.UTF-8"}
    done = subprocess.run(words, env=environment, check=False, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def shell(name: str) -> str:
    found = shutil.which(name)
    return found if found is not None else require(f"{name} is not installed; install Debian's package {name}")


def in_bash(*words: str) -> list[str]:
    """Return what bash offers for the last word."""
    line = " ".join(f"'{word}'" for word in words)
    asked = f"COMP_WORDS=(autoscaler {line}); COMP_CWORD={len(words)}; _autoscaler_completion autoscaler"
    script = f'{completion("bash")}\n{asked}; printf "%s\\n" "${{COMPREPLY[@]}}"'
    return run(shell("bash"), "--norc", "-c", script).split()


def test_bash_completes_commands() -> None:
    assert in_bash("de") == ["describe"]
    assert in_bash("") == list(COMMANDS)


def test_bash_registers_the_script_for_the_command() -> None:
    """Where the script offers nothing, bash offers file names."""
    script = f"{completion('bash')}\ncomplete -p autoscaler"
    assert run(shell("bash"), "--norc", "-c", script) == "complete -o default -F _autoscaler_completion autoscaler\n"


def test_zsh_completes_at_the_first_tab(tmp_path: Path) -> None:
    """Zsh loads the file at the first tab and calls it at once."""
    (tmp_path / "_autoscaler").write_text(completion("zsh"))
    script = (
        f"fpath=({tmp_path} $fpath); autoload -Uz compinit; compinit -D -u; _arguments() {{ print -r -- $2 $1 }};"
        "words=(autoscaler ov); CURRENT=2; $_comps[autoscaler]"
    )
    assert "override" in run(shell("zsh"), "-f", "-c", script)


def test_fish_completes_commands_and_options(tmp_path: Path) -> None:
    file = tmp_path / "autoscaler.fish"
    file.write_text(completion("fish"))
    script = f"set -x HOME {tmp_path}; source {file}; complete -C 'autoscaler hist'; complete -C 'autoscaler get --wat'"
    offered = run(shell("fish"), "--no-config", "-c", script).splitlines()
    assert [line.split("\t")[0] for line in offered] == ["history", "--watch"]
