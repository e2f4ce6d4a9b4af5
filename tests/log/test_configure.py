"""Everything that logs ends in one place, in one form."""

import io
import json
import logging
import os
import warnings
from collections.abc import Iterator
from typing import Any

import pytest
import structlog

from autoscaler.log import Format, Level, configure
from autoscaler.target import Logger


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    """The process's own logging, as pytest had it."""
    root = logging.getLogger()
    named = [logging.getLogger(name) for name in ("apscheduler.scheduler", "urllib3")]
    before = list(root.handlers), [logger.level for logger in (root, *named)]
    yield
    logging.captureWarnings(capture=False)
    root.handlers[:] = before[0]
    for logger, level in zip((root, *named), before[1], strict=True):
        logger.setLevel(level)
    structlog.reset_defaults()


def configured(level: Level = Level.INFO, style: Format = Format.JSON) -> tuple[Logger, io.StringIO]:
    out = io.StringIO()
    return configure(level, style, out), out


def lines(out: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in out.getvalue().splitlines()]


def test_where_there_is_no_terminal_a_line_is_json() -> None:
    """Journald and log shippers take it apart without a pattern."""
    log, out = configured(style=Format.AUTO)
    log.info("ready", shards=2)
    (line,) = lines(out)
    assert list(line) == ["timestamp", "level", "event", "shards"]


@pytest.mark.parametrize("level", ["warning", "warn"])
def test_below_the_level_nothing_is_logged(level: str) -> None:
    """`--log.level=warn`, as Prometheus has it, leaves what an operator must see."""
    log, out = configured(Level(level))
    log.info("ready")
    log.warning("tick_missed")
    assert [line["event"] for line in lines(out)] == ["tick_missed"]


def test_a_url_with_its_parameters_stays_out_of_the_log() -> None:
    """Urllib3 warns of a server's malformed header with the whole URL, and a token may stand in it."""
    _, out = configured()
    logging.getLogger("urllib3.connection").warning("Failed to parse headers (url=http://x/query?token=%s)", "s3cr3t")
    assert out.getvalue() == ""


def test_the_standard_librarys_log_is_routed_in() -> None:
    """APScheduler and client libraries log there, where nobody looks."""
    _, out = configured()
    logging.getLogger("botocore.client").warning("Connection pool is full,\ndiscarding %s", "it")
    (line,) = lines(out)
    assert (line["level"], line["event"]) == ("warning", "library_log")
    assert (line["logger"], line["message"]) == ("botocore.client", "Connection pool is full, discarding it")


def test_a_librarys_debug_log_stays_out_at_every_level() -> None:
    """Botocore's holds signatures, urllib3's whole URLs."""
    _, out = configured(Level.DEBUG)
    logging.getLogger("botocore.auth").debug("signature hunter2")
    assert out.getvalue() == ""


def test_an_exception_in_a_librarys_log_is_named_without_its_message() -> None:
    """No traceback, and nothing that may be a credential."""
    _, out = configured()
    try:
        os.environ["HUNTER2"]
    except KeyError:
        logging.getLogger("apscheduler.executors.x").exception("Job raised")
    (line,) = lines(out)
    assert line["level"] == "error"
    assert line["error"].startswith("KeyError at ")
    assert "HUNTER2" not in out.getvalue()


def test_warnings_are_routed_in() -> None:
    """A deprecation in a client library is not stray text between JSON lines."""
    with warnings.catch_warnings():
        warnings.simplefilter("default")  # the tests' own filter makes them errors
        _, out = configured()
        warnings.warn("old", UserWarning, stacklevel=1)
    (line,) = lines(out)
    assert line["logger"] == "py.warnings"
    assert "old" in line["message"]


def test_a_url_is_logged_without_its_credentials() -> None:
    """Whoever wrote the line."""
    log, out = configured()
    log.error("cycle_failed", error="cannot connect to postgresql://user:hunter2@db/autoscaler, or http://tok@x/")
    assert lines(out)[0]["error"] == "cannot connect to postgresql://db/autoscaler, or http://x/"
