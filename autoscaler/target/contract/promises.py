"""What the suite asserts, with a message for the author of the adapter."""

import time
from typing import Any

from autoscaler.errors import TargetError
from autoscaler.model import Phase, TargetState


def promise(kept: bool, broken: str) -> None:
    """Fail with `broken`, unless the promise was kept."""
    if not kept:
        raise AssertionError(broken)


def promise_error(found: object, wanted: type[TargetError] | tuple[type[TargetError], ...], what: str) -> None:
    """Fail unless `found` is one of these errors, with a message."""
    kinds = wanted if isinstance(wanted, tuple) else (wanted,)
    name = " or ".join(kind.__name__ for kind in kinds)
    promise(isinstance(found, kinds), f"{what} should be {name}, is {found!r}")
    promise(bool(str(found)), f"{what}: {name} should carry a message that names the target and the remedy")


def promise_same(first: TargetState, second: TargetState, what: str) -> None:
    """Fail unless both observations show the same target."""
    promise(
        _lasting(first) == _lasting(second), f"{what} differs:\n  before {_lasting(first)}\n  now    {_lasting(second)}"
    )


def promise_prompt(began: float, seconds: float, what: str) -> None:
    """Fail if more than this many seconds have passed since `began`, a time of the monotonic clock."""
    took = time.monotonic() - began
    promise(took <= seconds, f"{what} should last at most {seconds:g} s, took {took:.1f} s")


def _lasting(state: TargetState) -> dict[str, Any]:
    """Return what two observations at rest share. Readiness may change, and ended instances may disappear."""
    instances = {
        one.name: (one.phase, one.started_at, sorted(one.identities), one.weight, one.requests)
        for one in state.instances
        if not one.deleting and one.phase is not Phase.FAILED
    }
    return {
        "replicas": state.replicas,
        "status_replicas": state.status_replicas,
        "revision": state.revision,
        "limits": state.limits,
        "instances": instances,
    }
