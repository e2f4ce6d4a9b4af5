"""What is remembered belongs to what is scaled: another name of the autoscaler or its connection changes nothing."""

from collections.abc import Sequence

import pytest
from sqlalchemy import update

from autoscaler.errors import StateError
from autoscaler.model import Autoscaler, History, TargetRef
from autoscaler.record import schema
from autoscaler.record.forgetting import forget
from autoscaler.record.housekeeping import Retention
from autoscaler.record.ledger import Ledger
from autoscaler.target.scaled import Identify, Place, identify, text_of
from tests.record.claims import moment
from tests.record.conftest import Opener, each_database
from tests.record.samples import FLEET, decision, keep, rising, save, scaler
from tests.replaced import replace

PLACE = Place("memory", None)
OLD, NEW = TargetRef(FLEET, "web"), TargetRef("renamed", "web")


def of(name: str, target: TargetRef) -> Autoscaler:
    return replace(scaler(name), target=target)


def serving(ledger: Ledger, scalers: Sequence[Autoscaler], same_place: bool = True) -> Ledger:
    """Return the ledger, whose connections `fleet` and `renamed` are at one place, or each at its own."""
    names = (FLEET, "renamed")
    place = (lambda target: f"here {target.name}") if same_place else identify(dict.fromkeys(names, PLACE))
    ledger.follow(scalers, scaled=place)
    ledger.claim()
    return ledger


def history(ledger: Ledger, scaler: Autoscaler) -> History:
    return ledger.recall([scaler])[scaler.name]


def test_a_renamed_autoscaler_keeps_its_windows_and_its_pending_write(opener: Opener) -> None:
    before, after = of("web", OLD), of("shop", OLD)
    ledger = serving(opener.ledger(), [before])
    keep(ledger, decision(0, "web", "web"), scalers=[before])
    ledger.recall([before])
    ledger.intend([rising(15, name="web", target="web")])
    found = history(serving(opener.restart(), [after]), after)
    assert found.hpa.recommendations
    assert found.pending is not None


def test_a_renamed_connection_keeps_them_too(opener: Opener) -> None:
    before, after = of("web", OLD), of("web", NEW)
    ledger = serving(opener.ledger(), [before])
    keep(ledger, decision(0, "web", "web"), scalers=[before])
    opener.close()
    renamed = serving(opener.state().ledger("renamed"), [after])
    assert history(renamed, after).hpa.recommendations


def test_another_place_begins_without_a_memory(opener: Opener) -> None:
    before, after = of("web", OLD), of("web", NEW)
    keep(serving(opener.ledger(), [before], same_place=False), decision(0, "web", "web"), scalers=[before])
    opener.close()
    other = serving(opener.state().ledger("renamed"), [after], same_place=False)
    assert history(other, after) == History()


def test_the_history_of_a_renamed_autoscaler_is_that_of_its_new_name(opener: Opener) -> None:
    before, after = of("web", OLD), of("shop", OLD)
    keep(serving(opener.ledger(), [before]), decision(0, "web", "web"), scalers=[before])
    ledger = serving(opener.restart(), [after])
    keep(ledger, decision(15, "shop", "web"), scalers=[after])
    archive = opener.archive()
    assert set(archive.latest()) == {"shop"}
    assert [record.decision.name for record in archive.records("shop")] == ["web", "shop"], "as it was called then"
    assert not archive.knows("web")


def test_two_autoscalers_that_swap_their_targets_swap_their_memories(opener: Opener) -> None:
    a, b = of("a", TargetRef(FLEET, "x")), of("b", TargetRef(FLEET, "y"))
    ledger = serving(opener.ledger(), [a, b])
    keep(ledger, decision(0, "a", "x", size=3), decision(0, "b", "y", size=7), scalers=[a, b])
    swapped = [replace(a, target=b.target), replace(b, target=a.target)]
    found = serving(opener.restart(), swapped).recall(swapped)
    assert [found[name].hpa.recommendations[-1].replicas for name in ("a", "b")] == [7, 3]


def at_address(address: str) -> Identify:
    return lambda target: text_of("nomad", address, replace(target, namespace=target.namespace or "default"))


@each_database
def test_a_connection_with_another_address_goes_on(opener: Opener) -> None:
    """An agent was added, or another host reaches the same cluster by another way."""
    web = of("web", OLD)
    ledger = opener.ledger()
    ledger.follow([web], scaled=at_address("one"))
    ledger.claim()
    keep(ledger, decision(0, "web", "web"), scalers=[web])
    ledger.save_adapter_memory(OLD, {"failures": 3})
    for address in ("two", "one"):
        ledger = opener.restart()
        ledger.follow([web], scaled=at_address(address))
        ledger.claim()
        assert history(ledger, web).hpa.recommendations
        assert ledger.adapter_memory() == {OLD: {"failures": 3}}
    assert set(opener.archive().latest()) == {"web"}


def test_a_memory_that_another_autoscaler_has_does_not_move(opener: Opener) -> None:
    """Two connections exchange their addresses, and each target keeps its memory."""
    one, two = of("one", OLD), of("two", NEW)
    state = opener.state()
    places = {OLD: "x", NEW: "y"}
    for scaler_, size in ((one, 3), (two, 7)):
        ledger = state.ledger(scaler_.target.adapter)
        ledger.follow([scaler_], scaled=places.__getitem__)
        ledger.claim()
        made = decision(0, scaler_.name, "web", size=size)
        keep(ledger, replace(made, target=scaler_.target), scalers=[scaler_])
    opener.close()
    state, places = opener.state(), {OLD: "y", NEW: "x"}
    state.follow(Retention(), [one, two], places.__getitem__)
    sizes = []
    for scaler_ in (one, two):
        ledger = state.ledger(scaler_.target.adapter)
        ledger.follow([scaler_], scaled=places.__getitem__)
        ledger.claim()
        sizes.append(history(ledger, scaler_).hpa.recommendations[-1].replicas)
    assert sizes == [7, 3]


def test_saved_values_follow_the_target(opener: Opener) -> None:
    before, after = of("web", OLD), of("web", NEW)
    serving(opener.ledger(), [before]).save_adapter_memory(OLD, {"failures": 3})
    opener.close()
    renamed = serving(opener.state().ledger("renamed"), [after])
    assert renamed.adapter_memory() == {NEW: {"failures": 3}}
    renamed.save_adapter_memory(NEW, {"failures": 4})
    opener.close()
    assert serving(opener.ledger(), [before]).adapter_memory() == {OLD: {"failures": 4}}


def test_a_damaged_memory_that_was_forgotten_begins_anew_without_a_restart(opener: Opener) -> None:
    web = of("web", OLD)
    ledger = serving(opener.ledger(), [web])
    keep(ledger, decision(0, "web", "web"), scalers=[web])
    with ledger._context.database.writing() as connection:
        connection.execute(update(schema.autoscaler).values(body=b"nonsense"))
    ledger = serving(opener.restart(), [web])
    with pytest.raises(StateError, match="autoscaler forget web"):
        history(ledger, web)
    forget(None, opener.folder, "web", moment(600))
    assert history(ledger, web) == History()
    save(ledger, decision(30, "web", "web"), scalers={"web": web})
