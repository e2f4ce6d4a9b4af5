"""What adapters say beside the state, for `check --live`: of their addresses and targets, and write tests.

Adapters are foreign code: one that fails or hangs costs only its own findings.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from functools import partial
from typing import Final, TypeVar

from autoscaler.cli.findings import Finding
from autoscaler.clock import Clock
from autoscaler.errors import TargetError, TargetForbidden, named
from autoscaler.model import Call, TargetRef
from autoscaler.target import Adapter
from autoscaler.threads import spawn

_GRACE_SECONDS: Final = 2.0
"""Time after its deadline until a call counts as hanging."""
_T = TypeVar("_T")


class Examiner:
    """Asks adapters. A call takes `seconds` at most, and counts as hanging `grace_seconds` later."""

    def __init__(
        self, adapters: Mapping[str, Adapter], clock: Clock, seconds: float, grace_seconds: float = _GRACE_SECONDS
    ) -> None:
        self._adapters, self._clock = adapters, clock
        self._seconds, self._grace_seconds = seconds, grace_seconds

    def addresses(self) -> Iterator[Finding]:
        """Yield a finding for each address that cannot serve. Cycles use only one address of a connection.

        Every adapter is asked at the same time.
        """
        late = [f"the adapter did not examine its addresses within {self._seconds:g} s"]
        asked = {name: self._ask(partial(_failing, adapter)) for name, adapter in self._adapters.items()}
        for name, answer in asked.items():
            for problem in self._answer(answer, late):
                yield Finding(f"adapter {name}", problem, wrong=True)

    def drains(self, names: Iterable[str]) -> Iterator[Finding]:
        """Yield whether each of these connections may drain nodes."""
        for name in names:
            label = f"adapter {name}"
            asked = self._ask(partial(_tried, label, "drains: ", "test of them", self._adapters[name].try_drain))
            late = f"drains: the adapter did not answer within {self._seconds:g} s"
            yield self._answer(asked, Finding(label, late, wrong=True))

    def targets(
        self, targets: Sequence[TargetRef], writable: frozenset[TargetRef]
    ) -> Mapping[TargetRef, Sequence[Finding]]:
        """Return the findings about each target: what would prevent scaling, and for `writable` ones the write test.

        Every adapter is asked at the same time, about one target after another.
        """
        asked = [
            spawn(
                "examine", partial(self._one_by_one, adapter, [one for one in targets if one.adapter == name], writable)
            )
            for name, adapter in self._adapters.items()
        ]
        return {target: found for each in asked for target, found in each.result().items()}

    def _one_by_one(
        self, adapter: Adapter, targets: Sequence[TargetRef], writable: frozenset[TargetRef]
    ) -> Mapping[TargetRef, Sequence[Finding]]:
        """Return the findings of each target. An adapter takes one call at a time: one that hangs is asked no more."""
        found: dict[TargetRef, Sequence[Finding]] = {}
        late = [Finding("scaling", f"the adapter did not answer within {self._seconds:g} s", wrong=True)]
        for target in targets:
            found[target] = self._answer(self._ask(partial(_findings, adapter, target, target in writable)), late)
            if found[target] is late:
                text = f"not examined, because the adapter still hangs in the call for {target}"
                skipped = [Finding("scaling", text, wrong=True)]
                return {other: found.get(other, skipped) for other in targets}
        return found

    def _ask(self, work: Callable[[Call], _T]) -> "Future[_T]":
        call = Call(self._clock.now(), self._clock.monotonic() + self._seconds)
        return spawn("examine", partial(work, call))

    def _answer(self, asked: "Future[_T]", late: _T) -> _T:
        try:
            return asked.result(self._seconds + self._grace_seconds)
        except TimeoutError:
            return late


def _failing(adapter: Adapter, call: Call) -> Sequence[str]:
    try:
        return [f"address {address}: {why}" for address, why in adapter.failing_addresses(call).items()]
    except Exception as error:  # noqa: BLE001 - foreign code
        return [f"the adapter failed to examine its addresses: {named(error)}; report it to its author"]


def _findings(adapter: Adapter, target: TargetRef, write_test: bool, call: Call) -> Sequence[Finding]:
    found = [*_examined(adapter, target)]
    if write_test:
        found.append(_tried("write", "", "write test", partial(adapter.try_write, target), call))
    return found


def _examined(adapter: Adapter, target: TargetRef) -> Iterator[Finding]:
    try:
        problem = adapter.examine(target)
    except Exception as error:  # noqa: BLE001 - foreign code
        problem = f"the adapter failed to examine it: {named(error)}; report it to its author"
    if problem is not None:
        yield Finding("scaling", problem, wrong=True)


def _tried(label: str, what: str, test: str, attempt: Callable[[Call], str | None], call: Call) -> Finding:
    """Return the result of a write test. `what`: the beginning of the finding's text. `test`: its name."""
    try:
        answer = attempt(call)
        return Finding(label, f"{what}not tested: this adapter has no {test}" if answer is None else f"{what}{answer}")
    except TargetForbidden as error:
        problem = str(error)
    except TargetError as error:
        problem = f"the test has no result: {error}"
    except Exception as error:  # noqa: BLE001 - foreign code
        problem = f"the adapter failed in the write test: {named(error)}; report it to its author"
    return Finding(label, f"{what}{problem}", wrong=True)
