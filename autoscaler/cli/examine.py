"""What adapters say beside the state, for `check --live`: of their addresses and targets, and write tests.

Adapters are foreign code: one that fails or hangs costs only its own findings.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import Final, TypeAlias

from autoscaler.cli.findings import Finding
from autoscaler.clock import Clock
from autoscaler.errors import TargetError, TargetForbidden, named
from autoscaler.model import Call, TargetRef
from autoscaler.target import Adapter
from autoscaler.threads import spawn

_GRACE_SECONDS: Final = 2.0
"""Time after its deadline until a call counts as hanging."""
Subject: TypeAlias = TargetRef | str
"""What a finding is about: a target, or the connection of this name."""


class Examiner:
    """Asks adapters. A call takes `seconds` at most, and counts as hanging `grace_seconds` later."""

    def __init__(self, clock: Clock, seconds: float, grace_seconds: float = _GRACE_SECONDS) -> None:
        self._clock, self._seconds, self._grace_seconds = clock, seconds, grace_seconds

    def findings(
        self, adapters: Mapping[str, Adapter], targets: Mapping[TargetRef, bool], drains: Collection[str]
    ) -> Mapping[Subject, Sequence[Finding]]:
        """Return the findings about each target and each connection. All adapters are asked at the same time.

        `targets`: each with whether its write is tested. `drains`: the connections whose drain of nodes is tested.
        """
        asked = []
        for name, adapter in adapters.items():
            questions: dict[Subject, Callable[[Call], Sequence[Finding]]] = {
                target: partial(_of_target, adapter, target, write_test)
                for target, write_test in targets.items()
                if target.adapter == name
            }
            questions[name] = partial(_of_connection, adapter, name, name in drains)
            asked.append(spawn("examine", partial(self._one_by_one, name, questions)))
        return {subject: found for each in asked for subject, found in each.result().items()}

    def _one_by_one(
        self, name: str, questions: Mapping[Subject, Callable[[Call], Sequence[Finding]]]
    ) -> Mapping[Subject, Sequence[Finding]]:
        """Return the findings by subject. An adapter takes one call at a time: one that hangs is asked no more."""
        found, hanging = dict[Subject, Sequence[Finding]](), None
        for subject, ask in questions.items():
            if hanging is not None:
                text = f"not asked, because it still hangs in the call for {hanging}"
                found[subject] = [Finding(f"adapter {name}", text, wrong=True)]
                continue
            call = Call(self._clock.now(), self._clock.monotonic() + self._seconds)
            try:
                found[subject] = spawn("examine", partial(ask, call)).result(self._seconds + self._grace_seconds)
            except TimeoutError:
                hanging = subject
                text = f"did not answer within {self._seconds:g} s"
                found[subject] = [Finding(f"adapter {name}", text, wrong=True)]
        return found


def _of_target(adapter: Adapter, target: TargetRef, write_test: bool, call: Call) -> Sequence[Finding]:
    """Return what would prevent scaling, and with `write_test` whether the target may be scaled."""

    def examined() -> Iterator[Finding]:
        if (problem := adapter.examine(target)) is not None:
            yield Finding("scaling", problem, wrong=True)

    tried = partial(_tried, "write", partial(adapter.try_write, target, call))
    return [*_guarded("scaling", examined), *(_guarded("write", tried) if write_test else ())]


def _of_connection(adapter: Adapter, name: str, drains: bool, call: Call) -> Sequence[Finding]:
    """Return the addresses that cannot serve, of which cycles use one; with `drains` whether it may drain nodes."""

    def examined() -> Iterator[Finding]:
        for address, why in adapter.failing_addresses(call).items():
            yield Finding(f"adapter {name}", f"address {address}: {why}", wrong=True)

    tried = partial(_tried, f"drains by {name}", partial(adapter.try_drain, call))
    return [*_guarded(f"adapter {name}", examined), *(_guarded(f"drains by {name}", tried) if drains else ())]


def _guarded(label: str, ask: Callable[[], Iterator[Finding]]) -> Sequence[Finding]:
    try:
        return list(ask())
    except Exception as error:  # noqa: BLE001 - foreign code
        return [Finding(label, f"the adapter failed: {named(error)}; report it to its author", wrong=True)]


def _tried(label: str, attempt: Callable[[], str | None]) -> Iterator[Finding]:
    """Yield the result of a write test."""
    try:
        yield Finding(label, attempt() or "not tested: this adapter has no such test")
    except TargetForbidden as error:
        yield Finding(label, str(error), wrong=True)
    except TargetError as error:
        yield Finding(label, f"the test has no result: {error}", wrong=True)
