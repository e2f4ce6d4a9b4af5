"""The configuration that ran, simulated, must come to what was; else nothing is compared."""

from dataclasses import replace as copied
from datetime import timedelta

import pytest

from autoscaler.model import Behavior
from autoscaler.whatif.compare.document import ReplayDocument
from autoscaler.whatif.past.past import Cycle
from autoscaler.whatif.replay.replay import Candidate
from tests.decide.build import scaler
from tests.replaced import replace
from tests.whatif.courses import LOAD, swinging
from tests.whatif.pasts import Life, compared, shop, shop_past

AT_ONCE = timedelta(0)


def checked(*lives: Life) -> ReplayDocument:
    cycles = [cycle for life in lives for cycle in life.cycles]
    return compared(cycles, Candidate("same", cycles[0].scaler), start_up=AT_ONCE)


def lived(loads: list[int], size: int = 2) -> Life:
    life = Life(scaler=scaler(LOAD, maximum=10, behavior=Behavior()), size=size)
    life.load(*loads)
    return life


def test_a_simulation_that_comes_to_what_was_fits() -> None:
    found = checked(lived([120, 120, 300, 300, 480, 480, 240] * 4))
    assert found.fit is not None
    assert found.fit.holds
    assert found.fit.simulated_instance_hours == pytest.approx(found.fit.instance_hours)
    assert len(found.candidates) == 2


def test_a_start_up_time_that_the_record_shows_is_used_from_its_first_cycle_on() -> None:
    """Instances take 45 s; a minute until one was seen would be as wrong as no time at all."""
    found = compared(shop_past(swinging, 480), Candidate("same", shop()), start_up=timedelta(minutes=10))
    assert found.start_up.seconds == timedelta(seconds=45)
    assert found.fit is not None
    assert found.fit.holds, found.fit.summary


def test_only_cycles_in_which_the_daemon_wrote_are_checked() -> None:
    """A dry run decided and something else set the size; after it the simulation begins from the real size."""
    dry = Life(scaler=replace(lived([120]).autoscaler, dry_run=True))
    dry.cpu(*[300] * 8)
    assert checked(dry).fit is None
    live = lived([480] * 8, size=8)
    live.cycles = [_later(each, dry) for each in live.cycles]
    found = checked(dry, live)
    assert found.fit is not None
    assert (found.fit.holds, found.fit.seconds) == (True, 8 * 15)


def _later(cycle: Cycle, after: Life) -> Cycle:
    by = len(after.cycles) * after.autoscaler.sync_period
    assert cycle.decision is not None
    return copied(cycle, at=cycle.at + by, decision=replace(cycle.decision, now=cycle.at + by))
