"""A file with schedules."""

from collections.abc import Sequence

from autoscaler.model import Autoscaler
from autoscaler.rules.schedules import Schedules
from autoscaler.windows import ScheduleEntry

OFFICE = '{cron: "0 8 * * 1-5", duration: 10h, timezone: Europe/Berlin, minReplicas: 10}'
NIGHT = '{cron: "0 20 * * *", until: "0 6 * * *", timezone: Europe/Berlin, maxReplicas: 0}'
SALE = "{start: 2026-11-27T00:00, end: 2026-11-30T23:59, timezone: America/New_York, minReplicas: 40, maxReplicas: 80}"
METRIC = (
    "{type: Pods, pods: {metric: {name: load}, query: {expr: load}, target: {type: AverageValue, averageValue: 1}}}"
)


def text(own: str, *shared: str) -> str:
    """A file with an autoscaler of the shared schedules and its own."""
    return "\n".join(
        [
            "adapters: {trial: {type: memory, groups: {web: {}}}}",
            *(["schedules:", *(f"  {each}" for each in shared)] if shared else []),
            "autoscalers:",
            "  - name: web",
            "    scaleTargetRef: {adapter: trial, name: web}",
            "    minReplicas: 2",
            "    maxReplicas: 20",
            f"    schedules: [{own}]",
            f"    metrics: [{METRIC}]",
        ]
    )


def entries_of(scaler: Autoscaler) -> Sequence[ScheduleEntry]:
    """Return the entries of all schedules of an autoscaler."""
    rule = scaler.rules.find(Schedules)
    return () if rule is None else rule.entries
