"""A PromQL expression and how its samples are used."""

from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True, slots=True)
class Query:
    """One PromQL expression and how its samples are used."""

    expr: str
    prometheus: str = "default"
    """Name of the source in the configuration's `prometheus`."""
    match: tuple[tuple[str, str], ...] = ()
    """Labels (name, value) that a sample must carry to be this user's; sorted."""
    instance_label: str | None = None
    """Label that names the instance.

    None: the first present of alloc_id, task_id, container_id, instance_id, instance.
    """
    window: timedelta = timedelta(seconds=60)
    """What a sample averages over, for the cpu readiness rule."""
    max_age: timedelta | None = None
    """Oldest sample that is used; None: whatever Prometheus returns."""
