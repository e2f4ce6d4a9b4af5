"""Checks adapters' answers against the contract's types and bounds. Adapters are foreign code.

A wrong value fails its own target. Without the check it would fail a later stage, possibly after a write that then
cannot be recorded. Texts are made printable and short; any other wrong value is refused.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Never, TypeAlias

from autoscaler.errors import TargetError, TargetNotScalable, bare
from autoscaler.model import (
    MAX_SIZE,
    AwaitingDrain,
    Conflict,
    Deployment,
    Held,
    Hold,
    HoldReason,
    Instance,
    Limits,
    Phase,
    ScaleOutcome,
    TargetRef,
    TargetState,
    Unchanged,
    Written,
)
from autoscaler.model.target import NO_REQUESTS
from autoscaler.quantity import MAX_MILLI
from autoscaler.target.protocol import AutoscalerBody, Discovery
from autoscaler.text import plain

MAX_INSTANCES: Final = 100_000
"""Instances of one target."""
MAX_OF_AN_INSTANCE: Final = 100
"""Identities, resources and containers of an instance, each; and warnings of a target."""
_SHOWN: Final = 100
"""Characters of a wrong name in a message."""
_SURELY_SHORT: Final = 255
"""A text of this many characters is never longer than 1 KiB of UTF-8."""
_FIRST_YEAR: Final = 1970
_LAST_YEAR: Final = 2199
"""Times within these years stay valid after any period is added to them."""
_MAX_DURATION: Final = timedelta(days=36_500)
_Instances: TypeAlias = tuple[Instance, ...]


class WrongAnswer(ValueError):
    """An answer violates the contract. The message names the field, its value and what was expected."""


class StateCheck:
    """Checks the states of one connection.

    A state that is the same object as the last one is not checked again, nor is an instance equal to its last one. A
    state equal to the last one is returned as the last object, so that later stages can skip it.
    """

    def __init__(self) -> None:
        self._states: dict[TargetRef, tuple[object, TargetState]] = {}
        """Target -> its last answer, and the checked state."""
        self._known: dict[TargetRef, tuple[_Instances, _Instances]] = {}
        """Target -> its last instances, and the checked ones."""

    def __call__(self, target: TargetRef, answer: object) -> TargetState:
        """Return the state, with plain texts and times in UTC. Raises WrongAnswer."""
        known = self._states.get(target)
        if known is not None and known[0] is answer:
            return known[1]
        state = self._checked(target, answer)
        if known is not None and known[1] == state:
            state = known[1]
        self._states[target] = answer, state
        return state

    def _checked(self, target: TargetRef, answer: object) -> TargetState:
        if type(answer) is not TargetState:
            _refuse("the answer", answer, "a TargetState or a TargetError")
        revision, warnings = answer.revision, answer.warnings
        if revision is not None and (type(revision) is not str or len(revision) > _SURELY_SHORT):
            _refuse("revision", revision, f"None or a text of at most {_SURELY_SHORT} characters")
        if type(warnings) is not tuple or len(warnings) > MAX_OF_AN_INSTANCE:
            _refuse("warnings", warnings, f"a tuple of at most {MAX_OF_AN_INSTANCE} texts")
        return TargetState(
            _whole("replicas", answer.replicas, MAX_SIZE),
            _whole("status_replicas", answer.status_replicas, MAX_SIZE),
            self._instances(target, answer.instances),
            _limits(answer.limits),
            _hold(answer.hold),
            revision,
            tuple([_text("warnings", warning) for warning in warnings]),
            _deployment(answer.deployment),
            _text("reset_by", answer.reset_by),
            _duration("warm_up", answer.warm_up),
            _awaiting(answer.awaiting_drain),
            not_started=answer.not_started is True,
        )

    def follow(self, targets: Collection[TargetRef]) -> None:
        """Forget all other targets."""
        for known in (self._states, self._known):
            for target in [target for target in known if target not in targets]:
                del known[target]

    def _instances(self, target: TargetRef, found: object) -> _Instances:
        """Return the checked instances, with unique names. An instance equal to its last one is the last object."""
        if type(found) is not tuple or len(found) > MAX_INSTANCES:
            _refuse("instances", found, f"a tuple of at most {MAX_INSTANCES} Instances")
        came, checked = self._known.get(target, ((), ()))
        if found == came:
            return checked
        before = {one.name: (one, right) for one, right in zip(came, checked, strict=True)}
        pairs = [_pair(place, one, before) for place, one in enumerate(found)]
        right = tuple([each for _, each in pairs])
        if len({one.name for one in right}) < len(right):
            ((name, times),) = Counter([one.name for one in right]).most_common(1)
            raise WrongAnswer(f"instances has {times} of the name {name!r}, expected a name of its own for each")
        self._known[target] = tuple([one for one, _ in pairs]), right
        return right


def checked_outcome(answer: object) -> ScaleOutcome:
    """Return the outcome of `scale`, with plain texts. Raises WrongAnswer."""
    kind = type(answer)
    if isinstance(answer, Written) and kind is Written:
        return Written(_whole("Written.size", answer.size, MAX_SIZE))
    if isinstance(answer, Held) and kind is Held:
        return Held(_hold_reason("Held.hold", answer.hold))
    if isinstance(answer, Conflict) and kind is Conflict:
        return Conflict(_text("Conflict.message", answer.message))
    if isinstance(answer, Unchanged) and kind is Unchanged:
        return answer
    return _refuse("the answer", answer, "Written, Unchanged, Held or Conflict")


def checked_discovery(answer: object, connection: str, namespaces: Collection[str]) -> Discovery:
    """Return the policies of a connection in these namespaces; their contents are not checked. Raises WrongAnswer.

    A target whose name is not printable is left out, and a failure of its namespace.
    """
    if type(answer) is not Discovery:
        _refuse("the answer", answer, "a Discovery")
    if not isinstance(answer.policies, Mapping) or not isinstance(answer.failures, Mapping):
        _refuse("policies and failures", answer.policies, "mappings")
    policies: dict[TargetRef, Mapping[str, Any] | AutoscalerBody | TargetError] = {}
    failures: dict[str, TargetError] = {}
    for namespace, error in answer.failures.items():
        if namespace not in namespaces or not isinstance(error, TargetError):
            _refuse("a failure", error, "a TargetError for one of the namespaces asked for")
        failures[namespace] = checked_error(error)
    for target, policy in answer.policies.items():
        _check_discovered(target, connection, namespaces)
        if plain(target.name) == target.name:
            policies[target] = _policy(policy)
        else:
            what = f"`{plain(target.name, _SHOWN)}` is left out; give it a printable name of at most 1 KiB"
            failures.setdefault(target.namespace or connection, TargetNotScalable(what))
    return Discovery(policies, failures)


def _policy(policy: object) -> Mapping[str, Any] | AutoscalerBody | TargetError:
    if isinstance(policy, TargetError):
        return checked_error(policy)
    if type(policy) is AutoscalerBody:
        if type(policy.text) is not str or type(policy.problems) is not tuple:
            _refuse("an AutoscalerBody", policy.text, "a text, and a tuple of problems")
        text = policy.text.encode(errors="replace").decode()  # without what YAML's parser cannot take
        return AutoscalerBody(text, tuple([_text("a body's problem", each) for each in policy.problems]))
    if isinstance(policy, dict):
        return policy
    return _refuse("a policy", policy, "a mapping, an AutoscalerBody or a TargetError")


def _check_discovered(target: object, connection: str, namespaces: Collection[str]) -> None:
    if type(target) is not TargetRef or (target.adapter, target.region) != (connection, None):
        _refuse("a target", target, f"a TargetRef of the connection {connection} without a region")
    if type(target.parts) is not tuple or any(type(each) is not str for each in target.parts):
        _refuse("a target's parts", target.parts, "a tuple of texts")
    if target.namespace not in (namespaces or (None,)) or type(target.name) is not str:
        _refuse("a target's name", target.name, "a text, and one of the namespaces asked for")


def checked_error(error: TargetError) -> TargetError:
    """Return the error as one of the contract's classes: an adapter's own class may run any code for its message.

    The result holds no traceback: errors are kept, and a frame may hold a whole answer.
    """
    if type(error).__module__ == TargetError.__module__:
        return bare(error)
    own = next(kind for kind in type(error).__mro__ if kind.__module__ == TargetError.__module__)
    try:
        message = str(error)
    except Exception:  # noqa: BLE001 - foreign code
        message = f"{type(error).__name__}, which has no message; report it to the adapter's author"
    plain_error: TargetError = own(message)
    return plain_error


def _pair(place: int, one: object, before: Mapping[str, tuple[Instance, Instance]]) -> tuple[Instance, Instance]:
    """Return the instance, and its checked form."""
    if type(one) is not Instance:
        _refuse(f"instances[{place}]", one, "an Instance")
    known = before.get(one.name) if type(one.name) is str else None
    if known is not None and (known[0] is one or known[0] == one):
        return known
    try:
        return one, _instance(one)
    except WrongAnswer as error:
        raise WrongAnswer(f"instances[{place}].{error}") from None


def _instance(one: Instance) -> Instance:
    if type(one.name) is not str or not one.name or plain(one.name) != one.name:
        _refuse("name", one.name, "a printable text of at most 1 KiB")  # not made plain: victims are chosen by name
    if type(one.phase) is not Phase:
        _refuse("phase", one.phase, "a Phase")
    if one.ready is not None and type(one.ready) is not bool:
        _refuse("ready", one.ready, "True, False or None")
    if type(one.deleting) is not bool:
        _refuse("deleting", one.deleting, "True or False")
    if type(one.weight) is not int or not 1 <= one.weight <= MAX_SIZE:
        _refuse("weight", one.weight, f"a whole number from 1 to {MAX_SIZE}")
    if type(one.identities) is not frozenset or len(one.identities) > MAX_OF_AN_INSTANCE:
        _refuse("identities", one.identities, f"a frozenset of at most {MAX_OF_AN_INSTANCE} texts")
    identities = one.identities
    for identity in identities:
        if _text("identities", identity) is not identity:
            identities = frozenset([_text("identities", each) for each in one.identities])
            break
    checked: dict[str, Any] = {
        "identities": identities,
        "ready_transition": _time("ready_transition", one.ready_transition),
        "started_at": _time("started_at", one.started_at),
        "first_ready": _time("first_ready", one.first_ready),
        "requests": _requests("requests", one.requests),
        "container_requests": _container_requests("container_requests", one.container_requests),
        "detail": _text("detail", one.detail),
    }
    changed = {name: value for name, value in checked.items() if value is not getattr(one, name)}
    return replace(one, **changed) if changed else one  # usually as it is; a target may have many instances


def _requests(field: str, requests: object) -> Mapping[str, int]:
    if requests is NO_REQUESTS:
        return NO_REQUESTS
    if type(requests) is dict and not requests:
        return requests
    checked = {
        _text(field, resource): _whole(f"{field}[{_shown(resource)}]", milli, MAX_MILLI)
        for resource, milli in _items(field, requests)
    }
    return requests if type(requests) is dict and checked == requests else checked


def _container_requests(field: str, requests: object) -> Mapping[str, Mapping[str, int]]:
    if requests is NO_REQUESTS:
        return NO_REQUESTS
    if type(requests) is dict and not requests:
        return requests
    checked = {_text(field, name): _requests(f"{field}[{_shown(name)}]", own) for name, own in _items(field, requests)}
    return requests if type(requests) is dict and checked == requests else checked


def _items(field: str, mapping: object) -> Iterator[tuple[object, object]]:
    if not isinstance(mapping, Mapping) or len(mapping) > MAX_OF_AN_INSTANCE:
        _refuse(field, mapping, f"a mapping of at most {MAX_OF_AN_INSTANCE} entries")
    return iter(mapping.items())


def _limits(limits: object) -> Limits:
    if type(limits) is not Limits:
        _refuse("limits", limits, "Limits")
    maximum = None if limits.maximum is None else _whole("limits.maximum", limits.maximum, MAX_SIZE)
    return Limits(_whole("limits.minimum", limits.minimum, MAX_SIZE), maximum, _text("limits.source", limits.source))


def _hold(hold: object) -> Hold:
    if type(hold) is not Hold:
        _refuse("hold", hold, "a Hold")
    out, into = hold.scale_out, hold.scale_in
    return Hold(
        None if out is None else _hold_reason("hold.scale_out", out),
        None if into is None else _hold_reason("hold.scale_in", into),
    )


def _hold_reason(field: str, reason: object) -> HoldReason:
    if type(reason) is not HoldReason:
        _refuse(field, reason, "a HoldReason")
    return HoldReason(_text(f"{field}.reason", reason.reason), _text(f"{field}.message", reason.message))


def _deployment(deployment: object) -> Deployment | None:
    if deployment is None:
        return None
    if type(deployment) is not Deployment:
        _refuse("deployment", deployment, "a Deployment or None")
    for name, flag in (("rollback", deployment.rollback), ("certain", deployment.certain)):
        if type(flag) is not bool:
            _refuse(f"deployment.{name}", flag, "true or false")
    earlier = deployment.earlier
    if type(earlier) is not tuple or any(type(each) is not tuple or len(each) != 2 for each in earlier):
        _refuse("deployment.earlier", earlier, "a tuple of pairs of an id and a size")
    return Deployment(
        *_deployed(deployment.id, deployment.before),
        _text("deployment.remedy", deployment.remedy),
        deployment.rollback,
        tuple([_deployed(*each) for each in earlier]),
        deployment.certain,
    )


def _deployed(identity: object, before: object) -> tuple[str, int]:
    return _text("deployment.id", identity), _whole("deployment.before", before, MAX_SIZE)


def _awaiting(found: object) -> tuple[AwaitingDrain, ...] | None:
    if found is None:
        return None
    if type(found) is not tuple or len(found) > MAX_INSTANCES:
        _refuse("awaiting_drain", found, f"a tuple of at most {MAX_INSTANCES} AwaitingDrains")
    return tuple([_awaiting_one(place, one) for place, one in enumerate(found)])


def _awaiting_one(place: int, one: object) -> AwaitingDrain:
    field = f"awaiting_drain[{place}]"
    if type(one) is not AwaitingDrain:
        _refuse(field, one, "an AwaitingDrain")
    if type(one.instance) is not str or not one.instance or plain(one.instance) != one.instance:
        _refuse(f"{field}.instance", one.instance, "a printable text of at most 1 KiB")
    if type(one.addresses) is not tuple or len(one.addresses) > MAX_OF_AN_INSTANCE:
        _refuse(f"{field}.addresses", one.addresses, f"a tuple of at most {MAX_OF_AN_INSTANCE} texts")
    heartbeat = None if one.heartbeat is None else _duration(f"{field}.heartbeat", one.heartbeat)
    return AwaitingDrain(one.instance, tuple([_text(f"{field}.addresses", each) for each in one.addresses]), heartbeat)


def _text(field: str, value: object) -> str:
    if type(value) is not str:
        single = ("detail", "id", "reset_by", "message", "reason", "remedy", "source")
        _refuse(field, value, "a text" if field.endswith(single) else "texts")
    return value if len(value) <= _SURELY_SHORT and value.isprintable() else plain(value)


def _whole(field: str, value: object, most: int) -> int:
    if type(value) is not int or not 0 <= value <= most:
        _refuse(field, value, f"a whole number from 0 to {most}")
    return value


def _time(field: str, value: object) -> datetime | None:
    if value is None or (type(value) is datetime and value.tzinfo is UTC and _FIRST_YEAR <= value.year <= _LAST_YEAR):
        return value
    if not isinstance(value, datetime) or value.utcoffset() is None:
        _refuse(field, value, "an aware datetime in UTC, or None")
    if not _FIRST_YEAR <= value.year <= _LAST_YEAR:
        _refuse(field, value, f"a time in the years {_FIRST_YEAR} to {_LAST_YEAR}, or None where it is unknown")
    return datetime.fromtimestamp(value.timestamp(), UTC)


def _duration(field: str, value: object) -> timedelta:
    if type(value) is not timedelta or not timedelta(0) <= value <= _MAX_DURATION:
        _refuse(field, value, f"a timedelta from 0 to {_MAX_DURATION.days} days")
    return value


def _refuse(field: str, value: object, expected: str) -> Never:
    raise WrongAnswer(f"{field} is {_shown(value)}, expected {expected}")


def _shown(value: object) -> str:
    """Return a simple value itself, else its type: showing a foreign value may run any code."""
    if type(value) is str:
        return plain(repr(value[:_SURELY_SHORT]), 100)
    if type(value) is int and value.bit_length() > 64:
        return f"a whole number of {value.bit_length()} bits"
    if type(value) in (bool, int, float, datetime, type(None)):
        return repr(value)
    size = f" of {len(value)}" if type(value) in (tuple, list, frozenset, set, dict) else ""  # type: ignore[arg-type]  # all have a length
    return f"of the type {type(value).__name__}{size}"
