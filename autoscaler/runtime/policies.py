"""Looks at the scaling policies that a connection's back end has.

An outage, a lost right or a list that is suddenly empty must not end the scaling of what is known. So a policy is let
go only when the back end says of this one target that it, or its policy, is gone.
"""

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

from autoscaler.clock import Clock
from autoscaler.config.origins import Key, Origins
from autoscaler.config.settings import AdapterSection
from autoscaler.convert.discovered import TargetPolicy, granted_namespaces, place_of
from autoscaler.errors import TargetError, TargetNotFound, TargetUnavailable, message_of
from autoscaler.model import Call, TargetRef
from autoscaler.runtime.building import Builder
from autoscaler.target import Adapter, Discovery
from autoscaler.target.answers import WrongAnswer, checked_discovery, checked_error

DEADLINE_SECONDS: Final = 30.0
"""For one look. What was not read by then is read by the next one, which begins at once."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What a look at a source has found."""

    origins: Origins
    """Those of this source."""
    failures: Mapping[str, str] = field(default_factory=dict)
    """Namespace, NAMESPACE/NAME or NAME of a target, or connection -> why nothing new is known of it. It is kept."""
    at: datetime | None = None
    """When the back end answered; None: it has not."""
    is_part: bool = False
    """Whether the next look is to begin at once."""


class Policies:
    """The policies of one connection. Each reading has its own thread; the adapter that it uses does nothing else."""

    kind: Final = "policies"
    """For the log's events."""

    def __init__(self, name: str, section: AdapterSection, builder: Builder, clock: Clock) -> None:
        self.name = name
        self._section = section
        self._builder = builder
        self._clock = clock
        self._adapter: Adapter | None = None

    def is_of(self, section: AdapterSection) -> bool:
        """Return whether this is the same back end."""
        return (self._section.type, self._section.settings) == (section.type, section.settings)

    def owns(self, key: Key) -> bool:
        """Return whether an origin is one of these policies."""
        return isinstance(key, TargetRef) and key.adapter == self.name

    def close(self) -> None:
        """Close the adapter."""
        self._builder.close([] if self._adapter is None else [self._adapter])

    def look(self, known: Origins) -> Finding:
        """Return the policies that the back end has now. Runs on a thread of its own."""
        namespaces = granted_namespaces(self.name, self._section.type, known.main.grants)
        now = self._clock.now()
        call = Call(now, self._clock.monotonic() + DEADLINE_SECONDS)
        targets = [key for key in known.table if isinstance(key, TargetRef)]
        answer: Discovery | TargetError
        try:
            answer = checked_discovery(self._discovering().discover(namespaces, targets, call), self.name, namespaces)
        except TargetError as error:
            answer = checked_error(error)
        except WrongAnswer as error:
            answer = TargetUnavailable(str(error))
        except Exception as error:  # noqa: BLE001 - foreign code: what it raises is named
            answer = TargetUnavailable(message_of(error))
        return after(known, answer, namespaces, now, self.name)

    def _discovering(self) -> Adapter:
        if self._adapter is None:
            self._adapter = self._builder.build_reader(self.name, self._section)
        return self._adapter


def after(
    known: Origins, answer: Discovery | TargetError, namespaces: Collection[str], now: datetime, connection: str
) -> Finding:
    """Return what is known after an answer for these namespaces; without any, for the targets of the connection.

    Policies of other namespaces, which are not granted any more, are let go.
    """
    found = {
        key: each.newest.policy
        for key, each in known.table.items()
        if isinstance(key, TargetRef) and key.namespace in (namespaces or (None,))
    }
    if isinstance(answer, TargetError):
        failures = dict.fromkeys(namespaces or (connection,), str(answer))
    else:
        failures = {name: str(error) for name, error in answer.failures.items()}
        for target, policy in answer.policies.items():
            if isinstance(policy, TargetNotFound):
                found.pop(target, None)
            elif isinstance(policy, TargetError):
                failures[place_of(target).removeprefix(f"{target.adapter}/")] = str(policy)
            else:
                found[target] = policy
    often = Counter(map(_named, found))
    newest: dict[TargetRef, TargetPolicy] = {}
    for target, policy in found.items():
        before, one = known.table.get(target), TargetPolicy(target, policy, often[_named(target)] > 1)
        newest[target] = before.newest if before is not None and before.newest == one else one
    origins = known.after(newest, gone=known.table.keys() - newest.keys())
    is_part = bool(failures) and origins.table.keys() > known.table.keys()
    return Finding(origins, failures, None if isinstance(answer, TargetError) else now, is_part)


def _named(target: TargetRef) -> TargetRef:
    """Return the target without what only its back end tells apart."""
    return replace(target, parts=())
