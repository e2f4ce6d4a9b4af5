"""Which addresses of a connection cannot serve, for `check --live`. Cycles use only one of them."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Final

from autoscaler.cli.findings import Finding
from autoscaler.clock import Clock
from autoscaler.errors import named
from autoscaler.model import Call
from autoscaler.target import Adapter, HasAddresses
from autoscaler.threads import spawn

_GRACE_SECONDS: Final = 2.0
"""Time after its deadline until a call counts as hanging."""


def examine_addresses(adapters: Mapping[str, Adapter], clock: Clock, seconds: float) -> Iterator[Finding]:
    """Yield a finding for each address that cannot serve. All adapters are asked at the same time, for `seconds`."""
    asked = {
        name: spawn("addresses", partial(_failing, adapter, Call(clock.now(), clock.monotonic() + seconds)))
        for name, adapter in adapters.items()
        if isinstance(adapter, HasAddresses)
    }
    for name, answer in asked.items():
        try:
            problems = answer.result(seconds + _GRACE_SECONDS)
        except TimeoutError:
            problems = [f"the adapter did not examine its addresses within {seconds:g} s"]
        for problem in problems:
            yield Finding(f"adapter {name}", problem, wrong=True)


def _failing(adapter: HasAddresses, call: Call) -> Sequence[str]:
    try:
        return [f"address {address}: {why}" for address, why in adapter.failing_addresses(call).items()]
    except Exception as error:  # noqa: BLE001 - foreign code
        return [f"the adapter failed to examine its addresses: {named(error)}; report it to its author"]
