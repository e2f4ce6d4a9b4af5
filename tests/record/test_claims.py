"""Shards claim their targets: two shards never scale one target, whatever their configurations call it."""

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
    """Return an autoscaler of this connection."""
    return replace(scaler(name), target=TargetRef(connection, target))


def serve(ledger: Ledger, *scalers: Autoscaler, **canonical: TargetRef) -> Mapping[str, str]:
    """Begin a cycle of a shard with these autoscalers. Returns those that it may not scale, with the reasons."""
    ledger.follow(scalers, targets={each.name: canonical.get(each.name, each.target) for each in scalers})
    return again(ledger, *scalers)


def again(ledger: Ledger, *scalers: Autoscaler) -> Mapping[str, str]:
    """Begin the next cycle."""
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
    """Return the claims of the shard in the state."""
    table, name = schema.serves, ledger.name
    with ledger._context.readers.begin() as connection:
        rows = connection.execute(select(table).where(table.c.connection == name.adapter)).all()
    return {row.key for row in rows if (row.shards, row.shard, row.epoch) == (name.of, name.number, ledger._epoch)}


def test_an_autoscaler_is_claimed_by_its_name_and_by_its_target(opener: Opener) -> None:
    """Another configuration can write either of them differently."""
    ledger = opener.ledger()
    assert serve(ledger, scaler()) == {}
    assert claims_of(ledger) == {"web", target_text(scaler().target)}
    assert serve(ledger) == {}
    assert claims_of(ledger) == set(), "a target that is no longer served is released"


@pytest.mark.parametrize(
    ("mine", "what"),
    [
        (on(OTHER, "web", "web-asg"), r"name \(web\)"),
        (on(OTHER, "shop", "mine"), r'target \(\["fleet","web-asg"\]\)'),
    ],
    ids=["a connection that was renamed", "a target that was written otherwise"],
)
def test_a_target_of_another_shard_is_not_scaled_until_its_release(opener: Opener, mine: Autoscaler, what: str) -> None:
    """The message names the owner. The owner continues, and so does a neighbour in the same shard."""
    state = opener.state()
    first, second = state.ledger(FLEET), state.ledger(OTHER)
    assert serve(first, scaler()) == {}
    neighbour = on(OTHER, "fine", "fine")
    unheld = serve(second, mine, neighbour, shop=TargetRef(FLEET, "web-asg"))
    assert unheld.keys() == {mine.name}
    assert re.search(f"shard fleet of this daemon serves this {what}", unheld[mine.name])
    assert claims_of(second) == {"fine", target_text(neighbour.target)}, "a claim on one of the two is not kept"
    assert again(first, scaler()) == {}
    assert serve(first) == {}
    assert again(second, mine, neighbour) == {}


def test_two_autoscalers_of_a_shard_can_swap_their_targets(opener: Opener) -> None:
    """Both claims belong to the shard before and after."""
    ledger = opener.ledger()
    serve(ledger, scaler("a", "one"), scaler("b", "two"))
    assert serve(ledger, scaler("a", "two"), scaler("b", "one")) == {}


def test_two_shards_can_swap_a_name_in_one_cycle_each(opener: Opener) -> None:
    """Each shard releases before it claims, so they never wait for each other."""
    state = opener.state()
    first, second = state.ledger(FLEET), state.ledger(OTHER)
    serve(first, on(FLEET, "a", "one"))
    serve(second, on(OTHER, "b", "two"))
    assert serve(first, on(FLEET, "b", "one")).keys() == {"b"}
    assert serve(second, on(OTHER, "a", "two")) == {}
    assert again(first, on(FLEET, "b", "one")) == {}


def test_a_shard_that_has_ended_holds_no_claim(opener: Opener) -> None:
    """A reload that renames a connection ends its shard and begins another one at once."""
    state = opener.state()
    first = state.ledger(FLEET)
    serve(first, scaler())
    first.end()
    assert serve(state.ledger(OTHER), on(OTHER, "web", "web-asg")) == {}


def test_a_shard_with_a_hanging_call_keeps_its_claims(opener: Opener) -> None:
    """Its successor has them; a shard of another name gets them when the call has ended."""
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


def test_shards_of_another_count_give_up_their_claims(opener: Opener) -> None:
    """A reload that changes `shards` moves targets from shard to shard."""
    state = opener.state()
    serve(state.ledger(FLEET), scaler())
    assert serve(state.ledger(FLEET, 2, 4), scaler()) == {}


def test_after_a_restart_all_claims_are_new(opener: Opener) -> None:
    """The configuration may have changed, and the old owners have ended."""
    serve(opener.ledger(), scaler())
    opener.close()
    ledger = opener.state().ledger(OTHER)
    assert serve(ledger, on(OTHER, "web", "web-asg")) == {}


def test_the_memory_of_a_target_that_another_shard_scaled_is_read_again(opener: Opener) -> None:
    """Otherwise a shard that gets it back would decide from its old memory."""
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


def test_saved_values_are_dropped_after_another_shard_scaled_the_target(opener: Opener) -> None:
    """A connection is renamed and gets its name back: its earlier writes are out of date."""
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


def test_saved_values_of_another_shard_are_read_after_its_release(opener: Opener) -> None:
    """An adapter reads them once."""
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
def test_a_damaged_claim_has_no_owner(opener: Opener, values: dict[str, object]) -> None:
    """It blocks no autoscaler."""
    if opener.url is not None and values.get("connection") == "\x00":
        values = {**values, "connection": "?"}  # PostgreSQL refuses such text
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


def test_a_claim_of_another_shard_affects_only_its_own_autoscaler(opener: Opener) -> None:
    """The message names the owner, as far as the state shows it."""
    state = opener.state()
    ledger, other = state.ledger(FLEET), state.ledger(OTHER)
    both = [scaler("hurt", "hurt"), scaler("fine", "fine")]
    serve(ledger, *both)
    hurt(ledger, {"connection": OTHER, "epoch": other._epoch})
    assert serve(ledger, *both).keys() == {"hurt"}
    serve(other)
    assert again(ledger, *both) == {}


def test_cycles_without_a_missing_claim_need_no_statement(opener: Opener) -> None:
    """Their commits lock the shard's row."""
    ledger = opener.ledger()
    serve(ledger, scaler())
    ledger._context.readers.close()
    before = ledger._claims._mine
    ledger.claim()
    assert ledger._claims._mine is before


def test_many_autoscalers_are_claimed_together(opener: Opener) -> None:
    """They need more than one statement."""
    ledger = opener.ledger()
    many = [scaler(f"s{n}", f"t{n}") for n in range(1_001)]
    assert serve(ledger, *many) == {}
    with ledger._context.readers.begin() as connection:
        assert connection.execute(select(func.count()).select_from(schema.serves)).scalar_one() == 2_002
