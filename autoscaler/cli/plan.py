"""`autoscaler check --plan`: shows the queries that the daemon will send, and why they are not fewer."""

from collections.abc import Iterator

from autoscaler.config import Settings
from autoscaler.model import Autoscaler
from autoscaler.observe.plan import questions
from autoscaler.observe.planner import lines
from autoscaler.observe.queries import Queries
from autoscaler.quantity import format_duration


def plan_lines(settings: Settings) -> Iterator[str]:
    """Yield the plan of each batch: the autoscalers of one connection and sync period, which are observed together."""
    batches: dict[tuple[str, str], list[Autoscaler]] = {}
    for scaler in settings.autoscalers:
        key = scaler.target.adapter, format_duration(scaler.sync_period)
        batches.setdefault(key, []).append(scaler)
    queries = Queries()
    for (adapter, period), scalers in batches.items():
        yield ""
        found = queries.plan(questions(scalers), settings.prometheus, {})
        first, *rest = lines(found)
        yield f"adapter {adapter}, every {period}: {first}"
        for line in rest:
            yield f"  {line}" if line else ""
