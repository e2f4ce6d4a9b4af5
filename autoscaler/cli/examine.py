"""What adapters say beside the state, for `check --live`: of their addresses and targets, and write tests.

Adapters are foreign code: one that fails or hangs costs only its own findings.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Final

from autoscaler.cli.findings import Finding
from autoscaler.clock import Clock
from autoscaler.errors import TargetError, TargetForbidden, named
from autoscaler.model import Call, TargetRef
from autoscaler.target import Adapter
from autoscaler.threads import spawn

GRACE_SECONDS: Final = 2.0
"""Time after its deadline until a call counts as hanging."""


def examine_addresses(
    adapters: Mapping[str, Adapter], clock: Clock, seconds: float, grace_seconds: float = GRACE_SECONDS
) -> Iterator[Finding]:
    """Yield a finding for each address that cannot serve. Cycles use only one address of a connection.

    Every adapter is asked at the same time, for `seconds` at most.
    """
    asked = {
        name: spawn("examine", partial(_failing, adapter, Call(clock.now(), clock.monotonic() + seconds)))
        for name, adapter in adapters.items()
    }
    for name, answer in asked.items():
        try:
            problems = answer.result(seconds + grace_seconds)
        except TimeoutError:
            problems = [f"the adapter did not examine its addresses within {seconds:g} s"]
        for problem in problems:
            yield Finding(f"adapter {name}", problem, wrong=True)


def _failing(adapter: Adapter, call: Call) -> Sequence[str]:
    try:
        return [f"address {address}: {why}" for address, why in adapter.failing_addresses(call).items()]
    except Exception as error:  # noqa: BLE001 - foreign code
        return [f"the adapter failed to examine its addresses: {named(error)}; report it to its author"]


def try_drains(
    adapters: Mapping[str, Adapter], clock: Clock, seconds: float, grace_seconds: float = GRACE_SECONDS
) -> Iterator[Finding]:
    """Yield whether each of these connections may drain nodes. Every adapter is asked for `seconds` at most."""
    for name, adapter in adapters.items():
        try_drain = partial(adapter.try_drain, Call(clock.now(), clock.monotonic() + seconds))
        asked = spawn("examine", partial(_tried, f"adapter {name}", "drains: ", "test of them", try_drain))
        try:
            yield asked.result(seconds + grace_seconds)
        except TimeoutError:
            yield Finding(f"adapter {name}", f"drains: the adapter did not answer within {seconds:g} s", wrong=True)


def examine_targets(
    adapters: Mapping[str, Adapter],
    targets: Sequence[TargetRef],
    writable: frozenset[TargetRef],
    clock: Clock,
    seconds: float,
    grace_seconds: float = GRACE_SECONDS,
) -> Mapping[TargetRef, Sequence[Finding]]:
    """Return the findings about each target: what would prevent scaling, and for `writable` targets the write test.

    Every adapter is asked at the same time, about one target after another. A call takes `seconds` at most.
    """
    of_adapter = {name: [target for target in targets if target.adapter == name] for name in adapters}
    asked = [
        spawn("examine", partial(_examine_one_by_one, adapters[name], mine, writable, clock, seconds, grace_seconds))
        for name, mine in of_adapter.items()
    ]
    return {target: found for each in asked for target, found in each.result().items()}


def _examine_one_by_one(
    adapter: Adapter,
    targets: Sequence[TargetRef],
    writable: frozenset[TargetRef],
    clock: Clock,
    seconds: float,
    grace_seconds: float,
) -> Mapping[TargetRef, Sequence[Finding]]:
    """Return the findings of each target. An adapter takes one call at a time, so one that hangs is asked no more."""
    found: dict[TargetRef, Sequence[Finding]] = {}
    for target in targets:
        call = Call(clock.now(), clock.monotonic() + seconds)
        asked = spawn("examine", partial(_findings, adapter, target, call, write_test=target in writable))
        try:
            found[target] = asked.result(seconds + grace_seconds)
        except TimeoutError:
            hangs = f"the adapter did not answer within {seconds:g} s"
            skipped = f"not examined, because the adapter still hangs in the call for {target}"
            found |= {other: (Finding("scaling", skipped, wrong=True),) for other in targets if other not in found}
            found[target] = (Finding("scaling", hangs, wrong=True),)
            break
    return found


def _findings(adapter: Adapter, target: TargetRef, call: Call, *, write_test: bool) -> Sequence[Finding]:
    found = [*_examined(adapter, target)]
    if write_test:
        found.append(_tried("write", "", "write test", partial(adapter.try_write, target, call)))
    return found


def _examined(adapter: Adapter, target: TargetRef) -> Iterator[Finding]:
    try:
        problem = adapter.examine(target)
    except Exception as error:  # noqa: BLE001 - foreign code
        problem = f"the adapter failed to examine it: {named(error)}; report it to its author"
    if problem is not None:
        yield Finding("scaling", problem, wrong=True)


def _tried(label: str, what: str, test: str, attempt: Callable[[], str | None]) -> Finding:
    """Return what a write test came to. `what`: the beginning of the finding's text. `test`: its name."""
    try:
        answer = attempt()
        return Finding(label, f"{what}not tested: this adapter has no {test}" if answer is None else f"{what}{answer}")
    except TargetForbidden as error:
        problem = str(error)
    except TargetError as error:
        problem = f"the test has no result: {error}"
    except Exception as error:  # noqa: BLE001 - foreign code
        problem = f"the adapter failed in the write test: {named(error)}; report it to its author"
    return Finding(label, f"{what}{problem}", wrong=True)
