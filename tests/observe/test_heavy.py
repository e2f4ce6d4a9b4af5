"""A heavy member of a merged query, in a real Prometheus."""

from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Final

import pytest

from autoscaler.model import MetricType, TargetRef
from tests.observe.build import metric, scaler
from tests.observe.scripted import Shard
from tests.servers.heavy import HEAVY, LIGHT, expression, groups
from tests.waiting import PATIENCE_SECONDS, until

pytestmark = pytest.mark.slow

_WITHIN_SECONDS: Final = 2 * PATIENCE_SECONDS
WELL = {name: 1000 * number for number, name in enumerate(LIGHT, 1)}


def test_a_heavy_member_affects_only_itself(tmp_path: Path) -> None:
    """It reads 15,000 series and takes eight seconds. Soon all other members have a value in each cycle."""
    with groups(tmp_path) as found:
        scalers = [
            scaler(metric(MetricType.EXTERNAL, expression(name)), name=name, target=TargetRef("fleet", name))
            for name in (*LIGHT, HEAVY)
        ]
        shard = Shard(found.prometheus, scalers, timeout=timedelta(seconds=3))

        def settled(*, heavy: bool) -> bool:
            """Run three cycles. All members have a value, but for the heavy one."""
            for _ in range(3):
                values = shard.values(now=datetime.now(UTC), seconds=30)
                if {name: values[name] for name in LIGHT} != WELL or isinstance(values[HEAVY], int) is heavy:
                    return False
            return True

        for heavy in (True, False, True):
            found.make(heavy=heavy)
            what = f"a value of all members, {'but' if heavy else 'also'} of the heavy one"
            until(partial(settled, heavy=heavy), what, _WITHIN_SECONDS)
