"""Groups a target's instances by whether their samples count.

Source: Kubernetes' documentation, "Horizontal Pod Autoscaling", algorithm details: pods that are being deleted or have
failed are set aside, pods that are not ready yet or have no sample are counted conservatively.
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from autoscaler.model import Autoscaler, ControllerOptions, Instance, MetricSpec, MetricType, Phase, Sample, TargetState
from autoscaler.quantity import format_duration

SCRAPED_WITHIN: Final = timedelta(minutes=2)
"""Time after a start within which a sample may be missing: two scrapes at Prometheus' default interval."""
NOT_SCRAPED_YET: Final = (
    f"the instances were started less than {format_duration(SCRAPED_WITHIN)} ago, and a new instance has no sample "
    "until Prometheus has scraped it"
)
_FAILED: Final = Phase.FAILED
_PENDING: Final = Phase.PENDING


class SetAside(NamedTuple):
    """Instances whose samples do not count now."""

    names: Collection[str]
    word: str
    """What they do, for messages: "warming up"."""
    why: str
    """Until when no sample counts, for the error if it is every instance: "before a warm-up of 5m has ended"."""
    span: timedelta = timedelta(0)
    """How long that is for each of them."""


NOTHING_ASIDE: Final = SetAside((), "", "")


class Groups(NamedTuple):
    """One metric's instances, each in exactly one group."""

    samples: dict[str, int]
    """Value in thousandths by instance name, for instances whose samples count."""
    ready: int
    """Units (sum of weights) of those instances."""
    measured: int
    """How many instances they are."""
    not_ready: list[Instance]
    missing: list[Instance]
    """Running instances without a sample."""
    aside: list[Instance]
    """Running instances whose samples are set aside, with or without one. They count as instances without a sample."""
    ignored: list[Instance]
    """Instances that failed or are being deleted."""
    set_aside: SetAside = NOTHING_ASIDE
    """Why those in `aside` are."""


def groups_of(
    scaler: Autoscaler,
    metric: MetricSpec,
    samples: Mapping[str, Sample],
    state: TargetState,
    now: datetime,
    set_aside: SetAside = NOTHING_ASIDE,
) -> Groups:
    """Return the target's instances by whether their samples of a metric count.

    `set_aside`: running instances whose samples do not count.
    """
    options, instances, names_aside = scaler.options, state.instances, set_aside.names
    # samples of starting instances show start-up work
    is_cpu = metric.name == "cpu" and metric.type is not MetricType.PODS
    values: dict[str, int] = {}
    ready = 0
    not_ready: list[Instance] = []
    missing: list[Instance] = []
    aside: list[Instance] = []
    ignored: list[Instance] = []
    for instance in instances:
        name = instance.name
        sample = samples.get(name)
        if instance.deleting or instance.phase is _FAILED:
            ignored.append(instance)
        elif instance.phase is _PENDING:
            not_ready.append(instance)
        elif name in names_aside:
            aside.append(instance)
        elif sample is None:
            missing.append(instance)
        elif is_cpu and not _is_cpu_sample_usable(instance, sample, options, now):
            not_ready.append(instance)
        else:
            ready += instance.weight
            values[name] = sample.value
    measured = len(values)
    if len(values) != len(samples):  # HPA counts samples of pods that it does not know
        known = {instance.name for instance in instances}
        values |= {name: sample.value for name, sample in samples.items() if name not in known}
    return Groups(values, ready, measured, not_ready, missing, aside, ignored, set_aside)


def _is_cpu_sample_usable(instance: Instance, sample: Sample, options: ControllerOptions, now: datetime) -> bool:
    """Return whether a cpu sample shows load rather than start-up work."""
    started, transition = instance.started_at, instance.ready_transition
    if instance.ready is None or started is None or transition is None:
        return False
    if started + options.cpu_initialization_period > now:
        return instance.ready and sample.timestamp >= transition + sample.window
    return instance.ready or started + options.initial_readiness_delay <= transition


def are_new(instances: Sequence[Instance], now: datetime) -> bool:
    """Return whether all running instances started so recently that Prometheus may not have scraped them."""
    starts = [each.started_at for each in instances if each.phase is Phase.RUNNING and not each.deleting]
    return bool(starts) and all(start is not None and now - start < SCRAPED_WITHIN for start in starts)


def ready_units(instances: Sequence[Instance]) -> int:
    """Return the running and ready units, by which Object and External values are multiplied."""
    return sum([instance.weight for instance in instances if instance.ready and instance.phase is Phase.RUNNING])
