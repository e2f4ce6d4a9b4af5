"""The log's stream blocks and fails for nobody, and tells what it lost."""

import fcntl
import gc
import os
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from typing import Final

import pytest

from autoscaler.log.configure import Format, Level, configure
from autoscaler.log.stream import LogStream
from tests.waiting import PATIENCE_SECONDS, until

_PIPE_BYTES: Final = 4096


class Pipe:
    """A pipe of one page whose reader reads when the test wants it."""

    def __init__(self) -> None:
        self.reader, self.writer = os.pipe()
        fcntl.fcntl(self.writer, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
        self._read = b""

    def read_until(self, end: str) -> list[str]:
        """Read until what was read ends with this text. Returns the lines."""
        last = time.monotonic() + PATIENCE_SECONDS
        while not self._read.endswith(end.encode()):
            assert time.monotonic() < last, self._read[-1000:]
            self._read += os.read(self.reader, 2**16)
        return self._read.decode().splitlines()

    def close_reader(self) -> None:
        os.close(self.reader)
        self.reader = -1


@pytest.fixture
def pipe() -> Iterator[Pipe]:
    made = Pipe()
    yield made
    for descriptor in (made.reader, made.writer):
        if descriptor >= 0:
            os.close(descriptor)


def stream(descriptor: int, most_bytes: int = 2**20) -> LogStream:
    made = LogStream(descriptor, most_bytes)
    made.on_dropped(lambda lines: f"{lines} lost\n")
    return made


def test_lines_keep_their_order_and_are_written_whole(pipe: Pipe) -> None:
    """Also those of several threads."""
    out = stream(pipe.writer)
    threads = [
        threading.Thread(target=lambda name=name: [out.write(f"{name} {at}\n") for at in range(200)]) for name in "ab"
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    out.write("end\n")
    lines = pipe.read_until("end\n")
    for name in "ab":
        assert [line for line in lines if line.startswith(name)] == [f"{name} {at}" for at in range(200)]
    assert (len(lines), out.dropped) == (401, 0)


def test_a_reader_that_stops_blocks_no_writer_and_hears_what_it_missed(pipe: Pipe) -> None:
    """The queue is bounded; what does not fit is dropped and counted, and lines stay whole."""
    out = stream(pipe.writer, most_bytes=10_000)
    for at in range(1_000):
        out.write(f"line {at:04} {'x' * 89}\n")  # 100 bytes
    assert out.dropped >= 850
    reading = threading.Thread(target=lambda: pipe.read_until("end\n"))
    reading.start()
    until(lambda: not out._waiting)
    out.write("end\n")
    reading.join(PATIENCE_SECONDS)
    lines = pipe.read_until("end\n")
    told = [line for line in lines if line.endswith("lost")]
    assert sum(int(line.split()[0]) for line in told) == out.dropped
    written = [line for line in lines if line.startswith("line")]
    assert len(written) == 1_000 - out.dropped
    assert written == sorted(written)
    assert {len(line) for line in written} == {99}


def test_a_reader_that_is_gone_raises_nothing(pipe: Pipe) -> None:
    """Each line is tried once, and lost."""
    pipe.close_reader()
    out = stream(pipe.writer)
    for _ in range(3):
        out.write("line\n")
    until(lambda: out.dropped == 3)
    out.finish()
    assert not out._waiting


def test_after_a_full_disk_the_lost_lines_are_counted_in_the_next_one(pipe: Pipe) -> None:
    """A disk that was full for seconds must not leave a gap that nobody sees. It is the same descriptor afterwards."""
    full = os.open("/dev/full", os.O_WRONLY)
    try:
        out = stream(full)
        out.write("one\n")
        out.write("two\n")
        until(lambda: out.dropped == 2)
        os.dup2(pipe.writer, full)
        out.write("three\n")
        assert pipe.read_until("three\n") == ["2 lost", "three"]
    finally:
        os.close(full)


def test_a_line_that_was_cut_off_ends_before_the_next_one(monkeypatch: pytest.MonkeyPatch, pipe: Pipe) -> None:
    """The disk may take half a line. A JSON line after it must still be one."""
    room = [6]

    def write(descriptor: int, data: bytes) -> int:
        if not room[0]:
            raise OSError(28, "No space left on device")
        taken = min(room[0], len(data))
        room[0] -= taken
        return real(descriptor, data[:taken])

    real = os.write
    monkeypatch.setattr(os, "write", write)
    out = stream(pipe.writer)
    out.write("one\ntwo\n")
    until(lambda: out.dropped == 1)
    room[0] = 1_000
    out.write("three\n")
    assert pipe.read_until("three\n") == ["one", "tw", "1 lost", "three"]


def test_the_end_waits_for_a_healthy_reader_and_not_for_one_that_stopped(pipe: Pipe) -> None:
    """The last lines say why a daemon ended. A log shipper that hangs must not keep it from ending."""
    out = stream(pipe.writer)
    out.write("last\n")
    out.finish()
    assert pipe.read_until("last\n") == ["last"]
    out.write("x" * 2 * _PIPE_BYTES + "\n")
    began = time.monotonic()
    out.finish(0.2)
    assert time.monotonic() - began >= 0.2
    threading.Thread(target=lambda: pipe.read_until("x\n")).start()
    until(lambda: not out._waiting)


def test_a_descriptor_that_does_not_block_loses_nothing(pipe: Pipe) -> None:
    """A terminal is shared with programs that may set O_NONBLOCK."""
    os.set_blocking(pipe.writer, False)
    out = stream(pipe.writer)
    out.write("x" * 3 * _PIPE_BYTES + "\n")
    out.write("end\n")
    assert len(pipe.read_until("end\n")) == 2
    assert out.dropped == 0


class Noisy:
    """Warns while it is freed, which may happen at any moment of any thread."""

    def __del__(self) -> None:
        warnings.warn("not closed", ResourceWarning, stacklevel=1)


def test_a_finalizer_that_logs_stops_no_thread(pipe: Pipe) -> None:
    """The collector may run a finalizer inside the stream's own code."""
    out = stream(pipe.writer)
    configure(Level.INFO, Format.JSON, out)
    warnings.simplefilter("always")
    with out._lock:
        Noisy()
        gc.collect()
    (line,) = pipe.read_until("\n")
    assert "not closed" in line


def test_the_configured_log_tells_what_was_lost(pipe: Pipe) -> None:
    """In its own form, and at any level."""
    out = LogStream(pipe.writer, 10)
    log = configure(Level.ERROR, Format.JSON, out)
    log.error("this does not fit")
    out._most_bytes = 10_000
    log.error("next")
    lost, after = pipe.read_until('"next"}\n')
    assert '"event":"log_lines_dropped","lines":1,' in lost.replace(": ", ":").replace(", ", ",")
    assert '"next"' in after


def test_a_line_that_cannot_be_shown_costs_itself_alone(pipe: Pipe, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cycle that logs must not fail because of the log, whatever is wrong in its code."""
    monkeypatch.setattr(sys.modules["autoscaler.log.configure"], "within_bounds", lambda *_: 1 / 0)
    log = configure(Level.INFO, Format.JSON, LogStream(pipe.writer))
    log.info("ready")
    (line,) = pipe.read_until("\n")
    assert '"level": "error", "event": "line_not_shown"' in line
    assert '"of": "ready"' in line
