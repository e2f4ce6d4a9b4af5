"""What documents and the log say of a size that a deployment reset, and what the state keeps of it."""

from pathlib import Path

from autoscaler.log import line
from autoscaler.model import Deployment, Hold, HoldReason, ManualControls
from autoscaler.view.detail import detail
from autoscaler.view.explain import explanation
from autoscaler.view.summary import summary
from tests.decide.build import QUEUE_15, scaler, state, value
from tests.replaced import replace
from tests.view.lives import Recorded, open_state

REMEDY = "deploy with `nomad job run -preserve-counts`"


def test_a_reset_is_shown_with_its_remedy_and_survives_a_restart(tmp_path: Path) -> None:
    """A daemon that is upgraded in the middle of a deployment still knows the size before."""
    with open_state(tmp_path) as opened:
        life = Recorded(opened.ledger("fleet"), scaler(QUEUE_15), 40)
        life.queue(600)
        under_way = HoldReason("DeploymentActive", "a deployment is under way")
        target = replace(state(1), deployment=Deployment("7", 40, REMEDY), hold=Hold(under_way, under_way))
        made = life.step(value(15_000), target=target)
        (*_, record) = opened.archive.records("web")
        document = explanation(record)
        (step,) = [
            each
            for each in document.lines
            if each.startswith("a deployment set") and each.endswith("(RecoveringSize) -> 40")
        ]
        assert REMEDY in step
        shown = summary("web", life.autoscaler, made, ManualControls(), configured=True)
        assert (shown.desired, shown.reason) == (40, "DeploymentActive")
        assert "from 40 to 1" in (shown.limited_by or "")
    with open_state(tmp_path) as opened:
        life.ledger = opened.ledger("fleet")
        made = life.step(value(15_000), target=replace(target, hold=Hold()))
        assert made.written == 40
        life.step(value(600_000), target=state(40))
        (*_, record) = opened.archive.records("web")
        reset_by = dict(detail(shown, life.autoscaler, record, (), {}))["reset_by"]
        assert reset_by is not None
        assert "set the size to 1" in reset_by
        kept = replace(state(40), deployment=Deployment("8", 40, REMEDY))
        life.step(value(600_000), target=kept)
        (*_, record) = opened.archive.records("web")
        assert dict(detail(shown, life.autoscaler, record, (), {}))["reset_by"] is None
    keys = line.keys(made)
    assert keys["reason"] == "RecoveringSize"
    assert REMEDY in keys["message"]
