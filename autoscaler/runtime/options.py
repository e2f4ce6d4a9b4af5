"""The options of `autoscaler run`, and the configuration that they name."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from autoscaler.clock import Clock
from autoscaler.config.large_file import load_for_daemon
from autoscaler.config.origins import Origins
from autoscaler.config.settings import Settings
from autoscaler.errors import ConfigError
from autoscaler.record.folder import make_folder, state_folder
from autoscaler.record.housekeeping import Retention
from autoscaler.record.lease import LeaseOptions
from autoscaler.record.state import State

if TYPE_CHECKING:
    from autoscaler.web.webconfig import WebConfig


@dataclass(frozen=True, slots=True)
class RunOptions:
    """The options of `autoscaler run`."""

    config_file: Path
    dry_run: bool = False
    """True: every autoscaler is a dry run, even if the file says otherwise."""
    listen: str | None = None
    """HOST:PORT of the HTTP server; None: as in the file."""
    web_config: Path | None = None
    """File with the HTTP server's TLS and users; None: neither."""
    once: bool = False
    """True: a single cycle, without an HTTP server."""


def read(options: RunOptions, before: Origins | None = None) -> Settings:
    """Return the configuration to run. Raises ConfigError, also for the warnings of `check` (absent secret files).

    `before`: the origins in force.
    """
    settings = load_for_daemon(options.config_file, before=before, dry_run=options.dry_run)
    if settings.warnings:
        raise ConfigError(settings.warnings)
    return settings


def read_web(options: RunOptions, settings: Settings) -> "WebConfig | None":
    """Return the HTTP server's configuration. Raises ConfigError, also if `settings` names unknown operators."""
    if options.web_config is None and not settings.operators:
        return None
    from autoscaler.web.webconfig import check_operators, load_web_config  # noqa: PLC0415 - a single cycle needs no server

    config = None if options.web_config is None else load_web_config(options.web_config)
    check_operators(config, settings)
    return config


def make_state_folder(options: RunOptions, settings: Settings) -> Path:
    """Return the state folder, which is created if absent. Raises StateError.

    Raises ListenError if the HTTP server cannot listen; then no folder is left behind.
    """
    if not options.once:
        from autoscaler.web.server import require_free  # noqa: PLC0415 - a single cycle needs no server

        require_free(options.listen or settings.web.listen_address)
    return make_folder(state_folder(os.environ))


def retention_of(settings: Settings) -> Retention:
    """Return the retention of the state."""
    return Retention(settings.state.detail, settings.state.retention, settings.state.max_size)


def open_state(settings: Settings, state_dir: Path, clock: Clock) -> State:
    """Open the state that the configuration names. Raises StateError."""
    options = LeaseOptions(settings.ha.lease_duration, settings.ha.renew_deadline, settings.ha.retry_period)
    return State.open(settings.state.url, state_dir, retention_of(settings), clock, options)


def unfollowable(options: RunOptions, before: Settings, after: Settings) -> str | None:
    """Return a changed key that takes effect only after a restart; None if there is none."""
    changed = {
        "state.url": before.state.url != after.state.url,
        "ha": before.ha != after.ha,
        "web.listenAddress": options.listen is None and before.web.listen_address != after.web.listen_address,
        "web.controlSocket": before.web.control_socket != after.web.control_socket,
    }
    return next((key for key, differs in changed.items() if differs), None)
