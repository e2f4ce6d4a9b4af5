"""Shards that claim autoscalers."""

from collections.abc import Mapping
from datetime import timedelta

import pytest

from autoscaler.errors import StateError
from autoscaler.model import Autoscaler, TargetRef
from autoscaler.moment import Moment
from autoscaler.record.ledger import Ledger
from autoscaler.target.scaled import AS_WRITTEN
from tests.record.samples import at


def serve(ledger: Ledger, *scalers: Autoscaler, **canonical: TargetRef) -> Mapping[str, str]:
    """Begin a cycle of a shard with these autoscalers. Returns those that it may not scale, with the reasons."""
    known = {each.target: AS_WRITTEN(canonical.get(each.name, each.target)) for each in scalers}
    ledger.follow(scalers, scaled=lambda target: known.get(target) or AS_WRITTEN(target))
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


def moment(seconds: float) -> Moment:
    """Return a moment of the test's own clock, on another machine than the daemon's."""
    return Moment(at(seconds), "boot of another machine", timedelta(seconds=seconds))
