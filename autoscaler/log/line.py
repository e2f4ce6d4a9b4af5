"""The line in the log that each decision gets."""

from typing import Any

from autoscaler.documents import notation
from autoscaler.documents.headline import failed, headline
from autoscaler.logger import Logger
from autoscaler.model import Decision

EVENT = "decision"


def keys(decision: Decision) -> dict[str, Any]:
    """The line's keys after `timestamp`, `level` and `event`, in their order."""
    condition = headline(decision)
    return {
        "autoscaler": decision.name,
        "target": str(decision.target),
        "current": decision.current,
        "desired": decision.desired,
        "written": decision.written,
        "reason": condition and condition.reason,
        "message": condition and condition.message,
        "metrics": [
            {
                "name": metric.name,
                "type": metric.type.value,
                "value": notation.value(metric),
                "target": notation.target(metric.target),
            }
            for metric in decision.metrics
        ],
        "conditions": {
            condition.type.value: [str(condition.status), condition.reason] for condition in decision.conditions
        },
        "dry_run": decision.dry_run,
    }


def log(logger: Logger, decision: Decision) -> None:
    """Write the decision's line: a warning when something failed."""
    (logger.warning if failed(decision) else logger.info)(EVENT, **keys(decision))
