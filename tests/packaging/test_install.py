"""`make install` and `make uninstall`, into an empty root."""

import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.packaging.artefacts import PROJECT

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

CONFIGURATION = "etc/autoscaler/autoscaler.yaml"
OLD = "usr/local/lib/prometheus-autoscaler/lib/an_older_module.py"


def make(target: str, **variables: str | Path) -> subprocess.CompletedProcess[str]:
    """By a root whose own files are for nobody else."""
    command = ("make", "--silent", target, *(f"{name}={value}" for name, value in variables.items()))
    return subprocess.run(command, cwd=PROJECT, check=False, capture_output=True, text=True, timeout=600, umask=0o077)


def tree(root: Path) -> Mapping[str, str]:
    """Every file but the program's own, with its text."""
    files = (file for file in root.rglob("*") if not file.is_dir() and "lib/prometheus-autoscaler" not in str(file))
    return {str(file.relative_to(root)): file.read_text() if file.exists() else "" for file in files}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `make install` made of a root in which an older version was, with a configuration of its own."""
    root = tmp_path_factory.mktemp("root")
    for name in (OLD, CONFIGURATION):
        (root / name).parent.mkdir(parents=True)
        (root / name).write_text("mine")
    done = make("install", DESTDIR=root)
    assert done.returncode == 0, done.stderr
    return root


def test_everything_is_where_the_machine_looks_for_it(root: Path) -> None:
    assert set(tree(root)) == {
        "usr/local/bin/autoscaler",
        "usr/local/share/bash-completion/completions/autoscaler",
        "usr/local/share/fish/vendor_completions.d/autoscaler.fish",
        "usr/local/share/man/man1/autoscaler.1",
        "usr/local/share/man/man5/autoscaler.yaml.5",
        "usr/local/share/zsh/site-functions/_autoscaler",
        "etc/systemd/system/autoscaler.service",
        "etc/sysusers.d/autoscaler.conf",
        "etc/tmpfiles.d/autoscaler.conf",
        CONFIGURATION,
    }


def test_an_older_version_is_replaced_and_the_configuration_kept(root: Path) -> None:
    """A second `make install` is the way to upgrade."""
    assert not (root / OLD).exists()
    assert (root / CONFIGURATION).read_text() == "mine"


def test_the_unit_and_the_command_name_the_final_place(root: Path) -> None:
    """Whatever DESTDIR says: what is below it is moved to where it is used."""
    unit = (root / "etc/systemd/system/autoscaler.service").read_text()
    programs = re.findall(r"^Exec\w+=(\S+)", unit, re.MULTILINE)
    assert programs == ["+systemd-tmpfiles", "/usr/local/bin/autoscaler", "+/usr/local/bin/autoscaler"]
    program = "/usr/local/lib/prometheus-autoscaler/bin"
    assert str((root / "usr/local/bin/autoscaler").readlink()) == f"{program}/autoscaler"
    assert (root / f"{program[1:]}/autoscaler").read_text().startswith(f"#!{program}/python3\n")


def test_whatever_root_s_umask_the_service_s_user_may_use_it(root: Path) -> None:
    """Where it is 077 the service would not start: systemd says 203/EXEC, and not why."""
    places = ("usr", "etc/systemd", "etc/sysusers.d", "etc/tmpfiles.d")
    made = [path for place in places for path in (root / place).rglob("*")]
    assert len(made) > 1000
    closed = [path for path in made if not path.is_symlink() and not path.stat().st_mode & 0o004]
    assert closed == []


def test_the_program_works_and_can_use_postgresql(root: Path) -> None:
    """In the environment that was made, which holds no development tool."""
    python = root / "usr/local/lib/prometheus-autoscaler/bin/python3"
    words = (python, "-m", "autoscaler", "check", PROJECT / "config/demo.yaml")
    done = subprocess.run(words, cwd=root, check=False, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    asked = "import psycopg, importlib.util as u; print([n for n in ('pip', 'pytest', 'tools') if u.find_spec(n)])"
    assert subprocess.check_output((python, "-c", asked), cwd=root, text=True) == "[]\n"


def test_uninstalling_keeps_what_was_written_by_people_and_by_the_daemon(root: Path) -> None:
    """And says so. The last test of this root."""
    state = root / "var/lib/autoscaler/state.db"
    state.parent.mkdir(parents=True)
    state.write_text("remembered")
    done = make("uninstall", DESTDIR=root)
    assert done.returncode == 0, done.stderr
    assert "Kept: " in done.stderr
    assert tree(root) == {CONFIGURATION: "mine", "var/lib/autoscaler/state.db": "remembered"}
    assert not (root / "usr/local/lib/prometheus-autoscaler").exists()
    assert make("uninstall", DESTDIR=root).returncode == 0


def test_a_prefix_that_is_not_a_whole_path_is_refused(tmp_path: Path) -> None:
    """It would be written into the unit."""
    done = make("install", DESTDIR=tmp_path, PREFIX="opt")
    assert done.returncode != 0
    assert "PREFIX=opt is not an absolute path" in done.stderr
    assert list(tmp_path.iterdir()) == []
