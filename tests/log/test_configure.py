"""All logs are written in one place and one format."""

import logging
import os
import warnings

import pytest

from autoscaler.log.configure import Format, Level
from tests.log.configured import configured, lines


def test_without_a_terminal_a_line_is_json() -> None:
    """Journald and log shippers parse it."""
    log, out = configured(style=Format.AUTO)
    log.info("ready", shards=2)
    (line,) = lines(out)
    assert list(line) == ["timestamp", "level", "event", "shards"]


@pytest.mark.parametrize("level", ["warning", "warn"])
def test_events_below_the_level_are_not_logged(level: str) -> None:
    """`warn` is Prometheus' name of the level."""
    log, out = configured(Level(level))
    log.info("ready")
    log.warning("tick_missed")
    assert [line["event"] for line in lines(out)] == ["tick_missed"]


def test_warnings_of_urllib3_are_not_logged() -> None:
    """They contain whole URLs, which may include a token."""
    _, out = configured()
    logging.getLogger("urllib3.connection").warning("Failed to parse headers (url=http://x/query?token=%s)", "s3cr3t")
    assert out.getvalue() == ""


def test_the_log_of_libraries_is_included() -> None:
    """APScheduler and client libraries use it."""
    _, out = configured()
    logging.getLogger("botocore.client").warning("Connection pool is full,\ndiscarding %s", "it")
    (line,) = lines(out)
    assert (line["level"], line["event"]) == ("warning", "library_log")
    assert (line["logger"], line["message"]) == ("botocore.client", "Connection pool is full, discarding it")


def test_a_line_that_cannot_be_written_is_lost_and_no_error() -> None:
    """The caller, a client library among them, would take the error for its own: "the keys cannot be read"."""
    log, out = configured()
    out.close()
    log.warning("tick_missed")
    logging.getLogger("botocore.credentials").warning("the refreshed credentials are still expired")


def test_debug_logs_of_libraries_are_not_logged() -> None:
    """Botocore's contains signatures, urllib3's whole URLs."""
    _, out = configured(Level.DEBUG)
    logging.getLogger("botocore.auth").debug("signature hunter2")
    assert out.getvalue() == ""


def test_an_exception_in_a_librarys_log_has_no_message() -> None:
    """It may be a credential."""
    _, out = configured()
    try:
        os.environ["HUNTER2"]
    except KeyError:
        logging.getLogger("apscheduler.executors.x").exception("Job raised")
    (line,) = lines(out)
    assert line["level"] == "error"
    assert line["error"].startswith("KeyError at ")
    assert "HUNTER2" not in out.getvalue()


def test_python_warnings_are_included() -> None:
    """They must not be stray text between JSON lines."""
    with warnings.catch_warnings():
        warnings.simplefilter("default")  # the tests' own filter makes them errors
        _, out = configured()
        warnings.warn("old", UserWarning, stacklevel=1)
    (line,) = lines(out)
    assert line["logger"] == "py.warnings"
    assert "old" in line["message"]


def test_a_url_is_logged_without_its_credentials() -> None:
    log, out = configured()
    log.error("cycle_failed", error="cannot connect to postgresql://user:hunter2@db/autoscaler, or http://tok@x/")
    assert lines(out)[0]["error"] == "cannot connect to postgresql://db/autoscaler, or http://x/"
