"""The settings of a connection of type process, and their offline checks."""

import difflib
import re
import shlex
from collections import Counter
from collections.abc import Mapping
from datetime import timedelta
from typing import Annotated, Any, Final, Self, TypeAlias

from pydantic import (
    BeforeValidator,
    Field,
    PlainSerializer,
    StringConstraints,
    WithJsonSchema,
    model_validator,
)

from autoscaler.target import AdapterSettings, ConfigPath, Duration, SharedPath

PORT_MARK = "{port}"
_MAX_NAME: Final = 63
_MAX_COMPARED: Final = 200
_MAX_LISTED: Final = 30


def _words(value: Any) -> Any:
    if isinstance(value, str):
        try:
            value = shlex.split(value)
        except ValueError as error:
            raise ValueError(f"{error}; quote it as a shell would, or write a list of words") from None
    if isinstance(value, list | tuple) and (not value or value[0] == ""):
        raise ValueError("it is empty; name the program that a worker runs")
    return value


def _port_range(value: Any) -> Any:
    if isinstance(value, range):
        return value
    match = re.fullmatch(r"(\d{1,5})-(\d{1,5})", value) if isinstance(value, str) else None
    first, last = map(int, match.groups()) if match else (0, 0)
    if not 1 <= first <= last <= 65535:
        raise ValueError(f'{value!r} is not a valid port range; expected two of 1 to 65535, as in "20000-20999"')
    return range(first, last + 1)


def _write_range(ports: range) -> str:
    return f"{ports[0]}-{ports[-1]}"


Command: TypeAlias = Annotated[
    tuple[str, ...],
    BeforeValidator(_words),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}, "minItems": 1}]}),
]
"""A list of words, or one string that is split as a shell splits it. No shell runs."""

Ports: TypeAlias = Annotated[
    Any,
    BeforeValidator(_port_range),
    PlainSerializer(_write_range, return_type=str),
    WithJsonSchema({"type": "string", "pattern": "^[0-9]{1,5}-[0-9]{1,5}$", "examples": ["20000-20999"]}),
]
"""A `range` of ports, written `20000-20999`, both included."""

PoolName: TypeAlias = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$")]
"""The pool's name, which also names workers and log files."""


class Readiness(AdapterSettings):
    """How the daemon asks whether a worker is ready."""

    path: Annotated[str, StringConstraints(pattern=r"^/[!-~]*$")]
    """Path of an HTTP GET on the worker's port every second. 2xx is ready; three failures in a row are not ready."""

    def told(self, got: str) -> str:
        """Return what a probe got instead of 2xx, as a sentence; empty if it got 2xx."""
        return f"the readiness probe GET {self.path} gets {got}" if got else ""


class PoolSettings(AdapterSettings):
    """One pool of identical workers."""

    command: Command
    """The worker's command. `{port}` in it is the worker's port."""
    cwd: ConfigPath | None = None
    """Its working directory; default: the daemon's."""
    env: Mapping[str, str] = Field(default_factory=dict)
    """Variables in addition to the few that a worker inherits. `{port}` in a value is the worker's port."""
    ports: Ports | None = None
    """One port for each worker, also as $PORT. None: workers get no port."""
    readiness: Readiness | None = None
    """None: a worker that runs counts as ready."""
    grace_period: Duration = timedelta(seconds=10)
    """Between SIGTERM and SIGKILL."""
    initial_replicas: Annotated[int, Field(ge=1)] = 1
    """Size of a pool that has never run. At least 1, because a size of 0 disables scaling."""
    targets_file: SharedPath | None = None
    """A Prometheus file_sd file of the workers' addresses, kept up to date."""
    log: ConfigPath | None = None
    """The file to which the workers append their output; default: logs/POOL.log in the connection's state folder."""

    @model_validator(mode="after")
    def _ports_are_there_for_whom_needs_them(self) -> Self:
        if self.ports is not None:
            if self.initial_replicas > len(self.ports):
                raise ValueError(
                    f"initialReplicas {self.initial_replicas} is more than the {len(self.ports)} ports; widen `ports`"
                )
            return self
        needs = {
            "readiness": self.readiness is not None,
            "targetsFile": self.targets_file is not None,
            f"{PORT_MARK} in command": any(PORT_MARK in word for word in self.command),
            f"{PORT_MARK} in env": any(PORT_MARK in value for value in self.env.values()),
        }
        for what, needed in needs.items():
            if needed:
                raise ValueError(f'{what} needs a port for each worker; add `ports`, as in "20000-20999"')
        return self


class ProcessSettings(AdapterSettings):
    """`adapters.NAME` of type process."""

    pools: Annotated[Mapping[PoolName, PoolSettings], Field(min_length=1)]
    """Each is a target; scaleTargetRef.name is its name."""

    @model_validator(mode="after")
    def _each_targets_file_has_one_pool(self) -> Self:
        files = Counter(pool.targets_file for pool in self.pools.values() if pool.targets_file is not None)
        shared = next((file for file, uses in files.items() if uses > 1), None)
        if shared is not None:
            raise ValueError(f"targetsFile {shared} is written by more than one pool; give each pool its own")
        return self


def unknown_pool(name: str, settings: ProcessSettings) -> str | None:
    """Return why a pool is unknown, with the nearest name; None when it is configured."""
    pools = settings.pools
    if name in pools:
        return None
    few = len(pools) <= _MAX_COMPARED and len(name) <= _MAX_NAME  # more comparisons take too long
    near = difflib.get_close_matches(name, pools, n=1) if few else ()
    more = f" and {len(pools) - _MAX_LISTED} more" if len(pools) > _MAX_LISTED else ""
    remedy = f"did you mean {near[0]!r}?" if near else f"known pools: {', '.join(sorted(pools)[:_MAX_LISTED])}{more}"
    return f"no pool {name[:_MAX_NAME]!r} is configured; {remedy}"
