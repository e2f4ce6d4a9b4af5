"""A number or a text that a failing disk changed affects one autoscaler, as changed bytes of a body do."""

import pytest
from sqlalchemy import Table, update

from autoscaler.decide import apply_outcome
from autoscaler.model import Decision, Observed, ScaleChange, Sighting, Written
from autoscaler.record import schema
from autoscaler.record.ledger import Ledger
from tests.limits.fleet import limits
from tests.record.conftest import Opener, each_database
from tests.record.samples import FLEET, at, decision, observation, scaler
from tests.replaced import replace

NAMES = ("fine", "hurt", "well")
SCALERS = [scaler(name) for name in NAMES]
HUGE = 2**62
LIMITED = limits(20, total=1_000)
DAMAGE = [
    (schema.autoscaler, {"at": HUGE}),
    (schema.autoscaler, {"elapsed": 2**63 - 1}),
    (schema.autoscaler, {"seq": 2**63 - 1}),
    (schema.autoscaler, {"number": 2**63 - 1}),
    (schema.removal, {"at": HUGE}),
    (schema.autoscaler, {"target": "nonsense"}),
    (schema.autoscaler, {"first_at": HUGE}),
]


def begun(ledger: Ledger) -> Ledger:
    ledger.follow(SCALERS, limits=LIMITED)
    ledger.claim()
    return ledger


def scaling(seconds: float, name: str, before: int, after: int) -> Decision:
    change = ScaleChange(f"{name}-{seconds}", after, before, None, "cpu off target")
    return replace(decision(seconds, name, size=after), current=before, change=change)


def cycle(ledger: Ledger, seconds: float, before: int, after: int) -> set[str]:
    """Run a cycle that scales each autoscaler. Returns those that were recorded."""
    seen = {"i-0": Sighting(at(0), True, at(0))}
    ledger.sightings([each.target for each in SCALERS])
    known = ledger.recall(SCALERS)
    ledger.standing(at(seconds))
    made = [scaling(seconds, each.name, before, after) for each in SCALERS if each.name in known]
    refused = ledger.intend(made)
    done = [apply_outcome(one, Written(after)) for one in made if one.name not in refused]
    observed = Observed({one.name: observation() for one in done}, {one.target: seen for one in done})
    broken = ledger.record({each.name: each for each in SCALERS}, observed, done)
    return {one.name for one in done} - broken.keys()


@each_database
@pytest.mark.parametrize(("table", "values"), DAMAGE, ids=lambda one: one.name if isinstance(one, Table) else str(one))
def test_a_damaged_column_affects_only_its_own_autoscaler(
    opener: Opener, table: Table, values: dict[str, int | str]
) -> None:
    state = opener.state()
    ledger = begun(state.ledger(FLEET))
    assert cycle(ledger, 0, 5, 2) == set(NAMES)
    mine = table.c.scaled.contains("hurt") if "scaled" in table.c else table.c.autoscaler_id == 2
    with state._database.writing() as connection:
        assert connection.execute(update(table).where(mine).values(values)).rowcount == 1
    opener.close()
    ledger = begun(opener.state().ledger(FLEET))
    for seconds in (15, 30):
        assert cycle(ledger, seconds, 2, 4) >= {"fine", "well"}
    archive = opener.archive()
    assert archive.latest().keys() >= {"fine", "well"}
    assert archive.first_seen().keys() >= {"fine", "well"}
