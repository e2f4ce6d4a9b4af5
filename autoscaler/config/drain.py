"""The field `drain` of an autoscaler: what happens to an instance that leaves before its back end ends it."""

import re
from datetime import timedelta
from typing import Annotated, Final, Self

from pydantic import AfterValidator, Field, Strict, ValidationInfo, model_validator

from autoscaler import model
from autoscaler.config.fields import AdapterName, PositiveDuration, Section, Text, at_most, scope_of
from autoscaler.quantity import format_duration
from autoscaler.target import Adapter, Command

ACTIONS: Final = tuple(model.DrainAction)
MAX_TIMEOUT: Final = timedelta(hours=48)
"""No Auto Scaling group waits longer. Source: User Guide, "Amazon EC2 Auto Scaling lifecycle hooks"."""
_SHARE: Final = 4 / 5
"""Of the timeout: a node's deadline. What Nomad stops at it still has its `kill_timeout`."""
_URL: Final = re.compile(r"https?://\{address\}(:[0-9]{1,5})?(/[!-~]*)?")
_MARK: Final = re.compile(r"\{[^{}]*\}")
_MARKS: Final = frozenset({"{address}", "{instance}"})


def _check_url(url: str) -> str:
    if not _URL.fullmatch(url):
        raise ValueError(
            "this is not a valid drain URL; its host is the instance's address, as in "
            "http://{address}:8080/drain?of={instance}"
        )
    if unknown := sorted(set(_MARK.findall(url)) - _MARKS):
        raise ValueError(f"{unknown[0][:64]} stands for nothing; write {{address}} or {{instance}}")
    return url


def _drains_nodes(name: str, info: ValidationInfo) -> str:
    kind = scope_of(info)["adapters"].get(name)
    if kind is not None and not kind.implements("drain_node"):
        raise ValueError(f"adapter {name!r} drains no nodes; name a connection of type nomad")
    return name


class NomadDrain(Section):
    """Drains the Nomad node that is the instance."""

    adapter: Annotated[AdapterName, AfterValidator(_drains_nodes)]
    """The name of the Nomad connection in `adapters`."""
    deadline: PositiveDuration | None = None
    """After which Nomad stops the allocations that are left. Default: four fifths of the drain's timeout."""


class HttpDrain(Section):
    """Asks the instance until it answers that it is drained."""

    url: Annotated[Text, AfterValidator(_check_url)]
    """Is posted to every few seconds. `{address}` is the instance's private address, `{instance}` its name."""
    until: Annotated[int, Strict(), Field(ge=200, le=599)] = 200
    """The status that ends the drain. After any other answer the daemon asks again."""


class Drain(Section):
    """What happens to an instance that leaves before its back end ends it: exactly one of nomad, http and command."""

    hook: Text | None = None
    """The lifecycle hook on which instances wait (aws-asg). Default: the group's only terminating hook."""
    timeout: Annotated[PositiveDuration, at_most(MAX_TIMEOUT)] = model.DrainRule().timeout
    """After which an instance is let go, drained or not; at most 48h."""
    nomad: NomadDrain | None = None
    """Drains the Nomad node that is the instance."""
    http: HttpDrain | None = None
    """Asks the instance until it answers that it is drained."""
    command: Command | None = None
    """Runs a program on the daemon's machine until it exits with 0; its path is absolute, and no shell runs."""

    @model_validator(mode="after")
    def _one_action(self) -> Self:
        given = [action for action in ACTIONS if getattr(self, action) is not None]
        if len(given) != 1:
            found = f"found {' and '.join(given)}; keep one" if given else "found none; add one"
            raise ValueError(f"expected exactly one of {', '.join(ACTIONS)}, {found}")
        deadline, timeout = None if self.nomad is None else self.nomad.deadline, self.timeout
        if deadline is not None and deadline > timeout:
            raise ValueError(
                f"deadline {format_duration(deadline)} of nomad is longer than timeout {format_duration(timeout)}, "
                "after which the instance is let go; shorten it, or lengthen timeout"
            )
        return self

    def problem(self, adapter: str, kind: type[Adapter]) -> str | None:
        """Return what an autoscaler on this connection, of this type, cannot have of it; None: it can have all."""
        known = kind.drain_keys
        given = [key for key in ("hook", *ACTIONS) if getattr(self, key) is not None]
        if not known:
            return f"adapter {adapter!r} cannot keep an instance that leaves, so nothing can be drained; remove drain"
        wrong = next((key for key in given if key not in known), None)
        return wrong and f"adapter {adapter!r} does not take {wrong}; known: {', '.join(sorted(known))}"

    def spec(self) -> model.DrainRule:
        """Return the frozen rule."""
        nomad, http = self.nomad, self.http
        deadline = _SHARE * self.timeout if nomad is None or nomad.deadline is None else nomad.deadline
        return model.DrainRule(
            timeout=self.timeout,
            hook=self.hook,
            nomad=None if nomad is None else model.NodeDrainRule(nomad.adapter, deadline),
            http=None if http is None else model.HttpDrainRule(http.url, http.until),
            command=tuple([str(word) for word in self.command or ()]),  # msgspec writes no subclass of str
        )
