"""Shards claim their targets: two shards of a daemon never scale one target, whatever its configurations call it."""

import re
from collections.abc import Collection
from random import Random
from threading import Lock

import pytest

from autoscaler.errors import StaleLedger
from autoscaler.model import Autoscaler, TargetRef
from autoscaler.record.ledger import Ledger
from autoscaler.target.scaled import AS_WRITTEN
from tests.record.claims import again, serve
from tests.record.conftest import Opener, each_database, in_threads
from tests.record.samples import FLEET, decision, save, scaler
from tests.replaced import replace

OTHER = "swarm"


def on(connection: str, name: str, target: str) -> Autoscaler:
    """Return an autoscaler of this connection."""
    return replace(scaler(name), target=TargetRef(connection, target))


def claims_of(ledger: Ledger) -> Collection[str]:
    """Return the claims of the shard."""
    owners = ledger._context.claims._owners
    return {key for (_, key), owner in owners.items() if owner == (ledger.name, ledger._epoch)}


def test_an_autoscaler_is_claimed_by_its_name_and_by_its_target(opener: Opener) -> None:
    """Another configuration can write either of them differently."""
    ledger = opener.ledger()
    assert serve(ledger, scaler()) == {}
    assert claims_of(ledger) == {"web", AS_WRITTEN(scaler().target)}
    assert serve(ledger) == {}
    assert claims_of(ledger) == set(), "a target that is no longer served is released"


@pytest.mark.parametrize(
    ("mine", "what"),
    [
        (on(OTHER, "web", "web-asg"), r"name \(web\)"),
        (on(OTHER, "shop", "mine"), r'target \(\["","fleet","web-asg"\]\)'),
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
    assert claims_of(second) == {"fine", AS_WRITTEN(neighbour.target)}, "a claim on one of the two is not kept"
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
    assert serve(successor, scaler()) == {}
    assert claims_of(successor) == {"web", AS_WRITTEN(scaler().target)}
    hanging.end()
    assert serve(state.ledger(OTHER), on(OTHER, "web", "web-asg")).keys() == {"web"}
    assert serve(successor, scaler()) == {}
    with pytest.raises(StaleLedger):
        save(hanging, decision(0))


@each_database
def test_shards_of_another_count_give_up_their_claims(opener: Opener) -> None:
    """A reload that changes `shards` moves targets from shard to shard."""
    state = opener.state()
    serve(state.ledger(FLEET), scaler())
    assert serve(state.ledger(FLEET, 2, 4), scaler()) == {}


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


def test_saved_values_of_another_shard_are_read_after_its_release(opener: Opener) -> None:
    """An adapter reads them once."""
    state = opener.state()
    first, second = state.ledger(FLEET, 1, 1), state.ledger(OTHER)
    serve(first, scaler())
    first.save_adapter_memory(scaler().target, {"size": 5})
    assert serve(second, on(OTHER, "x", "y"), x=scaler().target).keys() == {"x"}
    second.save_adapter_memory(TargetRef(OTHER, "y"), {"size": 1})
    assert second.adapter_memory() == {}


def test_a_cycle_with_all_its_claims_asks_nobody(opener: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = opener.ledger()
    serve(ledger, scaler())
    monkeypatch.setattr(ledger._context.claims, "claim", None)
    ledger.claim()


@each_database
def test_shards_that_claim_at_once_never_share_a_target(opener: Opener) -> None:
    """Each thread claims and releases at its own speed. At any time an autoscaler has one owner."""
    state, names = opener.state(), [f"s{number}" for number in range(20)]
    ledgers = [state.ledger(f"connection-{number}") for number in range(4)]
    served, doubled, lock = dict[str, int](), list[str](), Lock()

    def run(number: int) -> None:
        owner, dice = ledgers[number]._owner, Random(number)
        for _ in range(300):
            wanted = {name: name for name in dice.sample(names, 10)}
            claimed = wanted.keys() - ledgers[number]._context.claims.claim(owner, wanted).keys()
            with lock:
                doubled.extend(name for name in claimed if served.get(name, number) != number)
                served.update(dict.fromkeys(claimed, number))
            with lock:
                for name in claimed:
                    del served[name]
            ledgers[number]._context.claims.release(owner)

    with in_threads([lambda number=number: run(number) for number in range(4)]) as raised:  # type: ignore[misc]
        pass
    assert (raised, doubled, served) == ([], [], {})
