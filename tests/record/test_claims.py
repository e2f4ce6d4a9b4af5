"""What is scaled is claimed: two shards never scale one target, whatever their configurations call it."""

import re
from collections.abc import Collection, Mapping

import pytest
from sqlalchemy import func, select, update

from autoscaler.errors import StaleLedger, StateError
from autoscaler.model import Autoscaler, TargetRef
from autoscaler.record import Ledger, schema
from autoscaler.record.entries import target_text
from tests.record.conftest import Opener
from tests.record.samples import FLEET, decision, save, scaler
from tests.replaced import replace

OTHER = "swarm"


def on(connection: str, name: str, target: str) -> Autoscaler:
    """An autoscaler of this connection."""
    return replace(scaler(name), target=TargetRef(connection, target))


def serve(ledger: Ledger, *scalers: Autoscaler, **canonical: TargetRef) -> Mapping[str, str]:
    """One cycle begins in which the shard serves these. Those that it may not scale, with what is said of them."""
    ledger.follow(scalers, targets={each.name: canonical.get(each.name, each.target) for each in scalers})
    return again(ledger, *scalers)


def again(ledger: Ledger, *scalers: Autoscaler) -> Mapping[str, str]:
    """The next cycle begins."""
    ledger.claim()
    found = ledger.recall(scalers)
    unheld = {}
    for each in scalers:
        if each.name not in found:
            with pytest.raises(StateError) as error:
                found[each.name]
            unheld[each.name] = str(error.value)
    return unheld


def claims_of(ledger: Ledger) -> Collection[str]:
    """What the state says that the shard has."""
    table, name = schema.serves, ledger.name
    with ledger._context.readers.begin() as connection:
        rows = connection.execute(select(table).where(table.c.connection == name.adapter)).all()
    return {row.key for row in rows if (row.shards, row.shard, row.epoch) == (name.of, name.number, ledger._epoch)}


def test_an_autoscaler_is_claimed_by_its_name_and_by_its_target(opener: Opener) -> None:
    """Either alone can be written otherwise in another configuration."""
    ledger = opener.ledger()
    assert serve(ledger, scaler()) == {}
    assert claims_of(ledger) == {"web", target_text(scaler().target)}
    assert serve(ledger) == {}
    assert claims_of(ledger) == set(), "what is not served any more is released"


@pytest.mark.parametrize(
    ("mine", "what"),
    [
        (on(OTHER, "web", "web-asg"), r"name \(web\)"),
        (on(OTHER, "shop", "mine"), r'target \(\["fleet","web-asg"\]\)'),
    ],
    ids=["a connection that was renamed", "a target that was written otherwise"],
)
def test_what_another_shard_serves_is_not_scaled_until_that_lets_go(
    opener: Opener, mine: Autoscaler, what: str
) -> None:
    """It is said who has it. A neighbour in the same shard goes on; so does the one who has it."""
    state = opener.state()
    first, second = state.ledger(FLEET), state.ledger(OTHER)
    assert serve(first, scaler()) == {}
    neighbour = on(OTHER, "fine", "fine")
    unheld = serve(second, mine, neighbour, shop=TargetRef(FLEET, "web-asg"))
    assert unheld.keys() == {mine.name}
    assert re.search(f"shard fleet of this daemon serves this {what}", unheld[mine.name])
    assert claims_of(second) == {"fine", target_text(neighbour.target)}, "one without the other is not held either"
    assert again(first, scaler()) == {}
    assert serve(first) == {}
    assert again(second, mine, neighbour) == {}


def test_names_swap_their_targets_at_once_in_one_shard(opener: Opener) -> None:
    """Both claims are the same shard's before and after."""
    ledger = opener.ledger()
    serve(ledger, scaler("a", "one"), scaler("b", "two"))
    assert serve(ledger, scaler("a", "two"), scaler("b", "one")) == {}


def test_two_shards_swap_a_name_within_a_cycle_each(opener: Opener) -> None:
    """Each releases before it claims, so none waits for the other for ever."""
    state = opener.state()
    first, second = state.ledger(FLEET), state.ledger(OTHER)
    serve(first, on(FLEET, "a", "one"))
    serve(second, on(OTHER, "b", "two"))
    assert serve(first, on(FLEET, "b", "one")).keys() == {"b"}
    assert serve(second, on(OTHER, "a", "two")) == {}
    assert again(first, on(FLEET, "b", "one")) == {}


def test_a_shard_that_has_ended_keeps_nothing(opener: Opener) -> None:
    """A reload that renames a connection ends its shard, and begins another at once."""
    state = opener.state()
    first = state.ledger(FLEET)
    serve(first, scaler())
    first.end()
    assert serve(state.ledger(OTHER), on(OTHER, "web", "web-asg")) == {}


def test_a_shard_in_which_a_call_hangs_keeps_what_it_serves(opener: Opener) -> None:
    """Its successor has it; a shard of another name has not, until the call has ended."""
    state = opener.state()
    hanging = state.ledger(FLEET)
    serve(hanging, scaler())
    successor = state.ledger(FLEET)
    assert claims_of(successor) == {"web", target_text(scaler().target)}
    hanging.end()
    assert serve(state.ledger(OTHER), on(OTHER, "web", "web-asg")).keys() == {"web"}
    assert serve(successor, scaler()) == {}
    with pytest.raises(StaleLedger):
        serve(hanging, scaler())


def test_other_counts_of_shards_give_their_claims_up(opener: Opener) -> None:
    """A reload that changes `shards` moves targets from shard to shard."""
    state = opener.state()
    serve(state.ledger(FLEET), scaler())
    assert serve(state.ledger(FLEET, 2, 4), scaler()) == {}


def test_after_a_restart_everything_is_claimed_anew(opener: Opener) -> None:
    """With another configuration, too: whoever had it has ended."""
    serve(opener.ledger(), scaler())
    opener.close()
    ledger = opener.state().ledger(OTHER)
    assert serve(ledger, on(OTHER, "web", "web-asg")) == {}


def test_what_was_scaled_elsewhere_is_read_again(opener: Opener) -> None:
    """Else a shard that gets it back would decide from what it remembered before."""
    state = opener.state()
    first, second = state.ledger(FLEET, 1, 4), state.ledger(OTHER)
    serve(first, scaler())
    save(first, decision(0))
    serve(first)
    blocking = on(OTHER, "other", "x")
    serve(second, blocking, other=scaler().target)
    assert serve(first, scaler()).keys() == {"web"}
    first._context.latest.clear()
    third = state.ledger(FLEET, 2, 4)
    third.recall([scaler()])
    save(third, decision(15))
    serve(second)
    assert again(first, scaler()) == {}
    assert first.recall([scaler()])["web"].at == decision(15).now


def test_what_an_adapter_keeps_is_not_believed_after_another_one_wrote(opener: Opener) -> None:
    """A connection is renamed and gets its name back: sizes that it wrote before are out of date."""
    state = opener.state()
    first = state.ledger(FLEET)
    mine, neighbour, renamed = scaler(), scaler("fine", "fine"), on(OTHER, "web", "web-asg")
    serve(first, mine, neighbour)
    save(first, decision(0), decision(0, "fine", "fine"))
    for each in (mine, neighbour):
        first.save_adapter_memory(each.target, {"size": 5})
    second = state.ledger(OTHER)
    assert serve(second, renamed).keys() == {"web"}
    assert first.adapter_memory().keys() == {mine.target, neighbour.target}
    serve(first, neighbour)
    assert serve(second, renamed) == {}
    second.save_adapter_memory(renamed.target, {"size": 6})
    assert first.adapter_memory().keys() == {neighbour.target}
    assert serve(first, mine, neighbour).keys() == {"web"}
    assert second.adapter_memory().keys() == {renamed.target}


def test_what_another_shard_keeps_is_not_read_before_it_lets_go(opener: Opener) -> None:
    """An adapter reads it once."""
    state = opener.state()
    first, second = state.ledger(FLEET, 1, 1), state.ledger(OTHER)
    serve(first, scaler())
    first.save_adapter_memory(scaler().target, {"size": 5})
    assert serve(second, on(OTHER, "x", "y"), x=scaler().target).keys() == {"x"}
    second.save_adapter_memory(TargetRef(OTHER, "y"), {"size": 1})
    assert second.adapter_memory() == {}


NONSENSE: list[dict[str, object]] = [
    {"connection": "\x00", "shards": 0, "shard": -1, "epoch": -(2**63)},
    {"epoch": 2**63 - 1},
    {"epoch": 0},
    {"connection": "x" * 100_000},
]


@pytest.mark.parametrize("values", NONSENSE, ids=["nobody", "an epoch to come", "an old epoch", "a long name"])
def test_a_damaged_claim_is_nobodys(opener: Opener, values: dict[str, object]) -> None:
    """It stops no autoscaler, least of all another one."""
    if opener.url is not None and values.get("connection") == "\x00":
        values = {**values, "connection": "?"}  # PostgreSQL has no such text
    state = opener.state()
    ledger = state.ledger(FLEET)
    both = [scaler("hurt", "hurt"), scaler("fine", "fine")]
    serve(ledger, *both)
    hurt(ledger, values)
    assert serve(ledger, *both) == {}
    assert len(claims_of(ledger)) == 4


def hurt(ledger: Ledger, values: dict[str, object]) -> None:
    with ledger._context.database.writing() as connection:
        connection.execute(update(schema.serves).where(schema.serves.c.key == "hurt").values(values))


def test_a_claim_that_names_another_shard_costs_its_own_autoscaler(opener: Opener) -> None:
    """It says whose it is, as far as the state knows."""
    state = opener.state()
    ledger, other = state.ledger(FLEET), state.ledger(OTHER)
    both = [scaler("hurt", "hurt"), scaler("fine", "fine")]
    serve(ledger, *both)
    hurt(ledger, {"connection": OTHER, "epoch": other._epoch})
    assert serve(ledger, *both).keys() == {"hurt"}
    serve(other)
    assert again(ledger, *both) == {}


def test_cycles_that_lack_nothing_cost_no_statement(opener: Opener) -> None:
    """The row of the shard is what their commits lock."""
    ledger = opener.ledger()
    serve(ledger, scaler())
    ledger._context.readers.close()
    before = ledger._claims._mine
    ledger.claim()
    assert ledger._claims._mine is before


def test_many_autoscalers_are_claimed_together(opener: Opener) -> None:
    """More than one statement asks for."""
    ledger = opener.ledger()
    many = [scaler(f"s{n}", f"t{n}") for n in range(1_001)]
    assert serve(ledger, *many) == {}
    with ledger._context.readers.begin() as connection:
        assert connection.execute(select(func.count()).select_from(schema.serves)).scalar_one() == 2_002
