"""What adapters say of their targets beside the state, for `check --live`: examinations and write tests."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Final

from autoscaler.cli.findings import Finding
from autoscaler.clock import Clock
from autoscaler.errors import TargetError, TargetForbidden, named
from autoscaler.model import Call, TargetRef
from autoscaler.target import Adapter, Examines, TriesWrites
from autoscaler.threads import spawn

_GRACE_SECONDS: Final = 2.0
"""Time after its deadline until a call counts as hanging."""


def examine_targets(
    adapters: Mapping[str, Adapter],
    targets: Sequence[TargetRef],
    writable: frozenset[TargetRef],
    clock: Clock,
    seconds: float,
) -> Mapping[TargetRef, Sequence[Finding]]:
    """Return the findings about each target: what would prevent scaling, and for `writable` targets the write test.

    Every adapter is asked at the same time, about one target after another. A call takes `seconds` at most.
    """
    of_adapter = {name: [target for target in targets if target.adapter == name] for name in adapters}
    lanes = [
        spawn("examine", partial(_examine_one_by_one, adapters[name], mine, writable, clock, seconds))
        for name, mine in of_adapter.items()
    ]
    return {target: found for lane in lanes for target, found in lane.result().items()}


def _examine_one_by_one(
    adapter: Adapter, targets: Sequence[TargetRef], writable: frozenset[TargetRef], clock: Clock, seconds: float
) -> Mapping[TargetRef, Sequence[Finding]]:
    """Return the findings of each target. An adapter takes one call at a time, so one that hangs is asked no more."""
    found: dict[TargetRef, Sequence[Finding]] = {}
    for target in targets:
        call = Call(clock.now(), clock.monotonic() + seconds)
        asked = spawn("examine", partial(_findings, adapter, target, call, write_test=target in writable))
        try:
            found[target] = asked.result(seconds + _GRACE_SECONDS)
        except TimeoutError:
            hangs = f"the adapter did not answer within {seconds:g} s"
            skipped = f"not examined, because the adapter still hangs in the call for {target}"
            found |= {other: (Finding("scaling", skipped, wrong=True),) for other in targets if other not in found}
            found[target] = (Finding("scaling", hangs, wrong=True),)
            break
    return found


def _findings(adapter: Adapter, target: TargetRef, call: Call, *, write_test: bool) -> Sequence[Finding]:
    return [*_examined(adapter, target), *(_write_tested(adapter, target, call) if write_test else ())]


def _examined(adapter: Adapter, target: TargetRef) -> Iterator[Finding]:
    if not isinstance(adapter, Examines):
        return
    try:
        problem = adapter.examine(target)
    except Exception as error:  # noqa: BLE001 - foreign code
        problem = f"the adapter failed to examine it: {named(error)}; report it to its author"
    if problem is not None:
        yield Finding("scaling", problem, wrong=True)


def _write_tested(adapter: Adapter, target: TargetRef, call: Call) -> Iterator[Finding]:
    if not isinstance(adapter, TriesWrites):
        yield Finding("write", "not tested: this adapter has no write test")
        return
    try:
        yield Finding("write", str(adapter.try_write(target, call)))
    except TargetForbidden as error:
        yield Finding("write", str(error), wrong=True)
    except TargetError as error:
        yield Finding("write", f"the test has no result: {error}", wrong=True)
    except Exception as error:  # noqa: BLE001 - foreign code
        failed = f"the adapter failed in the write test: {named(error)}; report it to its author"
        yield Finding("write", failed, wrong=True)
