"""The key `warmUp` of an autoscaler."""

from datetime import timedelta

import pytest

from autoscaler.rules.warm_up import WarmUp
from tests.config.conftest import Load
from tests.config.texts import EXTERNAL, HEAD, SCALER, scaler

PODS = "{type: Pods, pods: {metric: {name: p}, query: %s, target: {type: AverageValue, averageValue: 1}}}"


@pytest.mark.parametrize(
    ("own", "warm_up"),
    [("", None), (", warmUp: null", None), (", warmUp: 0s", timedelta(0)), (", warmUp: 90s", timedelta(seconds=90))],
)
def test_a_warm_up_of_zero_is_not_the_same_as_none(load_text: Load, own: str, warm_up: timedelta | None) -> None:
    """Without the key the Auto Scaling group's own applies; 0s switches that off."""
    rule = scaler(load_text, own).rules.find(WarmUp)
    assert (None if rule is None else rule.duration) == warm_up


@pytest.mark.parametrize(("metric", "hinted"), [(EXTERNAL, True), (PODS, False)], ids=["External", "Pods"])
def test_a_warm_up_that_changes_nothing_is_a_hint(load_text: Load, metric: str, hinted: bool) -> None:
    """A queue's length is not measured per instance."""
    only = SCALER % (metric % "{expr: q}", ", warmUp: 90s")
    hints = load_text(f"{HEAD}autoscalers: [{only}]\n").hints
    assert [hint.path for hint in hints] == ["autoscalers[0].warmUp"] * hinted
