"""A heavy member of a merged query, in a real Prometheus."""

import time
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from autoscaler.model import MetricType, TargetRef
from tests.observe.build import metric, scaler
from tests.observe.scripted import Shard
from tests.servers.heavy import HEAVY, LIGHT, expression, groups

pytestmark = pytest.mark.slow

WELL = {name: 1000 * number for number, name in enumerate(LIGHT, 1)}


def test_a_heavy_member_affects_only_itself(tmp_path: Path) -> None:
    """It reads 15,000 series and takes two seconds. From the second cycle on, all other members have a value."""
    with groups(tmp_path) as found:
        scalers = [
            scaler(metric(MetricType.EXTERNAL, expression(name)), name=name, target=TargetRef("fleet", name))
            for name in (*LIGHT, HEAVY)
        ]
        shard = Shard(found.prometheus, scalers, timeout=timedelta(seconds=1))

        def cycle() -> Mapping[str, int | str]:
            return shard.values(now=datetime.now(UTC), seconds=6)

        cycle()
        for heavy in (True, False, True):
            found.make(heavy=heavy)
            end = time.monotonic() + 60
            while True:
                values = cycle()
                assert {name: values[name] for name in LIGHT} == WELL
                if isinstance(values[HEAVY], int) is not heavy:
                    break
                assert time.monotonic() < end, values[HEAVY]
            for _ in range(3):
                values = cycle()
                assert {name: values[name] for name in LIGHT} == WELL
