"""`autoscaler backup` and `restore`."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from autoscaler.record.housekeeping import Retention
from autoscaler.record.state import State
from tests.cli.scene import UNREACHABLE, Scene, ServedScene


def test_a_backup_says_what_it_holds(online: ServedScene, tmp_path: Path) -> None:
    """The mail of a cron job then shows whether the right state was backed up. The daemon keeps running."""
    said = online.run("backup", str(tmp_path / "a.db"))
    assert (said.code, said.err) == (0, "")
    size = (tmp_path / "a.db").stat().st_size
    assert said.out.startswith(f"{tmp_path}/a.db: 3 autoscalers, the last decision of 20")
    assert said.out.endswith(f"Z, {size:,} bytes, of state {online.folder}/state.db\n")


def test_a_state_without_autoscalers_is_backed_up_only_on_request(offline: Scene, tmp_path: Path) -> None:
    """A nightly backup of a state that nobody uses ended with exit status 0."""
    State.open(None, tmp_path / "empty", Retention()).close()
    there = {"STATE_DIRECTORY": str(tmp_path / "empty")}
    said = offline.run("backup", str(tmp_path / "a.db"), **there)
    assert (said.code, said.out) == (1, "")
    assert f"state {tmp_path}/empty/state.db has no autoscaler; name the right state" in said.err
    assert not (tmp_path / "a.db").exists()
    said = offline.run("backup", "--empty", str(tmp_path / "a.db"), **there)
    assert said.code == 0
    assert said.out.startswith(f"{tmp_path}/a.db: 0 autoscalers, no decision")


def test_a_restored_state_shows_the_same_autoscalers(offline: Scene, tmp_path: Path) -> None:
    """`get` on the other machine shows what it showed on the first."""
    assert offline.run("backup", str(tmp_path / "a.db")).code == 0
    there = {"STATE_DIRECTORY": str(tmp_path / "there")}
    said = offline.run("restore", str(tmp_path / "a.db"), **there)
    assert (said.code, said.err) == (0, "")
    assert said.out.startswith(f"state {tmp_path}/there/state.db: 3 autoscalers, the last decision of 20")
    shown = [json.loads(offline.run("get", "-o", "json", "--server", UNREACHABLE, **env).out) for env in ({}, there)]
    assert shown[0] == shown[1]
    assert [each["name"] for each in shown[0]["autoscalers"]] == ["broken", "jobs", "web"]


def test_replace_keeps_the_previous_state_and_names_its_file(offline: Scene, tmp_path: Path) -> None:
    """Without --replace, `restore` refuses to replace a state."""
    offline.run("backup", str(tmp_path / "a.db"))
    there = {"STATE_DIRECTORY": str(tmp_path / "there")}
    offline.run("restore", str(tmp_path / "a.db"), **there)
    refused = offline.run("restore", str(tmp_path / "a.db"), **there)
    assert (refused.code, refused.out) == (1, "")
    assert "already holds a state; replace it with --replace" in refused.err
    said = offline.run("restore", "--replace", str(tmp_path / "a.db"), **there)
    assert said.code == 0
    assert said.lines[1] == f"the previous state is kept as {tmp_path}/there/state.db.replaced-1"


def test_backup_reads_the_state_that_the_configuration_names(offline: Scene, tmp_path: Path) -> None:
    config = tmp_path / "autoscaler.yaml"
    config.write_text(
        f"state: {{url: 'sqlite:///{tmp_path}/named.db'}}\n"
        "adapters: {fleet: {type: memory, groups: {web: {}}}}\nautoscalers: []\n"
    )
    said = offline.run("backup", str(tmp_path / "a.db"), "--config.file", str(config))
    assert said.code == 1
    assert f"{tmp_path}/named.db does not exist; has the daemon run with this configuration?" in said.err


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes files for another user")
def test_files_that_root_restores_belong_to_the_user_of_the_folder(offline: Scene, tmp_path: Path) -> None:
    """The daemon runs as another user and has to open them."""
    offline.run("backup", str(tmp_path / "a.db"))
    folder = tmp_path / "service"
    folder.mkdir()
    os.chown(folder, 1234, 1234)
    assert offline.run("restore", str(tmp_path / "a.db"), STATE_DIRECTORY=str(folder)).code == 0
    assert {(each.name, each.stat().st_uid) for each in folder.iterdir()} == {
        ("state.db", 1234),
        ("state.db.lock", 1234),
    }


@pytest.mark.slow
def test_the_script_in_the_documentation_backs_up_once_a_day(offline: Scene, tmp_path: Path) -> None:
    """A second run on the same day fails and keeps the first backup."""
    page = Path(__file__).parents[2] / "docs/operations.md"
    found = re.search(r"```sh\n(.*?)```", page.read_text(), re.DOTALL)
    assert found is not None
    script = found[1].replace("/var/backups/autoscaler", str(tmp_path / "backups"))
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = {**os.environ, **offline.env, "PATH": path}
    first = subprocess.run(["/bin/sh", "-c", script], env=environment, capture_output=True, text=True, check=False)
    assert (first.returncode, first.stderr) == (0, "")
    assert "3 autoscalers" in first.stdout
    second = subprocess.run(["/bin/sh", "-c", script], env=environment, capture_output=True, text=True, check=False)
    assert second.returncode == 1
    assert "already exists" in second.stderr
    assert len(list((tmp_path / "backups").iterdir())) == 1
