"""Which daemons share the state, whose configuration differs and which autoscalers no daemon serves."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta

from autoscaler.cli.tables.hosts import host_rows, notes
from autoscaler.cli.tables.listing import SHARED_HEADER, cells
from autoscaler.documents.hosts import host_list
from autoscaler.documents.level import Level
from autoscaler.documents.summary import Summary, summary
from autoscaler.layout import Screen
from autoscaler.model import ManualControls, ShardName
from autoscaler.record import Followed, Member, Ownership, target_text
from tests.decide.build import scaler
from tests.decisions import NOW


def member(name: str, loaded_seconds_ago: float | None = 60, version: str = "1.2.3") -> Member:
    loaded = None if loaded_seconds_ago is None else NOW - timedelta(seconds=loaded_seconds_ago)
    return Member(name, f"{name}, pid 7", name, version, NOW, NOW + timedelta(seconds=12), loaded)


def sharing(*members: Member, holders: Mapping[int, str], **follows: Mapping[str, Followed]) -> Ownership:
    """`holders`: the number of a shard of `fleet` -> its member, which has claimed what it wants."""
    held = {ShardName("fleet", number, 4): each for number, each in holders.items()}
    claims = {
        name: each.shard
        for member, own in follows.items()
        for name, each in own.items()
        if held.get(each.shard) == member
    }
    return Ownership(NOW, members, held, follows, claims)


def asked(number: int, digest: str = "x") -> Followed:
    return Followed(ShardName("fleet", number, 4), digest)


SAME = {"api": asked(1), "web": asked(2)}


def test_shards_and_autoscalers_are_counted_for_each_daemon() -> None:
    """Daemons are ordered by name."""
    found = host_list(sharing(member("two"), member("one"), holders={1: "one", 2: "two"}, one=SAME, two=SAME), NOW)
    assert [(each.name, each.shards, each.autoscalers) for each in found.hosts] == [
        ("one, pid 7", {"fleet": 1}, 1),
        ("two, pid 7", {"fleet": 1}, 1),
    ]
    assert (found.shared, found.unheld) == (True, ())


def test_configurations_are_compared_with_the_newest() -> None:
    """An autoscaler can be changed, missing or additional."""
    new = {"api": asked(1, "y"), "jobs": asked(3)}
    found = host_list(
        sharing(member("one", 60), member("two", 5), holders={1: "one", 2: "one", 3: "two"}, one=SAME, two=new), NOW
    )
    assert [each.differs for each in found.hosts] == [("api", "jobs", "web"), ()]


def test_a_daemon_that_has_not_reported_its_configuration_does_not_differ() -> None:
    """It has just started."""
    found = host_list(sharing(member("one"), member("two", None), holders={}, one=SAME, two={}), NOW)
    assert [(each.loaded is None, each.differs) for each in found.hosts] == [(False, ()), (True, ())]


def test_an_autoscaler_that_its_shards_holder_does_not_know_is_unheld() -> None:
    """No daemon scales it until the holder reloads."""
    new = {**SAME, "jobs": asked(3), "mail": asked(4)}
    held = {1: "one", 2: "one", 3: "one"}
    found = host_list(sharing(member("one", 60), member("two", 5), holders=held, one=SAME, two=new), NOW)
    assert found.unheld == ("jobs", "mail")


def test_an_autoscaler_claimed_by_another_shard_is_unheld() -> None:
    """The other shard's daemon has an older configuration; this one waits for its claim."""
    found = sharing(member("one"), member("two"), holders={1: "one", 2: "two"}, one=SAME, two=SAME)
    moved = host_list(replace(found, claims={"api": ShardName("fleet", 3, 4), "web": ShardName("fleet", 2, 4)}), NOW)
    assert ([each.autoscalers for each in moved.hosts], moved.unheld) == ([0, 1], ("api",))


def test_an_sqlite_state_has_no_hosts() -> None:
    found = host_list(None, NOW)
    assert (found.shared, found.hosts, found.unheld) == (False, (), ())


def test_the_table_has_a_row_for_each_daemon_and_a_note_about_unheld_autoscalers() -> None:
    new = {"api": asked(1, "y"), "jobs": asked(3)}
    found = host_list(sharing(member("one", 90), member("two", 5), holders={1: "one"}, one=SAME, two=new), NOW)
    header, one, two = host_rows(found, Screen())
    assert header.split() == ["DAEMON", "VERSION", "AUTOSCALERS", "SHARDS", "LEASE", "LOADED", "CONFIGURATION"]
    assert one.split("   ")[0] == "one, pid 7"
    assert one.endswith("fleet 1   12s     90s      differs: api, jobs, web")
    assert two.endswith("<none>    12s     5s       the latest")
    assert notes(found) == ["no daemon serves jobs"]


def test_control_characters_in_the_database_are_escaped() -> None:
    """Other daemons write there."""
    odd = member("one\x1b[31m", version="1\x1b]0;x\x07")
    (_, line) = host_rows(host_list(sharing(odd, holders={}), NOW), Screen())
    assert line.isprintable()


def test_a_state_without_a_daemon_is_reported() -> None:
    assert notes(host_list(sharing(holders={}), NOW)) == ["no daemon runs on this state"]


def shown(places: Mapping[str, str] | None, *, configured: bool = True) -> Summary:
    """`places`: target -> the daemon that serves it."""
    one = scaler()
    known = one if configured else None
    return summary(one.name, known, None, ManualControls(), configured=configured, daemons=places)


def test_an_autoscaler_shows_the_daemon_that_serves_it() -> None:
    """The wide table has it in the column HOST."""
    served = shown({target_text(scaler().target): "one, pid 7"})
    assert (served.held_by, served.unheld, served.level) == ("one, pid 7", False, Level.NORMAL)
    assert dict(zip(SHARED_HEADER, cells(served, NOW, SHARED_HEADER), strict=True))["HOST"] == "one, pid 7"


def test_an_unheld_autoscaler_is_a_warning() -> None:
    """No daemon scales it."""
    alone = shown({})
    assert (alone.held_by, alone.unheld, alone.level) == (None, True, Level.WARNING)
    assert dict(zip(SHARED_HEADER, cells(alone, NOW, SHARED_HEADER), strict=True))["HOST"] == "<none>"


def test_an_autoscaler_of_another_configuration_shows_its_daemon() -> None:
    """This occurs during a rollout. An autoscaler that no configuration has is not reported."""
    assert shown({"another": "one, pid 7"}, configured=False).held_by == "one, pid 7"
    gone = shown({}, configured=False)
    assert (gone.held_by, gone.unheld) == (None, False)


def test_of_two_daemons_the_one_with_the_same_target_is_shown() -> None:
    """The other daemon has another target under the same name."""
    ours = target_text(scaler().target)
    assert shown({"another": "one, pid 7", ours: "two, pid 7"}).held_by == "two, pid 7"
    assert shown({"another": "one, pid 7"}).held_by == "one, pid 7"


def test_with_one_daemon_no_host_is_shown() -> None:
    assert (shown(None).held_by, shown(None).unheld) == (None, False)
