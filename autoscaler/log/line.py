"""The log line of a decision."""

from typing import Any

from autoscaler.logger import Logger
from autoscaler.model import Decision
from autoscaler.rules.shown import ShownMemory
from autoscaler.view import notation
from autoscaler.view.parts import memories_with
from autoscaler.view.story import why
from autoscaler.view.verdict import headline

EVENT = "decision"


def keys(decision: Decision) -> dict[str, Any]:
    """Return the line's keys after `timestamp`, `level` and `event`, in order.

    Behind the keys of what rules remember is `why`, the first line of the decision's story.

    A metric has `missing`, the number of running instances without a usable sample, and `warming`, the number of those
    that warm up, unless it is 0.
    """
    condition = headline(decision)
    remembered = [part.of_memory(memory).logged() for memory, part in memories_with(decision, ShownMemory)]
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
        **{key: value for each in remembered for key, value in each.items()},
        "why": why(decision),
    }


def log(logger: Logger, decision: Decision, repeated: int | None = None) -> None:
    """Write the decision's line; a failure is a warning.

    A write has the level `info` but is also logged at the level `warning`. `repeated`: the number of equal decisions
    since the autoscaler's last line; None: the decision is new.
    """
    told = keys(decision)
    if repeated is not None:
        told = {**told, "repeated": repeated, "why": told.pop("why")}
    if decision.error is not None:
        logger.warning(EVENT, **told)
    elif decision.written is not None:
        logger.warning(EVENT, level="info", **told)
    else:
        logger.info(EVENT, **told)
