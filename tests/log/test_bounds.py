"""A log line is printable and bounded, whatever is logged."""

import io
import json
import logging
import threading
from typing import Any

import pytest

from autoscaler.log import line as decisions
from autoscaler.log.bounds import MAX_LINE_BYTES, within_bounds
from autoscaler.log.configure import Format, configure, route_uncaught
from tests.decisions import decision
from tests.log.configured import configured, lines
from tests.operations import operations

HOSTILE = "a\x1b[2J\x9b1m\x7f\x00\u202eb\r\nc\u2028d\ud800http://u:p@ss@host"
HARMLESS = "a\\x1b[2J\\x9b1m\\x7f\\x00b  c d\\ud800http://host"


@pytest.fixture
def hooks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Restore what Python does with uncaught exceptions."""
    monkeypatch.setattr("threading.excepthook", threading.excepthook)
    monkeypatch.setattr("sys.excepthook", None)


@pytest.mark.parametrize("style", [Format.JSON, Format.CONSOLE])
def test_control_characters_in_a_line_are_escaped(style: Format) -> None:
    """This covers keys, values, nested ones and the name of the event."""
    log, out = configured(style=style)
    keys: dict[str, Any] = {HOSTILE: HOSTILE, "nested": [{HOSTILE: [HOSTILE]}], "tuple": (HOSTILE,), "set": {HOSTILE}}
    log.warning(HOSTILE, **keys, path=Odd(HOSTILE))
    (line,) = out.getvalue().splitlines()
    assert line.isprintable()
    assert "p@ss" not in line
    if style is Format.JSON:
        written = json.loads(line)
        assert written["event"] == HARMLESS
        assert written[HARMLESS] == HARMLESS
        assert written["nested"] == [{HARMLESS: [HARMLESS]}]
        assert (written["tuple"], written["set"], written["path"]) == ([HARMLESS], [HARMLESS], HARMLESS)


class Odd:
    """A value of a foreign class; with None, `str()` of it raises."""

    def __init__(self, text: str | None) -> None:
        self.text = text

    def __str__(self) -> str:
        if self.text is None:
            raise RuntimeError
        return self.text


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (float("nan"), "nan"),
        (float("inf"), "inf"),
        (10**30, "0xc9f2c9cd04674edea40000000"),
        (2**64, "0x10000000000000000"),
        (-(2**63) - 1, "-0x8000000000000001"),
        (Odd(None), "a Odd that cannot be shown"),
        (ValueError("x\ny"), "x y"),
        (b"\x1b", "b'\\x1b'"),
    ],
)
def test_a_value_that_json_cannot_represent_is_a_text(value: object, shown: str) -> None:
    """An exception while logging would end the thread."""
    log, out = configured()
    log.info("odd", value=value)
    assert lines(out)[0]["value"] == shown


@pytest.mark.parametrize("style", [Format.JSON, Format.CONSOLE])
@pytest.mark.parametrize(
    "value",
    [
        "x" * 10_000_000,
        "\x1b" * 10_000_000,
        ["x"] * 100_000,
        ["x" * 5000] * 100_000,
        {str(number): "x" for number in range(100_000)},
        {"x" * 5000 + str(number): "y" for number in range(1000)},
        [[["x" * 100] * 100] * 100] * 100,
        10**100_000,
    ],
    ids=["text", "escapes", "items", "long items", "keys", "long keys", "nested", "number"],
)
def test_a_line_has_a_limit(style: Format, value: object) -> None:
    """An answer of 10 MB once gave 80 MB of log."""
    log, out = configured(style=style)
    for _ in range(3):
        log.error("cycle_failed", error=value, other=value, last="x")
    assert len(out.getvalue().encode()) < 3 * 2 * MAX_LINE_BYTES
    assert len(out.getvalue().splitlines()) == 3


def test_omitted_items_are_counted() -> None:
    """Otherwise the list would look complete."""
    log, out = configured()
    log.info("workers_found_again", workers=[f"web-{number}" for number in range(10_000)])
    workers = lines(out)[0]["workers"]
    assert (workers[0], workers[-1], len(workers)) == ("web-0", "9900 more", 101)


def test_a_list_that_contains_itself_is_cut() -> None:
    log, out = configured()
    loop: list[Any] = []
    loop.append(loop)
    log.info("odd", value=loop)
    assert len(out.getvalue()) < 1000


@pytest.mark.parametrize("style", [Format.JSON, Format.CONSOLE])
def test_a_decision_with_many_metrics_is_one_line(style: Format) -> None:
    """The terminal shows what comes after them, too."""
    log, out = configured(style=style)
    made = decision("web")
    keys = decisions.keys(made)
    log.info("decision", **keys | {"metrics": keys["metrics"] * 5000})
    assert out.getvalue().count("\n") == 1
    assert len(out.getvalue()) < 2 * MAX_LINE_BYTES


def test_a_librarys_message_is_escaped_and_bounded() -> None:
    """A warning of botocore contains what AWS or a proxy answered."""
    _, out = configured()
    logging.getLogger("lib\x1b").warning("%s %s", HOSTILE, "x" * 10_000_000)
    (line,) = lines(out)
    assert line["logger"] == "lib\\x1b"
    assert line["message"].startswith("a\\x1b[2J")
    assert len(out.getvalue()) < MAX_LINE_BYTES


def test_a_librarys_wrong_arguments_raise_nothing() -> None:
    """`logging` promises that logging never raises."""
    _, out = configured()
    logging.getLogger("lib").warning(*["%d of %d", "one"])
    assert lines(out)[0]["message"] == "%d of %d"


def test_an_exception_is_logged_without_its_message() -> None:
    """The message may come from a server or contain a credential."""
    log, out = configured()
    try:
        int(HOSTILE)
    except ValueError:
        log.error("odd", exc_info=True)
    (line,) = lines(out)
    assert line["exception"].startswith("ValueError at ")
    assert "exc_info" not in line


@pytest.mark.usefixtures("hooks")
def test_an_exception_in_a_thread_is_one_line() -> None:
    """Python would print the traceback and the message."""
    log, out = configured()
    route_uncaught(log)

    def fail() -> None:
        raise ValueError(HOSTILE)

    thread = threading.Thread(target=fail, name="shard-\x1b")
    thread.start()
    thread.join()
    (line,) = lines(out)
    assert (line["event"], line["thread"]) == ("thread_failed", "shard-\\x1b")
    assert line["error"].startswith("ValueError at ")
    assert line["calls"][-1].endswith(" fail")
    assert "p@ss" not in out.getvalue()


def test_a_line_takes_a_few_thousand_instructions() -> None:
    """Ten thousand autoscalers may log as many lines in a cycle."""
    keys = decisions.keys(decision("web"))
    assert operations(lambda: within_bounds(None, "info", {"event": "decision", **keys})) < 10_000


def test_a_long_name_does_not_widen_the_columns() -> None:
    """Every later line would be as wide."""
    out = io.StringIO()
    log = configure(style=Format.CONSOLE, stream=out)
    log.info("decision", **decisions.keys(decision("w" * 253)))
    log.info("decision", **decisions.keys(decision("web")))
    assert len(out.getvalue().splitlines()[-1]) < 253
