"""Looks at teams' folders, turn by turn, without their threads."""

from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest
import yaml

from autoscaler.config.loader import load
from autoscaler.config.settings import Settings
from autoscaler.runtime import folders as looks
from autoscaler.runtime.outside import Outside
from autoscaler.runtime.policies import Finding
from autoscaler.runtime.wanted import wanted_shards
from autoscaler.target.scaled import AS_WRITTEN
from tests.clocks import FakeClock
from tests.config.folders import Folders, names, scaler
from tests.web.serving import Logged


class Followed:
    """The folders, and the settings that a daemon follows."""

    def __init__(self, folders: Folders) -> None:
        self.folders = folders
        self.settings: Settings = load(folders.path)
        self.clock = FakeClock()
        self.asked = 0
        nothing: Any = None
        self.outside = Outside(nothing, self.clock, Logged())
        self.outside.follow(self.settings)

    def _turn(self) -> None:
        one = self.outside._sources[""]
        assert isinstance(one.source, looks.Folders)
        found = one.source._turn(self.outside._known())
        if found is not None:
            one.looking = Future()
            one.looking.set_result(Finding(found))
            self.outside._take_up("", one)
        if self.outside._changed or self.outside._new_names.due(self.clock.monotonic()):
            self.asked += 1
            self.settings = self.outside.changed()
            self.outside.follow(self.settings)

    def turn(self, times: int = 1) -> list[str]:
        for _ in range(times):
            self._turn()
        return names(self.settings)


@pytest.fixture
def followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Followed:
    monkeypatch.setattr("autoscaler.runtime.folders._REST_SECONDS", 0)
    monkeypatch.setattr("autoscaler.runtime.folders._LOOK_SECONDS", 0.01)
    folders = Folders(tmp_path)
    folders.write("pay", "api.yaml", scaler("pay-api"))
    return Followed(folders)


def test_a_file_is_read_when_two_looks_find_it_alike(followed: Followed) -> None:
    """One that is being written may be half there."""
    path = followed.folders.write("shop", "web.yaml", scaler("shop-web"))
    assert followed.turn() == ["pay-api"]
    path.write_text(yaml.safe_dump([scaler("shop-new"), scaler("shop-api")]))
    assert followed.turn() == ["pay-api"]
    assert followed.turn() == ["pay-api", "shop-new", "shop-api"]
    assert followed.asked == 1


def test_a_team_that_writes_without_end_waits_and_its_neighbour_does_not(followed: Followed) -> None:
    """Its next change waits for a multiple of what the last one cost."""
    followed.folders.write("shop", "web.yaml", scaler("shop-web"))
    followed.turn(2)
    followed.folders.write("shop", "web.yaml", scaler("shop-web"), scaler("shop-api"))
    followed.folders.write("pay", "api.yaml", scaler("pay-new"))
    assert followed.turn(5) == ["pay-new", "shop-web"]
    followed.clock.advance(2)
    assert followed.turn() == ["pay-new", "shop-web", "shop-api"]


def test_a_folder_that_is_closed_and_opened_again_waits_too(followed: Followed) -> None:
    """Each time the daemon follows costs all teams the same."""
    folder = followed.folders.teams / "shop"
    for mode in (0o777, 0o755) * 5:
        folder.chmod(mode)
        followed.turn()
    assert followed.asked <= 2
    followed.clock.advance(2)
    followed.turn()
    assert followed.settings.refused == {}


def test_a_disk_that_is_not_mounted_is_named_and_lets_nothing_go(followed: Followed) -> None:
    """Its mount point is an empty folder. `get --discovered` has the reason, the log one line."""
    folder = followed.folders.teams / "pay"
    folder.rename(followed.folders.teams / ".pay")
    folder.mkdir()
    assert followed.turn(5) == ["pay-api"]
    assert followed.asked == 1
    (file,) = followed.outside.document().files
    assert file.autoscalers == ("pay-api",)
    assert (file.refused or "").startswith("the folder is empty, and another one than that of its files")
    folder.rmdir()
    (followed.folders.teams / ".pay").rename(folder)
    followed.clock.advance(2)
    assert followed.turn(2) == ["pay-api"]
    assert followed.outside.document().files[0].refused is None


def test_no_adapter_is_built_anew_for_a_team_s_change(followed: Followed) -> None:
    """Also not for a dry run that begins: the shard of all teams goes on in its epoch."""
    before = wanted_shards(followed.settings, AS_WRITTEN)
    followed.folders.write("shop", "web.yaml", scaler("shop-web", dryRun=True))
    followed.turn(2)
    after = wanted_shards(followed.settings, AS_WRITTEN)
    assert [len(each.scalers) for each in (*before.values(), *after.values())] == [1, 2]
    assert [each.adapter for each in before.values()] == [each.adapter for each in after.values()]


def test_a_team_that_renames_without_end_is_held_back_and_its_neighbour_is_not(followed: Followed) -> None:
    """Fifty names a second would fill the state; what was there stays served, and the rest comes as the hour passes."""
    followed.folders.write("shop", "web.yaml", scaler("shop-web"))
    followed.turn(2)
    for number in range(130):
        followed.clock.advance(2)
        followed.folders.write("shop", "web.yaml", scaler(f"shop-web{number}"))
        followed.turn(2)
    (problem,) = followed.settings.refused["shop"]
    assert "the grant has brought 100 new names within an hour" in problem.message
    assert names(followed.settings) == ["pay-api"]
    followed.folders.write("shop", "web.yaml", scaler("shop-web5"))
    followed.folders.write("pay", "api.yaml", scaler("pay-new"))
    followed.clock.advance(2)
    assert followed.turn(2) == ["pay-new", "shop-web5"]
    followed.folders.write("shop", "web.yaml", scaler("shop-later"))
    followed.clock.advance(2)
    assert followed.turn(2) == ["pay-new"]
    followed.clock.advance(3600)
    assert followed.turn(2) == ["pay-new", "shop-later"]
    assert followed.settings.refused == {}


def test_a_folder_with_many_names_is_taken_in_by_a_start(followed: Followed) -> None:
    """Only names that a running daemon did not have count."""
    followed.folders.write("shop", "web.yaml", *(scaler(f"shop-web{number}") for number in range(5)))
    assert len(load(followed.folders.path).autoscalers) == 6
