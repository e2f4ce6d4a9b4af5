"""A server says what it likes. The terminal, the log and the neighbour do not suffer from it."""

import json
import time
from pathlib import Path

import pytest

from tests.daemon.running import autoscaler, run_once, write_config
from tests.servers.scripted import Wire, scripted

pytestmark = pytest.mark.slow

HOSTILE = "\x1b[2J\x1b]0;title\x07\x9b31m\x7f\u202e\r\nfake line http://u:p@ss@host/ "


def answer(wire: Wire) -> None:
    """As Prometheus does, with a hostile error for the query `bad` and a warning of the same words for others."""
    while True:
        if b"bad" in wire.read():
            wire.answer(
                json.dumps({"status": "error", "errorType": "execution", "error": HOSTILE * 1000}).encode(), "422 X"
            )
            continue
        sample = {"metric": {HOSTILE: HOSTILE}, "value": [time.time(), "3"]}
        data = {"resultType": "vector", "result": [sample]}
        wire.answer(json.dumps({"status": "success", "data": data, "warnings": [HOSTILE]}).encode())


@pytest.mark.parametrize("style", ["json", "console"])
def test_what_a_server_says_steers_no_terminal_and_holds_no_password(folder: Path, style: str) -> None:
    """Its neighbour's decision is there, the log is small, and every character of it can be printed."""
    with scripted(answer) as prometheus:
        scalers = [autoscaler("bad", "bad"), autoscaler("good", "fine")]
        ended = run_once(write_config(folder, prometheus.url, scalers), f"--log.format={style}")
    assert all(line.isprintable() for line in ended.stderr.splitlines()), ended.stderr
    assert "p@ss" not in ended.stderr
    assert "ss@host" not in ended.stderr
    assert len(ended.stderr) < 20_000
    assert "fake line http://host/" in ended.stderr
    assert [line for line in ended.stderr.splitlines() if "decision" in line or " good " in line]
