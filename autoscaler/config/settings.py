"""A loaded configuration: typed, defaulted, cross-checked. Nothing here knows YAML."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from pathlib import Path

from pydantic import BaseModel

from autoscaler.errors import Problem
from autoscaler.model import Autoscaler, ConnectionLimits


@dataclass(frozen=True, slots=True)
class BasicAuth:
    """HTTP basic authentication; the password is read from its file at each use."""

    username: str
    password_file: Path


@dataclass(frozen=True, slots=True)
class Tls:
    """TLS towards a server, and our own certificate."""

    ca_file: Path | None = None
    cert_file: Path | None = None
    key_file: Path | None = None
    server_name: str | None = None
    insecure_skip_verify: bool = False


class Compression(StrEnum):
    """Whether answers are asked for in gzip."""

    AUTO = "auto"
    """On, but not for a server on this machine."""
    ON = "on"
    OFF = "off"


@dataclass(frozen=True, slots=True)
class PrometheusSource:
    """One Prometheus, or anything that speaks its HTTP API."""

    url: str
    timeout: timedelta = timedelta(seconds=5)
    basic_auth: BasicAuth | None = None
    bearer_token_file: Path | None = None
    tls: Tls | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    params: Mapping[str, str] = field(default_factory=dict)
    max_answer: int = 64 * 2**20
    """Bytes of an answer, decompressed."""
    concurrency: int = 2
    """Queries that it is sent at a time, by the whole daemon."""
    compression: Compression = Compression.AUTO
    merge_queries: bool = True
    """Whether expressions that differ in the values of labels are asked for in few queries."""
    external_url: str | None = None
    """Where people's browsers reach it; None: at `url`."""

    @property
    def browser_url(self) -> str:
        """The address that links to its own page begin with."""
        return self.url if self.external_url is None else self.external_url


@dataclass(frozen=True, slots=True)
class AdapterSection:
    """One adapter connection: its type and that adapter's own validated `Settings`."""

    type: str
    settings: BaseModel
    shards: int = 1
    """Into how many shards its targets are divided."""
    host: str | None = None
    """The machine whose daemon alone serves it; None: any daemon may."""


@dataclass(frozen=True, slots=True)
class StateSettings:
    """Where recommendations, scale events and decisions are kept."""

    url: str | None = None
    """SQLAlchemy URL; None: SQLite in the state folder."""
    retention: timedelta = timedelta(days=30)
    """How long charts, events and decisions in which something changed are kept."""
    detail: timedelta = timedelta(days=2)
    """How long all that decisions were made from is kept."""
    max_size: int = 5 * 2**30
    """Bytes of live data; beyond it the oldest detail goes first."""

    @property
    def shared(self) -> bool:
        """Whether several daemons may use it: it is PostgreSQL's."""
        return self.url is not None and not self.url.startswith("sqlite")


@dataclass(frozen=True, slots=True)
class HaSettings:
    """Leases of the daemons that share a PostgreSQL state. Kubernetes' leader election has these names and defaults."""

    lease_duration: timedelta = timedelta(seconds=15)
    """How long after its last renewal a daemon's slots are left to it."""
    renew_deadline: timedelta = timedelta(seconds=10)
    """How long a daemon goes on without a renewal."""
    retry_period: timedelta = timedelta(seconds=2)
    """How often it renews, or tries to."""


@dataclass(frozen=True, slots=True)
class LogSettings:
    """What is logged."""

    every_decision: bool = False
    """False: those in which something changed."""


@dataclass(frozen=True, slots=True)
class WebSettings:
    """The daemon's own HTTP server."""

    listen_address: str = "127.0.0.1:9797"
    operators: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """Who may change things over TCP: name -> line and column in the file. --web.config.file says who can log in."""
    allowed_hosts: frozenset[str] = frozenset()
    """Further names that a request's Host header may have; in lower case."""
    control_socket: Path | None = None
    """Absolute; None: the default."""


@dataclass(frozen=True, slots=True)
class UnknownExpression:
    """An expression in the file that cannot be checked offline: only its Prometheus can say whether it is right."""

    problem: Problem
    """Where it stands, and what is not known of it."""
    prometheus: str
    """The source that it is for."""
    expr: str


@dataclass(frozen=True, slots=True)
class Settings:
    """The whole file. Autoscalers carry the controller's options, sync period and dry run already."""

    path: Path
    prometheus: Mapping[str, PrometheusSource]
    adapters: Mapping[str, AdapterSection]
    autoscalers: tuple[Autoscaler, ...]
    limits: Mapping[str, ConnectionLimits] = field(default_factory=dict)
    """By the connection's name; of those that have any. Apart from its section: another limit needs no new adapter."""
    sync_period: timedelta = timedelta(seconds=15)
    """The controller's; each autoscaler has its own already."""
    state: StateSettings = StateSettings()
    ha: HaSettings = HaSettings()
    web: WebSettings = WebSettings()
    log: LogSettings = LogSettings()
    digest: str = ""
    """Of the file's text: two daemons that share a state have the same configuration where it is the same."""
    warnings: tuple[Problem, ...] = ()
    """What `check` only warns of and `run` refuses: secret files that are absent or not readable."""
    hints: tuple[Problem, ...] = ()
    """What `check` warns of and `run` does not mind: it costs one target at most, or may be right elsewhere."""
    unknown_expressions: tuple[UnknownExpression, ...] = ()
    """What `check` warns of and `run` does not mind. One in a block that aliases repeat stands here for each use."""
