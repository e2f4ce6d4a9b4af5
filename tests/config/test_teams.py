"""The folders of teams: what is read, what keeps its last good version, and what costs no other team."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from autoscaler.config.large_file import load_for_daemon
from autoscaler.config.loader import load
from autoscaler.config.origins import origins_of
from autoscaler.config.outside import read_outside
from autoscaler.config.settings import Settings
from autoscaler.config.team_files import MAX_BYTES, MAX_FILES, look, read_team_file
from autoscaler.config.teams import changed_files, follow
from autoscaler.errors import ConfigError
from tests.config.folders import Folders, names, scaler

EMPTY: list[Any] = []


@pytest.fixture
def folders(tmp_path: Path) -> Folders:
    return Folders(tmp_path)


def problems(settings: Settings, team: str) -> str:
    return "\n".join(map(str, settings.refused.get(team, ())))


def test_each_team_is_served_under_its_grant(folders: Folders) -> None:
    folders.main(scaler("main"))
    folders.write("shop", "web.yaml", scaler("shop-web"), scaler("shop-api", maxReplicas=50))
    folders.write("pay", "api.yml", scaler("pay-api"))
    settings = load(folders.path)
    assert names(settings) == ["main", "pay-api", "shop-web", "shop-api"]
    assert settings.autoscalers[-1].max_replicas == 20
    (hint,) = settings.hints
    assert hint.message == "maxReplicas 50 counts as 20, the grant's; lower it, or ask for a higher one"
    assert settings.owners == {"pay-api": "pay", "shop-web": "shop", "shop-api": "shop"}
    assert settings.refused == {}


def test_a_wrong_file_keeps_its_last_good_version_and_its_neighbours(folders: Folders) -> None:
    path = folders.write("shop", "web.yaml", scaler("shop-web"))
    folders.write("shop", "other.yaml", scaler("shop-other"))
    folders.write("pay", "api.yaml", scaler("pay-api"))
    before = load(folders.path)
    folders.text("shop", "web.yaml", "- name: [\n")
    folders.write("shop", "other.yaml", scaler("shop-other", maxReplicas=7))
    after = folders.after(before)
    assert names(after) == names(before)
    assert {each.name: each.max_replicas for each in after.autoscalers}["shop-other"] == 7
    assert f"{path}:2:1: invalid YAML" in problems(after, "shop")
    assert after.refused.keys() == {"shop"}
    folders.write("shop", "web.yaml", scaler("shop-new"))
    mended = folders.after(after)
    assert (names(mended), mended.refused) == (["pay-api", "shop-other", "shop-new"], {})


def test_a_wrong_file_has_no_version_after_a_restart(folders: Folders) -> None:
    """A daemon reads only what is there; the state keeps what it remembers of these autoscalers."""
    folders.text("shop", "web.yaml", "[")
    folders.write("pay", "api.yaml", scaler("pay-api"))
    settings = load(folders.path)
    assert names(settings) == ["pay-api"]
    assert "web.yaml" in problems(settings, "shop")


def test_an_unchanged_file_is_not_read_again(folders: Folders, monkeypatch: pytest.MonkeyPatch) -> None:
    """A change of one file costs what that file costs."""
    folders.write("shop", "web.yaml", scaler("shop-web"))
    folders.write("pay", "api.yaml", scaler("pay-api"))
    before, read = load(folders.path), list[str]()

    def noted(text: str, file: str, *more: Any) -> Any:
        read.append(Path(file).name)
        return read_outside(text, file, *more)

    monkeypatch.setattr("autoscaler.config.origins.read_outside", noted)
    folders.write("shop", "web.yaml", scaler("shop-web", maxReplicas=9))
    after = folders.after(before)
    assert read == ["web.yaml"]
    assert after.autoscalers[0] is before.autoscalers[0], "a shard sees that it has not changed"
    assert after.digest != before.digest, "daemons that share a state compare it"
    (folders.teams / "shop" / "web.yaml").touch()
    assert folders.after(after).autoscalers[1] is after.autoscalers[1], "nor one with another time and the same text"
    folders.grants["pay"]["maxQueries"] = 7
    folders.main()
    load_for_daemon(folders.path, before=origins_of(after))
    assert read == ["web.yaml", "api.yaml"], "under another grant, the files of its team alone"


def test_a_file_that_is_gone_lets_its_autoscalers_go(folders: Folders) -> None:
    folders.write("shop", "web.yaml", scaler("shop-web"))
    path = folders.write("shop", "api.yaml", scaler("shop-api"))
    before = load(folders.path)
    path.unlink()
    assert names(folders.after(before)) == ["shop-web"]


def test_a_file_that_may_only_be_replaced_is_kept(folders: Folders) -> None:
    """An editor may remove a file before it writes the new one."""
    path = folders.write("shop", "web.yaml", scaler("shop-web"))
    before = load(folders.path)
    path.unlink()
    seen = look(folders.teams, before.grants)
    assert names(follow(origins_of(before), seen, only=()).joined()) == ["shop-web"]
    assert changed_files(origins_of(before), seen) == {path: ()}


def test_a_folder_that_is_gone_keeps_its_versions(folders: Folders) -> None:
    """It may be a disk that is not mounted. The grant's end lets them go."""
    path = folders.write("shop", "web.yaml", scaler("shop-web"))
    before = load(folders.path)
    folders.teams.rename(folders.teams.with_name("elsewhere"))
    after = folders.after(before)
    assert names(after) == ["shop-web"]
    assert "cannot be read: No such file or directory" in problems(after, "")
    assert after.refused.keys() == {""}
    assert changed_files(origins_of(after), look(folders.teams, after.grants)) == {}
    del folders.grants["shop"]
    folders.main()
    assert names(load_for_daemon(folders.path, before=origins_of(after))) == []
    assert not path.exists()


def test_a_team_s_folder_that_is_gone_keeps_its_versions(folders: Folders) -> None:
    """The grant's end lets them go. One that never was is no problem."""
    folders.write("shop", "web.yaml", scaler("shop-web"))
    folders.write("pay", "api.yaml", scaler("pay-api"))
    before = load(folders.path)
    (folders.teams / "shop").rename(folders.teams / ".shop")
    after = folders.after(before)
    assert names(after) == ["pay-api", "shop-web"]
    assert "the folder is gone" in problems(after, "shop")
    assert after.refused.keys() == {"shop"}
    assert load(folders.path).refused == {}


def test_an_empty_folder_in_the_place_of_a_team_s_keeps_its_versions(folders: Folders) -> None:
    """It may be where a disk is not mounted. A list without autoscalers, or the disk, makes it clear."""
    path = folders.write("shop", "web.yaml", scaler("shop-web"))
    folders.write("pay", "api.yaml", scaler("pay-api"))
    before = load(folders.path)
    path.parent.rename(folders.teams / ".shop")
    path.parent.mkdir()
    after = folders.after(before)
    assert names(after) == ["pay-api", "shop-web"]
    assert f"{path.parent}:1:1: the folder is empty, and another one" in problems(after, "shop")
    assert after.refused.keys() == {"shop"}
    assert names(folders.after(after)) == ["pay-api", "shop-web"], "however often the daemon looks"
    assert names(load_for_daemon(folders.path, before=origins_of(after))) == ["pay-api", "shop-web"], "nor at a reload"
    path.parent.rmdir()
    (folders.teams / ".shop").rename(path.parent)
    back = folders.after(after)
    assert (names(back), back.refused) == (["pay-api", "shop-web"], {})
    path.parent.rename(folders.teams / ".shop")
    path.parent.mkdir()
    folders.text("shop", "none.yaml", "[]")
    assert names(folders.after(back)) == ["pay-api"]


def test_a_folder_whose_files_are_removed_lets_their_autoscalers_go(folders: Folders) -> None:
    """It is the folder that had them."""
    path = folders.write("shop", "web.yaml", scaler("shop-web"))
    before = load(folders.path)
    path.unlink()
    after = folders.after(before)
    assert (names(after), after.refused) == ([], {})


def test_a_new_main_file_is_applied_to_versions_in_force(folders: Folders) -> None:
    """A ceiling is lowered; a source is taken away, also from a file that is wrong now."""
    folders.write("shop", "web.yaml", scaler("shop-web", maxReplicas=20))
    folders.write("pay", "api.yaml", scaler("pay-api"))
    before = load(folders.path)
    folders.text("pay", "api.yaml", "[")
    before = folders.after(before)
    folders.grants["shop"]["maxReplicas"] = 4
    folders.main()
    lowered = load_for_daemon(folders.path, before=origins_of(before))
    assert {each.name: each.max_replicas for each in lowered.autoscalers} == {"pay-api": 3, "shop-web": 4}
    folders.grants["pay"]["sources"] = EMPTY
    folders.main()
    taken = load_for_daemon(folders.path, before=origins_of(lowered))
    assert names(taken) == ["shop-web"]
    assert "api.yaml" in problems(taken, "pay")


def test_a_file_that_a_changed_grant_allows_is_read_again(folders: Folders) -> None:
    path = folders.write("shop", "web.yaml", scaler("web"))
    before = load(folders.path)
    assert names(before) == []
    folders.grants["shop"] |= {"namePrefix": "w", "targets": ["web"], "sources": ["default"]}
    path.write_text(path.read_text().replace("prometheus: web", "prometheus: default"))
    folders.main()
    assert names(load_for_daemon(folders.path, before=origins_of(before))) == ["web"]


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda path: _replaced(path, lambda: path.symlink_to("/etc/passwd")), "is not a regular one, or is a link"),
        (lambda path: _replaced(path, lambda: os.mkfifo(path)), "is not a regular one, or is a link"),
        (lambda path: _replaced(path, path.mkdir), "is not a regular one, or is a link"),
        (lambda path: path.chmod(0o666), "every user may write the file"),
        (
            lambda path: path.write_text((path.parents[1] / "pay" / "api.yaml").read_text()),
            "does not begin with 'shop-'",
        ),
        (lambda path: path.write_bytes(b"- \xff"), "byte 0xff is not UTF-8"),
        (lambda path: path.write_text(""), "the file is empty"),
        (lambda path: path.write_text("#" * (MAX_BYTES + 1)), "have more than 512 KiB in total"),
        (lambda path: path.write_text("- &a [x]\n" + "- [*a, *a]\n" * 9), "expected a mapping, found a list"),
        (lambda path: path.write_text(_bomb()), "aliases make the document too large"),
        (lambda path: path.write_text("[" * 10_000), "nested deeper than 50 levels"),
        (lambda path: path.write_text("- !!python/object:os.system {}\n"), "tags such as"),
        (lambda path: [path.with_name(f"n{at}.yaml").write_text("[]") for at in range(1000)], "more than 1,000 names"),
        (lambda path: _replaced(path.parent, lambda: path.parent.symlink_to("/etc")), "it is a link"),
        (lambda path: path.parent.chmod(0o777), "every user may write the folder"),
    ],
)
def test_a_hostile_folder_keeps_its_version_and_costs_no_other(
    folders: Folders, damage: Callable[[Path], object], said: str
) -> None:
    path = folders.write("shop", "web.yaml", scaler("shop-web"))
    folders.write("pay", "api.yaml", scaler("pay-api"))
    before = load(folders.path)
    damage(path)
    after = folders.after(before)
    assert names(after) == names(before)
    assert said in problems(after, "shop")
    assert "pay" not in after.refused


def test_a_link_to_a_neighbours_file_does_not_stop_the_neighbour(folders: Folders) -> None:
    """A file with a second name stays its owner's."""
    path = folders.write("pay", "api.yaml", scaler("pay-api"))
    before = load(folders.path)
    (folders.teams / "shop" / "web.yaml").hardlink_to(path)
    folders.write("pay", "api.yaml", scaler("pay-api", maxReplicas=9))
    after = folders.after(before)
    assert [(each.name, each.max_replicas) for each in after.autoscalers] == [("pay-api", 9)]
    assert after.refused.keys() == {"shop"}


def _replaced(path: Path, make: Callable[[], object]) -> None:
    path.rename(path.with_name("moved-away")) if path.is_dir() else path.unlink()
    make()


def _bomb() -> str:
    lines = ["- &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"- &a{at} [{', '.join([f'*a{at - 1}'] * 10)}]" for at in range(1, 9)]
    return "\n".join(lines) + "\n"


def test_more_files_than_allowed_are_named(folders: Folders) -> None:
    for at in range(MAX_FILES + 2):
        folders.write("shop", f"f{at:03}.yaml", scaler(f"shop-{at}", query=f"q{at}"))
    folders.write("pay", "api.yaml", scaler("pay-api"))
    settings = load(folders.path)
    assert len(settings.autoscalers) == 11, "ten queries are granted"
    assert "f100.yaml:1:1: the folder has more than 100 files; join some of them" in problems(settings, "shop")
    assert "its queries go beyond the grant's maxQueries 10" in problems(settings, "shop")


@pytest.mark.slow
def test_aliases_make_a_grant_s_autoscalers_no_larger(folders: Folders) -> None:
    """Each metric, policy and schedule costs time in every cycle, written out or not."""
    metrics = scaler("shop-x")["metrics"] * 50
    said = "a grant's autoscalers have at most 50,000 keys and values, with aliases; shorten them"

    def text(first: int, count: int) -> str:
        body = yaml.safe_dump(scaler(f"shop-{first}", metrics=metrics), default_flow_style=True, width=100_000)
        more = (
            f"- {{<<: *a, name: shop-{at}, scaleTargetRef: {{adapter: swarm, name: shop-{at}}}}}\n"
            for at in range(first + 1, first + count)
        )
        return "- &a " + body + "".join(more)

    folders.text("shop", "many.yaml", text(0, 35))
    half = load(folders.path)
    assert (len(half.autoscalers), half.refused) == (35, {})
    folders.text("shop", "more.yaml", text(100, 35))
    more = folders.after(half)
    assert 35 < len(more.autoscalers) < 70
    assert said in problems(more, "shop")
    folders.text("shop", "many.yaml", text(0, 70))
    assert len(folders.after(more).autoscalers) == len(more.autoscalers), "the file keeps its version"


def test_a_folder_without_a_grant_is_named(folders: Folders) -> None:
    (folders.teams / "other").mkdir()
    (folders.teams / ".git").mkdir()
    (folders.teams / "README.md").write_text("what this is")
    settings = load(folders.path)
    assert "no grant names this folder" in problems(settings, "other")
    assert settings.refused.keys() == {"other"}


def test_names_and_targets_of_others_are_refused_one_by_one(folders: Folders) -> None:
    """The main file comes first, then the folders in order, then the files."""
    folders.main(scaler("main") | {"scaleTargetRef": {"adapter": "swarm", "name": "shop-main"}}, scaler("shop-cron"))
    taken = scaler("shop-b") | {"scaleTargetRef": {"adapter": "swarm", "name": "shop-main"}}
    folders.write("shop", "a.yaml", scaler("shop-a"), taken, scaler("shop-cron"))
    folders.write("shop", "b.yaml", scaler("shop-a"))
    settings = load(folders.path)
    assert names(settings) == ["main", "shop-cron", "shop-a"]
    said = problems(settings, "shop")
    assert "swarm/shop-main is already scaled by main" in said
    assert f"shop-cron is already the name of an autoscaler in {folders.path}" in said
    assert "shop-a is already the name of an autoscaler in" in said


def test_a_file_that_changes_while_it_is_read_is_refused(folders: Folders) -> None:
    path = folders.write("shop", "web.yaml", scaler("shop-web"))
    seen = look(folders.teams, folders.grants).files[path]
    folders.write("shop", "web.yaml", scaler("shop-web", maxReplicas=9))
    with pytest.raises(ConfigError, match="changes while it is read"):
        read_team_file(path, seen.mark)


def test_a_file_that_is_gone_before_it_is_read_says_why(folders: Folders) -> None:
    path = folders.write("shop", "web.yaml", scaler("shop-web"))
    seen = look(folders.teams, folders.grants).files[path]
    path.unlink()
    with pytest.raises(ConfigError, match="cannot be read: No such file or directory"):
        read_team_file(path, seen.mark)


def test_files_with_other_names_are_not_read(folders: Folders) -> None:
    """Such as an editor's draft."""
    for name in (".web.yaml.swp", ".web.yaml", "web.yaml~", "README.md", "web.yaml.bak"):
        folders.text("shop", name, "[")
    assert load(folders.path).refused == {}


def test_a_dry_run_of_the_daemon_includes_the_teams(folders: Folders) -> None:
    folders.main(scaler("main"))
    folders.write("shop", "web.yaml", scaler("shop-web"))
    assert [each.dry_run for each in load_for_daemon(folders.path, dry_run=True).autoscalers] == [True, True]
