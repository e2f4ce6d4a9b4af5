"""The log line of a decision."""

from typing import Any

from autoscaler.documents import notation
from autoscaler.documents.verdict import headline
from autoscaler.logger import Logger
from autoscaler.model import Decision
from autoscaler.rules.schedules import open_entries

EVENT = "decision"


def keys(decision: Decision) -> dict[str, Any]:
    """Return the line's keys after `timestamp`, `level` and `event`, in order.

    `schedules` only while some are open.

    A metric has `missing`, the number of running instances without a usable sample, and `warming`, the number of those
    that warm up, unless it is 0.
    """
    condition, schedules = headline(decision), open_entries(decision.remembered.rules.of)
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
                **({"missing": len(metric.missing)} if metric.missing else {}),
                **({"warming": len(metric.aside)} if metric.aside else {}),
            }
            for metric in decision.metrics
        ],
        "conditions": {
            str(condition.type): [str(condition.status), condition.reason] for condition in decision.conditions
        },
        "dry_run": decision.dry_run,
        **({"schedules": [each.name for each in schedules]} if schedules else {}),
    }


def log(logger: Logger, decision: Decision, repeated: int | None = None) -> None:
    """Write the decision's line; a failure is a warning.

    A write has the level `info` but is also logged at the level `warning`. `repeated`: the number of equal decisions
    since the autoscaler's last line; None: the decision is new.
    """
    told = keys(decision) if repeated is None else keys(decision) | {"repeated": repeated}
    if decision.error is not None:
        logger.warning(EVENT, **told)
    elif decision.written is not None:
        logger.warning(EVENT, level="info", **told)
    else:
        logger.info(EVENT, **told)
