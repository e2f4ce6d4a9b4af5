"""Colours, width and watched rows on a real terminal."""

import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fcntl import ioctl
from pathlib import Path

import pytest

from autoscaler.cli import output
from autoscaler.layout import Screen
from tests.cli.scene import Scene, ServedScene

pytestmark = pytest.mark.slow
_PATIENCE_SECONDS = 60.0
COLOUR = re.compile(r"\x1b\[\d*m")


class Terminal:
    """A command on a pseudo-terminal. `text` is its output so far."""

    def __init__(self, process: subprocess.Popen[bytes], master: int) -> None:
        self.process = process
        self._master = master
        self._read = b""

    def until(self, true: Callable[[str], bool]) -> str:
        """Return the output without colours once `true` accepts it or the command ends."""
        end = time.monotonic() + _PATIENCE_SECONDS
        while not true(self.plain):
            assert time.monotonic() < end, self.text
            if not select.select([self._master], [], [], 0.1)[0]:
                continue
            try:
                self._read += os.read(self._master, 65536)
            except OSError:  # Linux: the other side is closed
                break
        return self.plain

    @property
    def text(self) -> str:
        return self._read.decode(errors="ignore")  # a character may have come by half

    @property
    def plain(self) -> str:
        return COLOUR.sub("", self.text).replace("\r\n", "\n")


@contextmanager
def terminal(scene: Scene, columns: int, *arguments: str, **env: str) -> Iterator[Terminal]:
    master, slave = pty.openpty()
    ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    known = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "COLUMNS", "LINES")}
    process = subprocess.Popen(
        [sys.executable, "-m", "autoscaler", *arguments],
        stdin=slave,
        stdout=slave,
        stderr=subprocess.DEVNULL,
        env=known | scene.env | {"TERM": "xterm-256color"} | env,
        start_new_session=True,
    )
    os.close(slave)
    try:
        yield Terminal(process, master)
    finally:
        process.kill()
        process.wait()
        os.close(master)


def shown(scene: Scene, columns: int, *arguments: str, **env: str) -> Terminal:
    with terminal(scene, columns, *arguments, **env) as screen:
        screen.until(lambda _: False)
        assert screen.process.wait(_PATIENCE_SECONDS) == 0
        return screen


def test_a_terminal_gets_colours(online: ServedScene) -> None:
    screen = shown(online, 160, "get", "-o", "wide")
    assert "\x1b[31mfailing" in screen.text


def test_no_color_disables_colours(online: ServedScene) -> None:
    """The convention is that of no-color.org."""
    assert "\x1b" not in shown(online, 160, "get", "-o", "wide", NO_COLOR="1").text


def test_the_terminal_s_width_is_used(online: ServedScene) -> None:
    assert_fits(shown(online, 80, "describe", "web").plain, 80)


@pytest.mark.parametrize("columns", [80, 132])
@pytest.mark.parametrize("command", ["describe", "explain", "history"])
def test_no_line_is_wider_than_the_screen(
    online: ServedScene, monkeypatch: pytest.MonkeyPatch, command: str, columns: int
) -> None:
    monkeypatch.setattr(output, "screen", lambda: Screen(columns))
    assert_fits(online.run(command, "web").out, columns)


def assert_fits(text: str, columns: int) -> None:
    assert text
    assert [line for line in text.splitlines() if len(line) > columns] == []


def test_watch_prints_a_row_for_each_change(online: ServedScene) -> None:
    """Kubectl does the same, until Ctrl-C."""
    with terminal(online, 100, "get", "web", "--watch") as screen:
        assert screen.until(lambda text: text.count("\nweb ") == 1)
        online.web.cpu(120)
        text = screen.until(lambda text: text.count("\nweb ") >= 2)
        assert "cpu: 120%/60%" in text.rpartition("\nweb ")[2]
        screen.process.send_signal(signal.SIGINT)
        assert screen.process.wait(_PATIENCE_SECONDS) == 130
        assert "Traceback" not in screen.until(lambda _: False)


def test_follow_prints_new_events(online: ServedScene) -> None:
    with terminal(online, 120, "events", "jobs", "--follow") as screen:
        screen.until(lambda text: "MESSAGE" in text)
        online.jobs.queue(150, after=0.5)
        text = screen.until(lambda text: "SuccessfulRescale" in text)
        assert re.search(r"^\d\d:\d\d:\d\d +Normal +SuccessfulRescale +New size: ", text, re.MULTILINE)
        screen.process.send_signal(signal.SIGINT)
        assert screen.process.wait(_PATIENCE_SECONDS) == 130


def test_follow_prints_each_event_separately(online: ServedScene) -> None:
    """The operator sees how often a failure recurs."""
    times = r"^(\d\d:\d\d:\d\d) +Warning +FailedGetExternalMetric "
    with terminal(online, 120, "events", "broken", "--follow") as screen:
        text = screen.until(lambda text: len(re.findall(times, text, re.MULTILINE)) == 4)
        assert len(set(re.findall(times, text, re.MULTILINE))) == 4
        assert "(x" not in text
        screen.process.send_signal(signal.SIGINT)
        assert screen.process.wait(_PATIENCE_SECONDS) == 130


def test_a_closed_pipe_prints_no_error(online: ServedScene) -> None:
    """As in `autoscaler get | head -1`."""
    command = f"{sys.executable} -m autoscaler get web | head -c 1"
    done = subprocess.run(["sh", "-c", command], check=False, capture_output=True, env=os.environ | online.env)
    assert (done.stdout, done.stderr) == (b"N", b"")


def test_a_full_disk_prints_one_message() -> None:
    """A traceback would look like a bug."""
    command = [sys.executable, "-m", "autoscaler", "--version"]
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (1, "the output cannot be written: No space left on device\n")
