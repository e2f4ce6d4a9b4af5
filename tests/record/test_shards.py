"""What shards read and write of their state in a cycle, and when they read it again."""

from typing import Any

from sqlalchemy import event

from autoscaler.model import Sighting
from autoscaler.record.ledger import Ledger
from tests.record.conftest import Opener, each_database
from tests.record.samples import at, decision, keep, rising, save, scaler, written


def noted(ledger: Ledger) -> list[str]:
    """Return a list that collects the statements of its state from now on."""
    statements: list[str] = []

    def note(*call: Any) -> None:
        statements.append(call[2])

    for engine in (ledger._context.readers._engine, ledger._context.database._engine):
        event.listen(engine, "before_cursor_execute", note)
    return statements


@each_database
def test_histories_are_loaded_and_recorded_with_a_few_statements(opener: Opener) -> None:
    """Ten thousand autoscalers start as fast as one, with at most a statement for each 64 of them."""
    count = 300
    keep(opener.ledger(), *(rising(name=f"s{k}") for k in range(count)))
    ledger = opener.restart()
    statements = noted(ledger)
    scalers = [scaler(f"s{k}") for k in range(count)]
    assert len(ledger.recall(scalers)) == count
    chunks = count // 64 + 1
    assert len([statement for statement in statements if statement.startswith("SELECT")]) <= 7 + chunks
    save(ledger, *(rising(1, name=one.name) for one in scalers))  # the first one also does the upkeep
    ledger.recall(scalers)
    statements.clear()
    ledger.intend([rising(2, name=one.name) for one in scalers])
    save(ledger, *(written(rising(2, name=one.name)) for one in scalers))
    assert len(statements) < 20


def test_a_reload_reads_only_the_autoscalers_that_it_adds(opener: Opener) -> None:
    """Otherwise a few new ones among ten thousand would make the next cycle read all memories."""
    count = 300
    scalers = [scaler(f"s{k}") for k in range(count)]
    keep(opener.ledger(), *(rising(name=one.name) for one in scalers))
    ledger = opener.restart()
    ledger.follow(scalers[1:])
    for cycle in (1, 2):
        keep(ledger, *(rising(cycle, name=one.name) for one in scalers[1:]))
    statements = noted(ledger)
    ledger.follow(scalers)
    assert ledger.recall(scalers)["s0"].at == at(0)
    assert len([one for one in statements if "AS known" in one]) == 1


def test_an_autoscaler_that_comes_back_is_read_again(opener: Opener) -> None:
    """The state may have forgotten it and its target's sightings meanwhile."""
    ledger = opener.ledger()
    web, api = scaler("web", "web-asg"), scaler("api", "api-asg")
    ledger.follow([web, api])
    ledger.recall([web, api])
    save(ledger, decision(0, "web", "web-asg"), sightings={"i-0": Sighting(at(0), True, at(0))})
    ledger.follow([api])
    assert ledger.sightings([web.target, api.target]) == {}
    ledger.follow([web, api])
    assert ledger.sightings([web.target]) == {web.target: {"i-0": Sighting(at(0), True, at(0))}}
    assert ledger.recall([web])["web"].at == at(0)
