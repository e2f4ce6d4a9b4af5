"""A decision's line in the log."""

from typing import Any

from autoscaler.documents import notation
from autoscaler.documents.verdict import headline
from autoscaler.logger import Logger
from autoscaler.model import Decision

EVENT = "decision"


def keys(decision: Decision) -> dict[str, Any]:
    """The line's keys after `timestamp`, `level` and `event`, in their order; `shadow` where there is one.

    A metric has `missing`, how many running instances have no usable sample of it, where there are any.
    """
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
                **({"missing": len(metric.missing)} if metric.missing else {}),
            }
            for metric in decision.metrics
        ],
        "conditions": {
            condition.type.value: [str(condition.status), condition.reason] for condition in decision.conditions
        },
        "dry_run": decision.dry_run,
        **({} if decision.shadow is None else {"shadow": decision.shadow}),
    }


def log(logger: Logger, decision: Decision, repeated: int | None = None) -> None:
    """Write the decision's line: a warning when something failed.

    One with a size that was written is logged as warnings are, and says `info` all the same. `repeated`: how often it
    was so since the autoscaler's last line; None: it is news.
    """
    told = keys(decision) if repeated is None else keys(decision) | {"repeated": repeated}
    if decision.error is not None:
        logger.warning(EVENT, **told)
    elif decision.written is not None:
        logger.warning(EVENT, level="info", **told)
    else:
        logger.info(EVENT, **told)
