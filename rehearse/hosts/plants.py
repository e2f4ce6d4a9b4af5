"""Bugs to plant in a daemon (`launched`), one at a time. The judge must find each of them.

Each removes one protection, and what could hide its absence.
"""

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any, Final

_SECONDS: Final = 60.0
"""Longer than any pause of a daemon in the rehearsals."""
_AGE: Final = timedelta(hours=1)


def _no_lease_check() -> None:
    """Write every decision, however late, and whichever daemon leads."""
    from autoscaler.act.actuator import Actuator
    from autoscaler.model import Call, Outcome, ScaleChange, TargetRef

    def write(self: Actuator, target: TargetRef, change: ScaleChange, call: Call) -> Outcome:
        return self._adapter.scale(target, change, Call(call.now, self._clock.monotonic() + _SECONDS))

    Actuator._write = write  # type: ignore[method-assign]
    _no_commit_before_a_size()


def _no_second_check() -> None:
    """Check a write at its beginning, and not before its second request."""
    from adapters.aws.api import AwsApi

    AwsApi._left = AwsApi._until_deadline = lambda _: _SECONDS  # type: ignore[method-assign, assignment]
    _no_commit_before_a_size()


def _belief_settles() -> None:
    """Let AWS' adapter remember a size as accepted before its request."""
    from adapters.aws_asg.scaling import Scaling
    from autoscaler.target import Call, ScaleChange, ScaleOutcome

    ask = Scaling._set

    def set_size(self: Scaling, name: str, change: ScaleChange, current: int, call: Call) -> ScaleOutcome:
        self.writes.accepted(name, change.id, current, change.size)
        return ask(self, name, change, current, call)

    Scaling._set = set_size  # type: ignore[method-assign]
    _no_commit_before_a_size()


def _no_commit_before_a_size() -> None:
    """Skip the commit before a group's second write within a minute, which also checks the epoch."""
    from adapters.aws.writes import Writes

    Writes.asking = lambda _, __: None  # type: ignore[method-assign, assignment]


def _no_fence() -> None:
    """Commit whatever an earlier generation has decided."""
    from autoscaler.record import ledger_context
    from autoscaler.record.ages import read_database_time

    vars(ledger_context)["fence"] = lambda connection, *_: read_database_time(connection)


def _age_lost() -> None:
    """Treat everything read from the state as an hour older."""
    from autoscaler.record import ages

    age_of = ages.age_of
    vars(ages)["age_of"] = lambda row, moment: age_of(row, moment) + _AGE


def _no_seq() -> None:
    """Use the rows of the state, also of a promoted standby that lacks the newest."""
    from autoscaler.record import entries, ledger

    def load_older(connection: Any, name: str, moment: Any, keys: Any = None, held: Any = None) -> Any:
        return entries.load_entries(connection, name, moment, keys)

    vars(ledger)["load_entries"] = load_older


def _by_name() -> None:
    """Keep what is remembered by the autoscaler's name, whatever it scales."""
    from autoscaler.record.ledger import Ledger
    from autoscaler.target.scaled import AS_WRITTEN

    follow = Ledger.follow

    def follow_names(self: Ledger, scalers: Any, limits: Any = None, scaled: Any = None) -> None:
        names = {scaler.target: scaler.name for scaler in scalers}
        follow(self, scalers, limits, lambda target: names.get(target) or (scaled or AS_WRITTEN)(target))

    Ledger.follow = follow_names  # type: ignore[method-assign]


PLANTS: Final[Mapping[str, Callable[[], None]]] = {
    "no lease check": _no_lease_check,
    "no check before the second request": _no_second_check,
    "a belief that settles": _belief_settles,
    "no fence in a commit": _no_fence,
    "no seq": _no_seq,
    "an age lost at a takeover": _age_lost,
    "memory by name": _by_name,
}
