"""`make install` and `make uninstall` into an empty root."""

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
    """Run a target as a root whose umask gives other users no permissions."""
    command = ("make", "--silent", target, *(f"{name}={value}" for name, value in variables.items()))
    return subprocess.run(command, cwd=PROJECT, check=False, capture_output=True, text=True, timeout=600, umask=0o077)


def tree(root: Path) -> Mapping[str, str]:
    """Return every file except the program's, with its text."""
    files = (file for file in root.rglob("*") if not file.is_dir() and "lib/prometheus-autoscaler" not in str(file))
    return {str(file.relative_to(root)): file.read_text() if file.exists() else "" for file in files}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A root after `make install`, which contained an older version and a configuration."""
    root = tmp_path_factory.mktemp("root")
    for name in (OLD, CONFIGURATION):
        (root / name).parent.mkdir(parents=True)
        (root / name).write_text("mine")
    done = make("install", DESTDIR=root)
    assert done.returncode == 0, done.stderr
    return root


def test_every_file_is_installed_in_its_place(root: Path) -> None:
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


def test_the_unit_and_the_command_have_the_final_paths(root: Path) -> None:
    """They do not contain DESTDIR."""
    unit = (root / "etc/systemd/system/autoscaler.service").read_text()
    programs = re.findall(r"^Exec\w+=(\S+)", unit, re.MULTILINE)
    assert programs == ["+systemd-tmpfiles", "/usr/local/bin/autoscaler", "+/usr/local/bin/autoscaler"]
    program = "/usr/local/lib/prometheus-autoscaler/bin"
    assert str((root / "usr/local/bin/autoscaler").readlink()) == f"{program}/autoscaler"
    assert (root / f"{program[1:]}/autoscaler").read_text().startswith(f"#!{program}/python3\n")


def test_the_service_s_user_can_read_the_files_with_any_umask_of_root(root: Path) -> None:
    """Otherwise the service does not start, and systemd says only 203/EXEC."""
    places = ("usr", "etc/systemd", "etc/sysusers.d", "etc/tmpfiles.d")
    made = [path for place in places for path in (root / place).rglob("*")]
    assert len(made) > 1000
    closed = [path for path in made if not path.is_symlink() and not path.stat().st_mode & 0o004]
    assert closed == []


def test_the_program_works_with_postgresql_and_without_development_tools(root: Path) -> None:
    python = root / "usr/local/lib/prometheus-autoscaler/bin/python3"
    words = (python, "-m", "autoscaler", "check", PROJECT / "config/demo.yaml")
    done = subprocess.run(words, cwd=root, check=False, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    asked = "import psycopg, importlib.util as u; print([n for n in ('pip', 'pytest', 'tools') if u.find_spec(n)])"
    assert subprocess.check_output((python, "-c", asked), cwd=root, text=True) == "[]\n"


def test_uninstalling_keeps_the_configuration_and_the_state(root: Path) -> None:
    """Its output lists them. This is the last test of this root."""
    state = root / "var/lib/autoscaler/state.db"
    state.parent.mkdir(parents=True)
    state.write_text("remembered")
    done = make("uninstall", DESTDIR=root)
    assert done.returncode == 0, done.stderr
    assert "Kept: " in done.stderr
    assert tree(root) == {CONFIGURATION: "mine", "var/lib/autoscaler/state.db": "remembered"}
    assert not (root / "usr/local/lib/prometheus-autoscaler").exists()
    assert make("uninstall", DESTDIR=root).returncode == 0


def test_a_relative_prefix_is_refused(tmp_path: Path) -> None:
    """It would be written into the unit."""
    done = make("install", DESTDIR=tmp_path, PREFIX="opt")
    assert done.returncode != 0
    assert "PREFIX=opt is not an absolute path" in done.stderr
    assert list(tmp_path.iterdir()) == []
