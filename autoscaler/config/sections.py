"""The file's sections, apart from metrics, queries and behavior."""

import re
from collections.abc import Callable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self

from pydantic import AfterValidator, Field, ValidationInfo, field_validator, model_validator

from autoscaler import model
from autoscaler.config import settings
from autoscaler.config.behavior import Behavior
from autoscaler.config.brakes import Brakes
from autoscaler.config.control_socket import check_length, socket_path
from autoscaler.config.controller import Controller
from autoscaler.config.fields import (
    AdapterName,
    Count,
    CountOrZero,
    DnsName,
    Flag,
    LabelKey,
    LabelValue,
    PositiveDuration,
    Section,
    Size,
    SyncPeriod,
    Text,
    Word,
    scope_of,
)
from autoscaler.config.metrics import Metric, Shared
from autoscaler.config.queries import DEFAULT_SOURCE, InstanceQuery, SharedQuery
from autoscaler.config.server import ExternalUrl, HeaderName, HeaderValue, ParameterName, ServerUrl
from autoscaler.quantity import format_duration, format_size
from autoscaler.target import ExistingPath

_SMALLEST_STATE: Final = 16 * 2**20
"""Bytes: below, the last hour of a few autoscalers would not fit."""

_SHORTEST_RETRY: Final = timedelta(milliseconds=100)
_JITTER: Final = 1.2
"""By how much a renewal may come later than its period (client-go, tools/leaderelection: JitterFactor)."""

_SMALLEST_ANSWER: Final = 2**16
"""Bytes: below, not even an error with its explanation would fit."""

_MOST_AT_A_TIME: Final = 100
"""Queries: each is a thread and a connection."""


def _at_least(smallest: int) -> Callable[[int], int]:
    def check(size: int) -> int:
        if size < smallest:
            raise ValueError(f"{format_size(size)} is too small; write at least {format_size(smallest)}")
        return size

    return check


class BasicAuth(Section):
    """HTTP basic authentication."""

    username: Text
    password_file: ExistingPath
    """Read at each use."""


class Tls(Section):
    """TLS towards the server, and our own certificate."""

    ca_file: ExistingPath | None = None
    """Default: the system's."""
    cert_file: ExistingPath | None = None
    key_file: ExistingPath | None = Field(default=None, validate_default=True)
    server_name: Text | None = None
    """The name in the server's certificate. Default: the URL's host."""
    insecure_skip_verify: Flag = False

    @field_validator("key_file")
    @classmethod
    def _with_certificate(cls, value: Path | None, info: ValidationInfo) -> Path | None:
        if "cert_file" in info.data and (value is None) != (info.data["cert_file"] is None):
            raise ValueError("certFile and keyFile go together; give both or neither")
        return value


class Prometheus(Section):
    """One Prometheus, or anything that speaks its HTTP API."""

    url: ServerUrl
    external_url: ExternalUrl | None = None
    """Where people's browsers reach it, for the page's links to queries. Default: url."""
    timeout: PositiveDuration = timedelta(seconds=5)
    """For one query."""
    basic_auth: BasicAuth | None = None
    bearer_token_file: ExistingPath | None = None
    """Read at each use."""
    tls: Tls | None = None
    headers: Mapping[HeaderName, HeaderValue] = Field(default_factory=dict)
    """Added to each request."""
    params: Mapping[ParameterName, str] = Field(default_factory=dict)
    """Added to each request's URL; not query, time or timeout."""
    max_answer: Annotated[
        Size, AfterValidator(_at_least(_SMALLEST_ANSWER)), Field(json_schema_extra={"default": "64MiB"})
    ] = settings.PrometheusSource("").max_answer
    """Bytes of one answer, decompressed, at least 64KiB. Beyond it the query fails."""
    concurrency: Annotated[Count, Field(le=_MOST_AT_A_TIME)] = settings.PrometheusSource("").concurrency
    """Queries at a time, of all connections together; at most 100."""
    compression: Literal["auto", "on", "off"] = "auto"
    """Whether answers are asked for in gzip. auto: not of a server on this machine, which it costs most of its time."""
    merge_queries: Flag = True
    """false: each expression is asked as it is written. See `check --plan`."""

    @field_validator("bearer_token_file")
    @classmethod
    def _one_way_in(cls, value: Path | None, info: ValidationInfo) -> Path | None:
        if value is not None and info.data.get("basic_auth") is not None:
            raise ValueError("bearerTokenFile and basicAuth are both given; remove one of them")
        return value

    def source(self) -> settings.PrometheusSource:
        """The frozen source."""
        basic, tls = self.basic_auth, self.tls
        return settings.PrometheusSource(
            url=self.url,
            timeout=self.timeout,
            basic_auth=settings.BasicAuth(basic.username, basic.password_file) if basic else None,
            bearer_token_file=self.bearer_token_file,
            tls=settings.Tls(tls.ca_file, tls.cert_file, tls.key_file, tls.server_name, tls.insecure_skip_verify)
            if tls
            else None,
            headers=dict(self.headers),
            params=dict(self.params),
            max_answer=self.max_answer,
            concurrency=self.concurrency,
            compression=settings.Compression(self.compression),
            merge_queries=self.merge_queries,
            external_url=self.external_url,
        )


def _check_state_url(url: str, info: ValidationInfo) -> str:
    """The URL is never shown: it may hold a password. SQLite's relative paths are relative to the file."""
    if not re.match(r"(sqlite|postgresql)(\+[a-z0-9]+)?://", url):
        raise ValueError(
            'this is not a valid state URL; expected "sqlite:////PATH/state.db" or "postgresql://HOST/DATABASE"'
        )
    if not url.startswith("sqlite"):
        return url
    scheme, _, path = url.partition(":///")
    if path.startswith(("?", ":memory:", "file:")) or not path:
        raise ValueError(
            "the URL names no file, and the daemon needs its state after a restart; "
            'write "sqlite:////PATH/state.db", or remove it'
        )
    return url if path.startswith("/") else f"{scheme}:///{Path(scope_of(info)['folder'], path)}"


class State(Section):
    """Where recommendations, scale events and decisions are kept."""

    url: Annotated[str, AfterValidator(_check_state_url)] | None = None
    """Default: SQLite at $STATE_DIRECTORY/state.db, else under the user's state folder."""
    retention: PositiveDuration = settings.StateSettings().retention
    """How long charts, events and decisions in which something changed are kept."""
    detail: PositiveDuration = settings.StateSettings().detail
    """How long all that decisions were made from is kept, for `explain --at`; at most `retention`."""
    max_size: Annotated[
        Size, AfterValidator(_at_least(_SMALLEST_STATE)), Field(json_schema_extra={"default": "5GB"})
    ] = settings.StateSettings().max_size
    """Of live data, at least 16MB. Beyond it the oldest detail goes first, but never its last hour."""

    def settings(self) -> settings.StateSettings:
        """As the daemon takes it: detail is never kept for longer than the rest."""
        return settings.StateSettings(self.url, self.retention, min(self.detail, self.retention), self.max_size)

    @model_validator(mode="after")
    def _detail_within_retention(self) -> Self:
        if "detail" in self.model_fields_set and self.detail > self.retention:
            raise ValueError(
                f"detail {format_duration(self.detail)} is longer than retention {format_duration(self.retention)}; "
                "shorten it, or lengthen retention"
            )
        return self


class Ha(Section):
    """The leases of daemons that share a PostgreSQL state, as those of Kubernetes' leader election.

    leaseDuration > renewDeadline > 1.2 x retryPeriod.
    """

    lease_duration: PositiveDuration = settings.HaSettings().lease_duration
    """How long after its last renewal a daemon that is gone keeps its slots. Then others take them over."""
    renew_deadline: PositiveDuration = settings.HaSettings().renew_deadline
    """How long a daemon that cannot renew goes on. Then it scales nothing."""
    retry_period: PositiveDuration = settings.HaSettings().retry_period
    """How often a daemon renews its lease, or tries to; at least 100ms."""

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        duration, deadline, period = map(format_duration, (self.lease_duration, self.renew_deadline, self.retry_period))
        if self.retry_period < _SHORTEST_RETRY:
            raise ValueError(f"retryPeriod {period} is too short; write at least {format_duration(_SHORTEST_RETRY)}")
        if self.lease_duration <= self.renew_deadline:
            raise ValueError(
                f"leaseDuration {duration} is not longer than renewDeadline {deadline}; lengthen it, so that a daemon "
                "stops scaling before another takes over"
            )
        if self.renew_deadline <= _JITTER * self.retry_period:
            raise ValueError(
                f"renewDeadline {deadline} is not longer than {_JITTER:g} x retryPeriod {period}; lengthen it, so that "
                "one renewal fits"
            )
        return self

    def settings(self) -> settings.HaSettings:
        """As the daemon takes it."""
        return settings.HaSettings(self.lease_duration, self.renew_deadline, self.retry_period)


def _check_address(address: str) -> str:
    match = re.fullmatch(r"(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]*):([0-9]{1,5})", address)
    if match is None or int(match[1]) > 65535:
        raise ValueError(
            f'{address[:64]!r} is not a valid listen address; write HOST:PORT or :PORT, as in "127.0.0.1:9797"'
        )
    return address


def _check_host(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_])?", name):
        raise ValueError(f'{name[:64]!r} is not a host name; write it without scheme and port, as in "vm1.example.com"')
    return name.lower()


def _check_socket(path: str, info: ValidationInfo) -> str:
    absolute = socket_path(scope_of(info)["folder"], path)
    check_length(absolute)
    return str(absolute)


class Web(Section):
    """The daemon's own HTTP server."""

    listen_address: Annotated[str, AfterValidator(_check_address)] = settings.WebSettings().listen_address
    """HOST:PORT, or :PORT for every address of the machine."""
    operators: tuple[Text, ...] = ()
    """Who may change things over TCP: users of --web.config.file, or common names of client certificates."""
    allowed_hosts: tuple[Annotated[Text, AfterValidator(_check_host)], ...] = ()
    """Further names that a request's Host header may have, where neither TLS nor users are configured."""
    control_socket: Annotated[Text, AfterValidator(_check_socket)] | None = None
    """The Unix socket of this machine's operators. Default: control/control.sock in $RUNTIME_DIRECTORY, else
    control.sock in the state folder."""


class Log(Section):
    """What is logged."""

    decisions: Literal["changed", "all"] = "changed"
    """changed: a line for each change, write and failure, and one every 10 minutes; all: one for each decision."""

    def settings(self) -> settings.LogSettings:
        """As the daemon takes it."""
        return settings.LogSettings(every_decision=self.decisions == "all")


class Victims(Section):
    """Which instances leave first."""

    select: Literal["oldest", "newest", "least"]
    """least: those with the lowest sample of `query`."""
    query: InstanceQuery | None = Field(default=None, validate_default=True)
    """One sample for each instance; only with `least`."""

    @field_validator("query")
    @classmethod
    def _for_least(cls, query: InstanceQuery | None, info: ValidationInfo) -> InstanceQuery | None:
        select = info.data.get("select")
        if select == "least" and query is None:
            raise ValueError("is missing; select: least needs it")
        if select in ("oldest", "newest") and query is not None:
            raise ValueError(f"is used with select: least only; remove it, or replace select: {select}")
        return query

    def spec(self, shared: Shared) -> model.VictimRule:
        """The frozen rule."""
        return model.VictimRule(model.VictimOrder(self.select), self.query.spec(shared) if self.query else None)


class ScaleTargetRef(Section):
    """What is scaled."""

    adapter: AdapterName
    """Name of the connection in `adapters`."""
    name: Text
    """The back end's own name: a group, a service, `job/group` for Nomad, a pool."""
    namespace: Text | None = None
    region: Text | None = None
    victims: Victims | None = None
    """Which instances leave first. Default: the back end chooses."""

    @field_validator("namespace", "region", "victims")
    @classmethod
    def _taken(cls, value: object, info: ValidationInfo) -> object:
        kind = scope_of(info)["adapters"].get(info.data.get("adapter", ""))
        if value is not None and kind is not None and info.field_name not in kind.target_keys:
            raise ValueError(f"adapter {info.data['adapter']!r} does not take {info.field_name}; remove it")
        return value

    def ref(self) -> model.TargetRef:
        """The frozen name."""
        return model.TargetRef(self.adapter, self.name, self.namespace, self.region)


class Autoscaler(Section):
    """An autoscaling/v2 HPA spec with a query beside each metric."""

    name: DnsName
    """Unique in the file."""
    labels: Mapping[LabelKey, LabelValue] = Field(default_factory=dict)
    """To select autoscalers by, as in `autoscaler get -l team=shop`; in Kubernetes' syntax."""
    scale_target_ref: ScaleTargetRef
    min_replicas: CountOrZero = 1
    """0 only with an Object or External metric."""
    max_replicas: Count
    metrics: Annotated[tuple[Metric, ...], Field(min_length=1)]
    """The one that asks for most decides."""
    behavior: Behavior | None = None
    """Default: HPA's algorithm without behavior."""
    sync_period: SyncPeriod | None = None
    """How often it decides; at least 1s. Default: the controller's."""
    dry_run: Flag = False
    """true: decide and log, write nothing."""
    brakes: Brakes = Brakes()
    """What keeps the size where it is while something is wrong. Default, brake by brake: the controller's."""

    @field_validator("max_replicas")
    @classmethod
    def _not_below_min(cls, maximum: int, info: ValidationInfo) -> int:
        minimum = info.data.get("min_replicas", 0)
        if maximum < minimum:
            raise ValueError(f"{maximum} is below minReplicas {minimum}; raise it, or lower minReplicas")
        return maximum

    def spec(self, controller: Controller, options: model.ControllerOptions, shared: Shared) -> model.Autoscaler:
        """The frozen autoscaler, with the controller's options."""
        victims = self.scale_target_ref.victims
        return model.Autoscaler(
            name=self.name,
            target=self.scale_target_ref.ref(),
            min_replicas=self.min_replicas,
            max_replicas=self.max_replicas,
            metrics=tuple(metric.spec(shared) for metric in self.metrics),
            behavior=self.behavior.spec() if self.behavior else None,
            options=options,
            sync_period=self.sync_period or controller.sync_period,
            dry_run=self.dry_run or controller.dry_run,
            victims=victims.spec(shared) if victims else None,
            labels=tuple(sorted(self.labels.items())),
            brakes=self.brakes.spec(controller.brakes),
        )


DEFAULT_SOURCES: Final = {DEFAULT_SOURCE: Prometheus(url="http://localhost:9090")}


class File(Section):
    """The whole file."""

    controller: Controller = Controller()
    """Numbers that all autoscalers share."""
    prometheus: Annotated[Mapping[Text, Prometheus], Field(min_length=1)] = DEFAULT_SOURCES
    """Sources by name; a query that names none asks `default`."""
    adapters: Mapping[Word, Any] = Field(default_factory=dict)
    """Connections to back ends by name; each type has keys of its own."""
    queries: Mapping[Text, SharedQuery] = Field(default_factory=dict)
    """Shared queries by name: each runs once a cycle for all who use it."""
    autoscalers: tuple[Autoscaler, ...]
    state: State = State()
    """Where state is kept."""
    ha: Ha = Ha()
    """Of several daemons that share it."""
    web: Web = Web()
    """The daemon's own HTTP server."""
    log: Log = Log()
    """What is logged."""
