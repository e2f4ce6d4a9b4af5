"""Which daemons share the state, whose configuration differs, and what nobody serves."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta

from autoscaler.cli.tables.hosts import host_rows, notes
from autoscaler.cli.tables.listing import SHARED_HEADER, Row
from autoscaler.documents.holders import Holders
from autoscaler.documents.hosts import host_list
from autoscaler.documents.level import Level
from autoscaler.documents.summary import Summary, summary
from autoscaler.layout import Screen
from autoscaler.model import ShardName, Steering
from autoscaler.record import Followed, Member, Ownership, target_text
from tests.decide.build import scaler
from tests.decisions import NOW


def member(name: str, loaded_seconds_ago: float | None = 60, version: str = "1.2.3") -> Member:
    loaded = None if loaded_seconds_ago is None else NOW - timedelta(seconds=loaded_seconds_ago)
    return Member(name, f"{name}, pid 7", name, version, NOW, NOW + timedelta(seconds=12), loaded)


def sharing(*members: Member, holders: Mapping[int, str], **follows: Mapping[str, Followed]) -> Ownership:
    """`holders`: number of a shard of the connection `fleet` -> member; each has claimed what its member wants."""
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


def test_each_daemon_has_its_shards_and_autoscalers() -> None:
    """In the order of their names."""
    found = host_list(sharing(member("two"), member("one"), holders={1: "one", 2: "two"}, one=SAME, two=SAME), NOW)
    assert [(each.name, each.shards, each.autoscalers) for each in found.hosts] == [
        ("one, pid 7", {"fleet": 1}, 1),
        ("two, pid 7", {"fleet": 1}, 1),
    ]
    assert (found.shared, found.unheld) == (True, ())


def test_the_configuration_loaded_last_is_the_one_that_others_differ_from() -> None:
    """Another specification, one that they have not, and one that they alone have."""
    new = {"api": asked(1, "y"), "jobs": asked(3)}
    found = host_list(
        sharing(member("one", 60), member("two", 5), holders={1: "one", 2: "one", 3: "two"}, one=SAME, two=new), NOW
    )
    assert [each.differs for each in found.hosts] == [("api", "jobs", "web"), ()]


def test_a_daemon_that_has_not_said_what_it_loaded_differs_in_nothing() -> None:
    """It has just begun."""
    found = host_list(sharing(member("one"), member("two", None), holders={}, one=SAME, two={}), NOW)
    assert [(each.loaded is None, each.differs) for each in found.hosts] == [(False, ()), (True, ())]


def test_what_no_daemon_holds_or_its_holder_does_not_know_is_unheld() -> None:
    """Nobody decides about it until the holder reloads."""
    new = {**SAME, "jobs": asked(3), "mail": asked(4)}
    held = {1: "one", 2: "one", 3: "one"}
    found = host_list(sharing(member("one", 60), member("two", 5), holders=held, one=SAME, two=new), NOW)
    assert found.unheld == ("jobs", "mail")


def test_what_another_shard_has_claimed_is_unheld() -> None:
    """Its daemon has another configuration, in which the autoscaler is in another shard; this one waits for it."""
    found = sharing(member("one"), member("two"), holders={1: "one", 2: "two"}, one=SAME, two=SAME)
    moved = host_list(replace(found, claims={"api": ShardName("fleet", 3, 4), "web": ShardName("fleet", 2, 4)}), NOW)
    assert ([each.autoscalers for each in moved.hosts], moved.unheld) == ([0, 1], ("api",))


def test_a_state_of_one_daemon_has_no_hosts() -> None:
    """SQLite's: nothing is shared, and nothing unheld."""
    found = host_list(None, NOW)
    assert (found.shared, found.hosts, found.unheld) == (False, (), ())


def test_the_table_shows_a_row_a_daemon_and_below_it_what_nobody_serves() -> None:
    """`autoscaler status`."""
    new = {"api": asked(1, "y"), "jobs": asked(3)}
    found = host_list(sharing(member("one", 90), member("two", 5), holders={1: "one"}, one=SAME, two=new), NOW)
    header, one, two = host_rows(found, Screen())
    assert header.split() == ["DAEMON", "VERSION", "AUTOSCALERS", "SHARDS", "LEASE", "LOADED", "CONFIGURATION"]
    assert one.split("   ")[0] == "one, pid 7"
    assert one.endswith("fleet 1   12s     90s      differs: api, jobs, web")
    assert two.endswith("<none>    12s     5s       the latest")
    assert notes(found) == ["no daemon serves jobs"]


def test_what_a_daemon_says_of_itself_steers_no_terminal() -> None:
    """It comes from the database, where others write."""
    odd = member("one\x1b[31m", version="1\x1b]0;x\x07")
    (_, line) = host_rows(host_list(sharing(odd, holders={}), NOW), Screen())
    assert line.isprintable()


def test_without_a_daemon_that_is_said() -> None:
    """The state may be read while none runs."""
    assert notes(host_list(sharing(holders={}), NOW)) == ["no daemon runs on this state"]


def shown(places: Mapping[str, str] | None, *, configured: bool = True) -> Summary:
    """`places`: target -> who serves it."""
    one = scaler()
    known = one if configured else None
    held = Holders(None if places is None else {one.name: places}).of(one.name, known)
    return summary(one.name, known, None, Steering(), configured=configured, held=held)


def test_an_autoscaler_says_who_serves_it() -> None:
    """Its line in the list, and the wide table's column HOST."""
    served = shown({target_text(scaler().target): "one, pid 7"})
    assert (served.held_by, served.unheld, served.level) == ("one, pid 7", False, Level.NORMAL)
    cells = dict(zip(SHARED_HEADER, Row.of(served).shared(NOW), strict=True))
    assert cells["HOST"] == "one, pid 7"


def test_an_autoscaler_that_nobody_serves_is_a_warning() -> None:
    """Nothing is decided about it."""
    alone = shown({})
    assert (alone.held_by, alone.unheld, alone.level) == (None, True, Level.WARNING)
    assert dict(zip(SHARED_HEADER, Row.of(alone).shared(NOW), strict=True))["HOST"] == "<none>"


def test_one_that_another_daemons_configuration_alone_has_says_who_serves_it() -> None:
    """While a configuration is rolled out; and what no configuration has any more is not missed."""
    assert shown({"another": "one, pid 7"}, configured=False).held_by == "one, pid 7"
    gone = shown({}, configured=False)
    assert (gone.held_by, gone.unheld) == (None, False)


def test_of_two_that_serve_it_by_their_own_configurations_the_one_with_this_target_is_named() -> None:
    """The other one's target goes by the same name."""
    ours = target_text(scaler().target)
    assert shown({"another": "one, pid 7", ours: "two, pid 7"}).held_by == "two, pid 7"
    assert shown({"another": "one, pid 7"}).held_by == "one, pid 7"


def test_with_one_daemon_nobody_is_named() -> None:
    """There is nobody else who could serve it."""
    assert (shown(None).held_by, shown(None).unheld) == (None, False)
