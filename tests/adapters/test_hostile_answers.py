"""Hostile answers of back ends: each adapter returns in time, with bounded messages and memory.

Each adapter runs in its own process, whose peak memory is measured.
"""

import json
import os
import subprocess
import sys
import zlib
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest

from tests.servers.scripted import Script, Wire, answering, scripted

pytestmark = pytest.mark.slow
_MIB: Final = 2**20
_MAX_MIB: Final = 400
"""Of the process with its libraries."""
_SECONDS: Final = 60.0
"""Deadline of each call. A bounded answer is refused long before."""
_MAX_TEXT: Final = 2048
_CHILD: Final = """
import gc, json, sys
from pathlib import Path
from autoscaler.clock import SystemClock
from autoscaler.errors import TargetError, bare
from autoscaler.memory import trim, use_one_arena
from autoscaler.model import Call, ScaleChange, TargetRef
from autoscaler.target import load
from autoscaler.target.contract import make_context

use_one_arena()  # as the daemon does
kind, name, folder, seconds = sys.argv[1], sys.argv[2], Path(sys.argv[3]), float(sys.argv[4])
clock, target = SystemClock(), TargetRef("test", name)
change = ScaleChange("1", 3, 2, None, "a test says so")
for line in sys.stdin:
    gc.collect()  # each answer is judged by itself, not by what the collector has left of those before it
    trim()  # as the daemon does every five seconds
    Adapter = load(kind)
    adapter = Adapter(make_context(Adapter.Settings.model_validate_json(line), folder))
    answers = []
    for verb in ("observe", "scale"):
        began = clock.monotonic()
        call = Call(clock.now(), began + seconds)
        try:
            answer = adapter.scale(target, change, call) if verb == "scale" else adapter.observe([target], call)[target]
        except TargetError as error:
            answer = bare(error)  # as the daemon keeps it
        said = {"kind": [each.__name__ for each in type(answer).__mro__], "text": str(answer)}
        answers.append(said | {"seconds": clock.monotonic() - began})
    (peak,) = [int(line.split()[1]) // 1024 for line in open("/proc/self/status") if line.startswith("VmHWM")]
    print(json.dumps({"answers": answers, "peak": peak}), flush=True)
"""


@cache  # to compress it takes longer than all the rest
def gzipped(pieces: int, piece: bytes) -> bytes:
    """Return this many copies of the piece, compressed without holding them in memory."""
    packer = zlib.compressobj(1, zlib.DEFLATED, 31)
    return b"".join([packer.compress(piece) for _ in range(pieces)]) + packer.flush()


def endless(begin: bytes, piece: bytes) -> Script:
    """Yield 3 GB of it."""

    def script(wire: Wire) -> None:
        wire.read()
        wire.send(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n" + begin)
        for _ in range(3000):
            wire.send(piece)

    return script


_GZIP: Final = b"Content-Encoding: gzip\r\n"
_JSON: Final[Mapping[str, Callable[[], Script]]] = {
    "3 GB": lambda: endless(b"[", b"{}," * (_MIB // 3)),
    "3 GB in one text": lambda: endless(b'["', b"a" * _MIB),
    "a gzip bomb": lambda: answering(gzipped(2 * _MAX_MIB, b"{}," * (_MIB // 3)), _GZIP),
    "45 MB of empty objects in a list": lambda: answering(b"[" + b"{}," * 15_000_000 + b"{}]"),
    "60 MB of short texts": lambda: answering(b"[" + b'"ab",' * 12_000_000 + b'"ab"]'),
    "60 MB of numbers": lambda: answering(b"[" + b"1e9," * 15_000_000 + b"1]"),
    "deep JSON": lambda: answering(b"[" * 1_000_000),
    "deep JSON of 10 MB": lambda: answering(b"[" * 10_000_000),
    "deep JSON in an object": lambda: answering(b'{"a":' * 5_000_000),
    "60 MB of an error": lambda: answering(b"\xe2\x82" * 30_000_000, b"", "500 Broken"),
    "an error of empty objects": lambda: answering(
        b'{"message":[' + b"{}," * 15_000_000 + b"{}]}", b"", "403 Forbidden"
    ),
    "numbers for objects": lambda: answering(b"[1,2,3]"),
    "null": lambda: answering(b"null"),
    "not a number": lambda: answering(b'[{"ID": NaN}]'),
}
_XML: Final[Mapping[str, Callable[[], Script]]] = {
    "3 GB": lambda: endless(b"<a>", b"<a/>" * (_MIB // 4)),
    "3 GB in one text": lambda: endless(b"<a>", b"a" * _MIB),
    "30 MB of empty elements": lambda: answering(b"<a>" + b"<a/>" * 7_500_000 + b"</a>"),
    "30 MB of attributes": lambda: answering(b"<a>" + b'<a b="c"/>' * 3_000_000 + b"</a>"),
    "30 MB of attributes of one element": lambda: answering(
        b"<a " + b" ".join([b'%x=""' % (0xA00000 + each) for each in range(3_000_000)]) + b"/>"
    ),
    "deep XML": lambda: answering(b"<a>" * 400_000 + b"</a>" * 400_000),
    "deep XML of 9 MB": lambda: answering(b"<a>" * 3_000_000),
    "30 MB that are not quite XML": lambda: answering(b"<a>" + b"\xe2" * 30_000_000),
    "entities": lambda: answering(
        b'<!DOCTYPE a [<!ENTITY a "' + b"a" * _MIB + b'"><!ENTITY b "' + b"&a;" * 90 + b'">]><a>' + b"&b;" * 9 + b"</a>"
    ),
    "30 MB of an error": lambda: answering(b"<\xe2" * 15_000_000, b"", "500 Broken"),
    "null": lambda: answering(b"null"),
}
_ADAPTERS: Final[Mapping[str, tuple[str, Mapping[str, Callable[[], Script]], Callable[[str], dict[str, Any]]]]] = {
    "nomad": ("web/work", _JSON, lambda url: {"address": url}),
    "docker-swarm": ("web", _JSON, lambda url: {"host": url.replace("http:", "tcp:")}),
    "aws-ecs": ("shop/web", _JSON, lambda url: {"endpointUrl": url, "region": "eu-west-1"}),
    "aws-asg": ("web", _XML, lambda url: {"endpointUrl": url, "region": "eu-west-1"}),
}


class Child:
    """One adapter in its own process; each section builds it again."""

    def __init__(self, kind: str, name: str, folder: Path) -> None:
        environment = os.environ | {
            "AWS_ACCESS_KEY_ID": "ours",
            "AWS_SECRET_ACCESS_KEY": "secret",
            "AWS_EC2_METADATA_DISABLED": "true",
        }
        command = [sys.executable, "-c", _CHILD, kind, name, str(folder), str(_SECONDS)]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )

    def outcome(self, section: dict[str, Any]) -> dict[str, Any]:
        """Return the results of an observation and a write, and the process's peak in MiB."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(section) + "\n")
        self._process.stdin.flush()
        found: dict[str, Any] = json.loads(self._process.stdout.readline())
        return found

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()


@pytest.fixture(params=_ADAPTERS)
def child(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[str, Child]]:
    """A child for each type."""
    made = Child(request.param, _ADAPTERS[request.param][0], tmp_path)
    yield request.param, made
    made.close()


def test_a_hostile_answer_is_an_error_in_time_and_bounds(child: tuple[str, Child]) -> None:
    """One such answer raised the daemon's memory to 3 GB, which affected every other autoscaler."""
    kind, adapter = child
    _, scripts, section = _ADAPTERS[kind]
    for case, script in scripts.items():
        with scripted(script()) as server:
            found = adapter.outcome(section(server.url))
        for answer in found["answers"]:
            assert "TargetError" in answer["kind"], (case, answer)
            assert len(answer["text"].encode()) <= _MAX_TEXT, case
            assert answer["text"].isprintable(), case
            assert answer["seconds"] < _SECONDS, case
        assert found["peak"] < _MAX_MIB, case


def test_a_cookie_is_never_sent_back_and_a_redirect_never_followed(child: tuple[str, Child]) -> None:
    """Cookies grew until the server answered 431; a redirect would send credentials elsewhere."""
    kind, adapter = child
    section = _ADAPTERS[kind][2]
    cookie = b"Set-Cookie: a=b; Path=/\r\n"
    with scripted(answering(b"stolen")) as elsewhere:
        location = f"Location: {elsewhere.url}/\r\n".encode()
        with (
            scripted(answering(b"{}", cookie)) as giving,
            scripted(answering(b"", cookie + location, "307 Go")) as away,
        ):
            adapter.outcome(section(giving.url))
            adapter.outcome(section(away.url))
    assert len(giving.requests) >= 2
    assert len(away.requests) >= 2
    assert not [each for each in giving.requests + away.requests if b"\r\ncookie:" in each.lower()]
    assert elsewhere.requests == []
