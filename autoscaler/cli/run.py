"""`autoscaler run`: runs the daemon, or with `--once` a single cycle."""

import atexit
import os
from pathlib import Path
from typing import Annotated

import typer

from autoscaler.cli.output import exit_on_error, show_error
from autoscaler.clock import SystemClock
from autoscaler.daemon import Daemon
from autoscaler.errors import AdapterError, AutoscalerError, ConfigError
from autoscaler.log.configure import Format, Level, configure, route_uncaught
from autoscaler.log.stream import LogStream
from autoscaler.runtime.options import RunOptions
from autoscaler.service import CONFIG
from autoscaler.threads import Stopping


def run(
    config_file: Annotated[Path, typer.Option("--config.file", metavar="FILE", help="The configuration.")] = CONFIG,
    *,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Decide and log for every autoscaler; write nothing.")
    ] = False,
    once: Annotated[bool, typer.Option("--once", help="Run a single cycle; exit 1 if something failed.")] = False,
    listen: Annotated[
        str | None,
        typer.Option(
            "--web.listen-address", metavar="HOST:PORT", help="The address of the page, the API and /metrics."
        ),
    ] = None,
    web_config: Annotated[
        Path | None,
        typer.Option(
            "--web.config.file", metavar="FILE", help="TLS and users, in the format of Prometheus' exporter-toolkit."
        ),
    ] = None,
    log_level: Annotated[
        Level,
        typer.Option(
            "--log.level",
            metavar="LEVEL",
            help="The lowest level that is logged: debug, info, warn (or warning) or error.",
        ),
    ] = Level.INFO,
    log_format: Annotated[
        Format,
        typer.Option(
            "--log.format", metavar="FORMAT", help="json, console, or auto: columns on a terminal, JSON elsewhere."
        ),
    ] = Format.AUTO,
) -> None:
    """Keep every target at the size that its metrics ask for, until SIGTERM. SIGHUP reloads the configuration."""
    with exit_on_error():
        stderr = LogStream.of_stderr()
    atexit.register(stderr.finish)
    logger = configure(log_level, log_format, stderr)
    route_uncaught(logger)
    try:
        options = RunOptions(config_file, dry_run, listen, web_config, once)
        daemon = Daemon(options, SystemClock(), logger, lambda: stderr.dropped)
        fine, ended = daemon.once() if once else (True, daemon.run())
    except Stopping:  # before any cycle
        logger.info("stopped", cycles_ended=True)
        fine, ended = not once, False
    except (ConfigError, AdapterError) as error:
        show_error(error)
        raise typer.Exit(2) from None
    except AutoscalerError as error:
        show_error(error)
        raise typer.Exit(1) from None
    code = 0 if fine else 1
    if not ended:  # an orderly exit would wait for hanging threads without limit
        stderr.finish()
        os._exit(code)
    raise typer.Exit(code)
