"""`make test-aws`: checks of the AWS adapters on a real account, with boto3's credentials and region.

AWS_TEST_GROUP names an Auto Scaling group; AWS_TEST_SERVICE names an ECS service, too, as CLUSTER/SERVICE. The checks
only read, unless WRITE=1: then the size changes by one and is set back.
"""

import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar, Final

import boto3

from adapters.aws_asg import AwsAsg
from adapters.aws_ecs import AwsEcs
from autoscaler.clock import SystemClock
from autoscaler.errors import TargetError, TargetNotFound
from autoscaler.model import (
    Call,
    Conflict,
    Hold,
    Phase,
    ScaleChange,
    ScaleOutcome,
    TargetRef,
    TargetState,
    Unchanged,
    Written,
)
from autoscaler.target.contract import make_context
from tests.waiting import until

_CALL_SECONDS: Final = 27.0
"""The time of a cycle with a period of 30 s or more."""
_LOOKS: Final = 20


class Group:
    """An Auto Scaling group, as boto3 sees it."""

    adapter: ClassVar[Any] = AwsAsg

    def __init__(self, name: str) -> None:
        self.name, self._client = name, boto3.client("autoscaling")

    def desired(self) -> int:
        found = self._client.describe_auto_scaling_groups(AutoScalingGroupNames=[self.name])
        return int(found["AutoScalingGroups"][0]["DesiredCapacity"])

    def set(self, size: int) -> None:
        self._client.set_desired_capacity(AutoScalingGroupName=self.name, DesiredCapacity=size)


class Service:
    """An ECS service, as boto3 sees it."""

    adapter: ClassVar[Any] = AwsEcs

    def __init__(self, name: str) -> None:
        self.name, self._client = name, boto3.client("ecs")
        self._cluster, _, self._service = name.partition("/")

    def desired(self) -> int:
        found = self._client.describe_services(cluster=self._cluster, services=[self._service])
        return int(found["services"][0]["desiredCount"])

    def set(self, size: int) -> None:
        self._client.update_service(cluster=self._cluster, service=self._service, desiredCount=size)


@dataclass
class Checked:
    """A target, and an adapter that is connected to its account."""

    backend: Group | Service
    adapter: Any
    seen: TargetState = field(init=False)
    """What the first check read."""

    @property
    def target(self) -> TargetRef:
        return TargetRef("test", self.backend.name)

    @property
    def size(self) -> int:
        """The size before the checks."""
        return self.seen.replicas

    @property
    def other(self) -> int:
        """A size beside it: the larger one, if the target's own limits allow that."""
        most = self.seen.limits.maximum
        return self.size + 1 if most is None or self.size < most else self.size - 1

    def call(self) -> Call:
        clock = SystemClock()
        return Call(clock.now(), clock.monotonic() + _CALL_SECONDS)

    def look(self) -> TargetState:
        """Return the target as the adapter sees it. Raises TargetError."""
        found = self.adapter.observe([self.target], self.call())[self.target]
        if isinstance(found, TargetError):
            raise found
        assert isinstance(found, TargetState), found
        return found

    def look_unheld(self) -> TargetState | None:
        """Return what `look` does; None: an operation holds the target."""
        found = self.look()
        return found if found.hold == Hold() else None

    def scale(self, size: int, decided_from: int) -> ScaleOutcome:
        change = ScaleChange(f"check-{time.monotonic_ns()}", size, decided_from, self.seen.revision, "make test-aws")
        outcome: ScaleOutcome = self.adapter.scale(self.target, change, self.call())
        return outcome


Check = Callable[[Checked], object]
"""Returns what it found. Raises AssertionError, or an error of the adapter or of boto3."""


def the_target_is_read(one: Checked) -> object:
    found = until(one.look_unheld, "the end of the operation that holds the target; look at its events")
    assert found is not None  # for mypy
    one.seen = found
    return f"size {one.size}, {len(one.seen.instances)} instances"


def the_size_is_what_boto3_reads(one: Checked) -> object:
    assert one.backend.desired() == one.size, f"boto3 reads {one.backend.desired()}, the adapter {one.size}"
    return one.size


def running_instances_have_addresses(one: Checked) -> object:
    running = [each for each in one.seen.instances if each.phase is Phase.RUNNING]
    without = [each.name for each in running if not each.identities - {each.name}]
    assert without == [], f"without: {', '.join(without)}"
    return f"{len(running)} run"


def a_missing_target_is_not_found(one: Checked) -> object:
    missing = TargetRef("test", f"{one.backend.name}-missing")
    found = one.adapter.observe([missing, one.target], one.call())
    assert isinstance(found[one.target], TargetState), f"the target beside it: {found[one.target]}"
    assert isinstance(found[missing], TargetNotFound), f"{missing.name}: {found[missing]}"
    return found[missing]


def many_looks_are_answered(one: Checked) -> object:
    for _ in range(_LOOKS):
        one.look()
    return f"{_LOOKS} looks, one after another"


def a_write_is_permitted(one: Checked) -> object:
    answer: str = one.adapter.try_write(one.target, one.call())
    assert one.backend.desired() == one.size, f"the size is {one.backend.desired()} now"
    return answer


def a_decision_from_another_size_is_a_conflict(one: Checked) -> object:
    outcome = one.scale(one.other, decided_from=one.size + 7)
    assert isinstance(outcome, Conflict), outcome
    assert one.backend.desired() == one.size, f"the size is {one.backend.desired()} now"
    return outcome.message


def a_size_is_written(one: Checked) -> object:
    outcome = one.scale(one.other, decided_from=one.size)
    assert outcome == Written(one.other), outcome
    until(lambda: one.backend.desired() == one.other, f"boto3 reads {one.other}")
    return f"{one.size} -> {one.other}"


def the_written_size_is_read(one: Checked) -> object:
    until(lambda: one.look().replicas == one.other, f"the adapter reads {one.other}")
    return one.other


def a_size_that_stands_is_not_written_again(one: Checked) -> object:
    outcome = one.scale(one.other, decided_from=one.size)
    assert isinstance(outcome, Unchanged), outcome
    return one.other


READS: Final[Sequence[Check]] = (
    the_target_is_read,
    the_size_is_what_boto3_reads,
    running_instances_have_addresses,
    a_missing_target_is_not_found,
    many_looks_are_answered,
)
WRITES: Final[Sequence[Check]] = (
    a_write_is_permitted,
    a_decision_from_another_size_is_a_conflict,
    a_size_is_written,
    the_written_size_is_read,
    a_size_that_stands_is_not_written_again,
)


def check(backend: Group | Service, *, write: bool) -> bool:
    """Print a line for each check. Returns whether all passed; after one that failed, the rest is left out."""
    with TemporaryDirectory() as folder:
        one = Checked(backend, backend.adapter(make_context(backend.adapter.Settings(), Path(folder))))
        try:
            return all(_passes(each, one) for each in (*READS, *(WRITES if write else ())))
        finally:
            one.adapter.close()
            if write and hasattr(one, "seen") and backend.desired() != one.size:
                backend.set(one.size)
                print(f"      {backend.name}: set back to {one.size}", flush=True)


def _passes(each: Check, one: Checked) -> bool:
    try:
        result, found = "ok", each(one)
    except Exception as error:  # noqa: BLE001 - any error is what the check found
        result, found = "FAIL", f"{type(error).__name__}: {error}"
    print(f"{result:5} {one.backend.name}: {each.__name__.replace('_', ' ')}: {found}", flush=True)
    return result == "ok"


def main() -> int:
    """Return 0 if every check passed, 1 if one failed, 2 if no group is named."""
    group, service = os.environ.get("AWS_TEST_GROUP"), os.environ.get("AWS_TEST_SERVICE")
    if not group:
        print(
            "AWS_TEST_GROUP is not set, so nothing was sent to AWS; name an Auto Scaling group that may change: "
            "make test-aws AWS_TEST_GROUP=web-asg"
        )
        return 2
    write = os.environ.get("WRITE") == "1"
    backends: list[Group | Service] = [Group(group), *([Service(service)] if service else [])]
    passed = [check(each, write=write) for each in backends]
    if not write:
        print("Sizes were only read; WRITE=1 also changes each by one and sets it back.")
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main())
