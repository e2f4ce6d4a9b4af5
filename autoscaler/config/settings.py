"""The settings of a loaded configuration. pydantic checks those that are written in the file as they are here."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Final, Literal, NamedTuple, Self, TypeAlias
from urllib.parse import unquote

from pydantic import (
    AfterValidator,
    BaseModel,
    Field,
    ModelWrapValidatorHandler,
    ValidationInfo,
    model_validator,
)
from pydantic.alias_generators import to_camel

from autoscaler.config.authentication import BasicAuth, Header, OAuth2, SigV4, Tls
from autoscaler.config.control_socket import check_length, normal_path
from autoscaler.config.controller import Controller
from autoscaler.config.grants import Grant
from autoscaler.config.server import ExternalUrl, HeaderName, ParameterName, ServerUrl, WebhookUrl
from autoscaler.errors import Problem
from autoscaler.fields.part import Part
from autoscaler.fields.queries import SharedQuery
from autoscaler.fields.types import Count, Flag, PositiveDuration, Size, Text, at_least, matching, scope_of
from autoscaler.model import Autoscaler, ConnectionLimits
from autoscaler.quantity import format_duration
from autoscaler.rules.schedules.keys import SharedSchedules
from autoscaler.target import ConfigPath, ExistingPath
from autoscaler.target.scaled import Identify, Place, identify

_MIN_STATE: Final = 16 * 2**20
"""Bytes. The last hour of a few autoscalers fits."""

_JITTER: Final = 1.2
"""How much later than its period a renewal may be (client-go, tools/leaderelection: JitterFactor)."""

_MIN_ANSWER: Final = 2**16
"""Bytes. An error with its explanation fits."""

_MAX_CONCURRENT: Final = 100
"""Queries. Each has a thread and a connection."""

_WAYS_IN: Final = ("basic_auth", "bearer_token_file", "sigv4", "oauth2")
"""A source has at most one of them."""


class Compression(StrEnum):
    """Whether answers are asked for in gzip."""

    AUTO = "auto"
    """On, but not for a server on this machine."""
    ON = "on"
    OFF = "off"


class Syntax(StrEnum):
    """The language of a source's expressions."""

    PROMQL = "promql"
    METRICSQL = "metricsql"
    """VictoriaMetrics' own, which has all of PromQL."""


@dataclass(frozen=True, slots=True)
class PrometheusSource(Part):
    """One Prometheus, or anything that speaks its HTTP API."""

    url: ServerUrl
    timeout: PositiveDuration = timedelta(seconds=5)
    """For one query."""
    basic_auth: BasicAuth | None = None
    bearer_token_file: ExistingPath | None = None
    """Read at each use."""
    sigv4: SigV4 | None = None
    oauth2: OAuth2 | None = None
    tls: Tls | None = None
    headers: Mapping[HeaderName, Header] = field(default_factory=dict)
    """Added to each request."""
    params: Mapping[ParameterName, str] = field(default_factory=dict)
    """Added to each request's URL; not query, time or timeout."""
    max_answer: Annotated[Size, at_least(_MIN_ANSWER), Field(json_schema_extra={"default": "64MiB"})] = 64 * 2**20
    """Bytes of one answer, decompressed, at least 64KiB. Beyond it the query fails."""
    concurrency: Annotated[Count, Field(le=_MAX_CONCURRENT)] = 2
    """Queries at a time, of all connections together; at most 100."""
    compression: Compression = Compression.AUTO
    """Whether Prometheus compresses answers with gzip. auto: yes, but not a server on this machine."""
    merge_queries: Flag = True
    """Whether similar queries are merged; false: each is sent as it is written. See `check --plan`."""
    syntax: Syntax = Syntax.PROMQL
    """metricsql: what the offline parser refuses is a warning of `check`, because VictoriaMetrics may know it."""
    external_url: ExternalUrl | None = None
    """The address for browsers, for the page's links to queries. Default: url."""

    @model_validator(mode="after")
    def _one_way_in(self) -> Self:
        given = [to_camel(name) for name in _WAYS_IN if getattr(self, name) is not None]
        given += [f"the header {name}" for name in self.headers if name.lower() == "authorization"]
        if len(given) > 1:
            raise ValueError(f"{given[0]} and {given[1]} are both given; remove one")
        return self

    @property
    def browser_url(self) -> str:
        """The address of its own page, for links."""
        return self.url if self.external_url is None else self.external_url


def _check_state_url(url: str, info: ValidationInfo) -> str:
    """The URL is never shown: it may hold a password. SQLite's relative paths are relative to the file."""
    if not re.match(r"(sqlite|postgresql)(\+[a-z0-9]+)?://", url):
        raise ValueError(
            'this is not a valid state URL; expected "sqlite:////PATH/state.db" or "postgresql://HOST/DATABASE"'
        )
    if not url.startswith("sqlite"):
        return url
    scheme, _, path = url.partition(":///")
    file = unquote(path.partition("?")[0])
    if "\0" in file:
        raise ValueError("the URL holds a NUL character, written as %00; remove it")
    if path.startswith((":memory:", "file:")) or not Path(file).name or file.endswith("/"):
        raise ValueError(
            "the URL names no file, and the daemon needs its state after a restart; "
            'write "sqlite:////PATH/state.db", or remove it'
        )
    return url if path.startswith("/") else f"{scheme}:///{Path(scope_of(info)['folder'], path)}"


@dataclass(frozen=True, slots=True)
class StateSettings(Part):
    """Where recommendations, scale events and decisions are kept."""

    url: Annotated[str, AfterValidator(_check_state_url)] | None = None
    """Default: SQLite at $STATE_DIRECTORY/state.db, else under the user's state folder."""
    retention: PositiveDuration = timedelta(days=30)
    """How long events and decisions in which something changed are kept, for lists and charts."""
    detail: PositiveDuration = timedelta(days=2)
    """How long the inputs of all decisions are kept, for `explain --at` and metrics in charts; at most `retention`."""
    max_size: Annotated[Size, at_least(_MIN_STATE), Field(json_schema_extra={"default": "5GB"})] = 5 * 2**30
    """The limit on live data, at least 16MB. Above it the oldest detail is deleted first, but never the last hour."""

    @property
    def shared(self) -> bool:
        """Whether several daemons can use it: it is in PostgreSQL."""
        return self.url is not None and not self.url.startswith("sqlite")

    @model_validator(mode="wrap")
    @classmethod
    def _detail_within_retention(cls, data: Any, build: ModelWrapValidatorHandler[Self]) -> Self:
        built = build(data)
        if built.detail <= built.retention:
            return built
        if "detail" in data:
            raise ValueError(
                f"detail {format_duration(built.detail)} is longer than retention {format_duration(built.retention)}; "
                "shorten it, or lengthen retention"
            )
        return replace(built, detail=built.retention)


@dataclass(frozen=True, slots=True)
class HaSettings(Part):
    """The lease of the daemon that leads, of those that share a PostgreSQL state, as in Kubernetes' leader election.

    leaseDuration > renewDeadline > 1.2 x retryPeriod.
    """

    lease_duration: PositiveDuration = timedelta(seconds=15)
    """How long a standby sees no renewal before it takes the lease."""
    renew_deadline: PositiveDuration = timedelta(seconds=10)
    """How long a leader that cannot renew its lease continues to scale."""
    retry_period: Annotated[PositiveDuration, at_least(timedelta(milliseconds=100))] = timedelta(seconds=2)
    """How often the leader renews the lease, and a standby looks at it; at least 100ms."""

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        duration, deadline, period = map(format_duration, (self.lease_duration, self.renew_deadline, self.retry_period))
        if self.lease_duration <= self.renew_deadline:
            raise ValueError(
                f"leaseDuration {duration} is not longer than renewDeadline {deadline}; lengthen it, so that the "
                "leader stops scaling before another daemon takes over"
            )
        if self.renew_deadline <= _JITTER * self.retry_period:
            raise ValueError(
                f"renewDeadline {deadline} is not longer than {_JITTER:g} x retryPeriod {period}; lengthen it, so that "
                "one renewal fits"
            )
        return self


@dataclass(frozen=True, slots=True)
class LogSettings(Part):
    """What is logged."""

    decisions: Literal["changed", "all"] = "changed"
    """changed: a line for each change, write and failure, and one every 10 minutes; all: one for each decision."""


@dataclass(frozen=True, slots=True)
class Webhook(Part):
    """The receiver of notices."""

    url: WebhookUrl
    """Where CloudEvents are posted to; never shown."""
    secret_file: ExistingPath
    """The key of the signature, in base64. Read at each use."""


@dataclass(frozen=True, slots=True)
class NotifySettings(Part):
    """Where notices of scaling, and of what prevents it, are sent."""

    webhook: Webhook | None = None
    """Default: nobody."""


@dataclass(frozen=True, slots=True)
class Discover(Part):
    """Which autoscalers are made of what the back end has, each under the grant that includes its target."""

    policies: Flag = False
    """true: of the back end's scaling policies (`nomad`)."""
    labels: Flag = False
    """true: of the labels of its services (`docker-swarm`)."""
    live: Flag = False
    """true: they scale. Default: they are dry runs."""

    @model_validator(mode="after")
    def _of_something(self) -> Self:
        if not (self.policies or self.labels):
            raise ValueError("discovers nothing; write policies: true or labels: true, or remove it")
        return self


@dataclass(frozen=True, slots=True)
class AdapterSection:
    """One adapter connection: its type and that adapter's own validated `Settings`."""

    type: str
    settings: BaseModel
    shards: int = 1
    """How many shards its targets are divided into."""
    one_host: bool = True
    """Whether its targets are on one machine, so that the adapter keeps them at their sizes itself."""
    discover: Discover | None = None
    """Which autoscalers are made of what its back end has; None: none."""

    @property
    def place(self) -> Place:
        """What tells where its targets are."""
        return Place(self.type, self.settings)


def _check_address(address: str) -> str:
    match = re.fullmatch(r"(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]*):([0-9]{1,5})", address)
    if match is None or int(match[1]) > 65535:
        raise ValueError(
            f'{address[:64]!r} is not a valid listen address; write HOST:PORT or :PORT, as in "127.0.0.1:9797"'
        )
    return address


HostName: TypeAlias = Annotated[
    Text,
    matching(
        r"[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_])?",
        'is not a host name; write it without scheme and port, as in "vm1.example.com"',
    ),
    AfterValidator(str.lower),
]


def _check_socket(path: Path) -> Path:
    socket = normal_path(path)
    check_length(socket)
    return socket


@dataclass(frozen=True, slots=True)
class WebSettings(Part):
    """The daemon's own HTTP server."""

    listen_address: Annotated[str, AfterValidator(_check_address)] = "127.0.0.1:9797"
    """HOST:PORT, or :PORT for every address of the machine."""
    operators: tuple[Text, ...] = ()
    """The users who may change things over TCP: from --web.config.file, or common names of client certificates."""
    allowed_hosts: tuple[HostName, ...] = ()
    """Further names that a request's Host header may have, where neither TLS nor users are configured."""
    control_socket: Annotated[ConfigPath, AfterValidator(_check_socket)] | None = None
    """The Unix socket of this machine's operators. Default: control/control.sock in $RUNTIME_DIRECTORY, else
    control.sock in the state folder."""


@dataclass(frozen=True, slots=True)
class UnknownExpression:
    """An expression in the file that cannot be checked offline: only its Prometheus can say whether it is right."""

    problem: Problem
    """The warning, with its place."""
    prometheus: str
    """The source that it is for."""
    expr: str


class Operator(NamedTuple):
    """A user whom the file lets make changes, and where."""

    name: str
    path: str
    """`web.operators`, or that of a grant."""
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Shared:
    """What autoscalers from outside the main file may refer to, beside sources and connections."""

    controller: Controller = field(default_factory=Controller)
    queries: Mapping[str, SharedQuery] = field(default_factory=dict)
    schedules: SharedSchedules = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Settings:
    """The whole file. Autoscalers carry the controller's options, sync period and dry run already."""

    path: Path
    prometheus: Mapping[str, PrometheusSource]
    adapters: Mapping[str, AdapterSection]
    autoscalers: tuple[Autoscaler, ...]
    limits: Mapping[str, ConnectionLimits] = field(default_factory=dict)
    """By the connection's name. They are not in its section, because a changed limit needs no new adapter."""
    autoscalers_dir: Path | None = None
    """The folder with a folder for each team; None: there is none."""
    grants: Mapping[str, Grant] = field(default_factory=dict)
    """By the name of a team's folder."""
    shared: Shared = field(default_factory=Shared)
    """What autoscalers from outside may refer to, with the `controller`."""
    owners: Mapping[str, str] = field(default_factory=dict)
    """Of autoscalers that are not in the main file: name -> name of the grant."""
    refused: Mapping[str, tuple[Problem, ...]] = field(default_factory=dict)
    """What is not served, by grant; by name of the folder if it has no grant, and "" for the folder of all teams."""
    state: StateSettings = StateSettings()
    ha: HaSettings = HaSettings()
    web: WebSettings = WebSettings()
    operators: tuple[Operator, ...] = ()
    """Of `web` and of the grants."""
    log: LogSettings = LogSettings()
    notify: NotifySettings = NotifySettings()
    digest: str = ""
    """The hash of the files' texts. Daemons that share a state compare it."""
    warnings: tuple[Problem, ...] = ()
    """Warnings of `check` that are errors of `run`: files that are missing or not readable."""
    hints: tuple[Problem, ...] = ()
    """Warnings of `check` that `run` ignores."""
    unknown_expressions: tuple[UnknownExpression, ...] = ()
    """Warnings of `check` that `run` logs. One in a block that aliases repeat is here for each use."""
    without_instance: tuple[Problem, ...] = ()
    """Errors of `check` of which `run` only warns: queries whose samples belong to no instance."""

    def identify(self) -> Identify:
        """Return the function that tells what an autoscaler scales, by its target in this configuration."""
        return identify({name: section.place for name, section in self.adapters.items()})

    def grant_of(self, name: str) -> Grant | None:
        """Return the grant of an autoscaler; None for one of the main file."""
        return self.grants.get(self.owners.get(name, ""))
