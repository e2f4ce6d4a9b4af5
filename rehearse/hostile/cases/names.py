"""Names, texts and files from outside."""

import json
import os
import stat
from collections.abc import Sequence
from typing import Final

from rehearse.hostile.case import Case, Day
from rehearse.hostile.log import UNPRINTABLE
from rehearse.hostile.prometheus import Reply
from tests.daemon.running import autoscaler, run_once, write_config

_TEXT: Final = "\x1b]0;owned\x07\x1b[2J \x7f \x9b31m \u202ereversed\u2066 \r\n forged line"
"""Sets a terminal's title, clears it, and reverses the direction of the text after it."""


def _says(text: str) -> Reply:
    """Make every query fail with this error."""
    body = json.dumps({"status": "error", "errorType": "bad_data", "error": text}).encode()
    return lambda wire, asked: wire.answer(body, "400 Bad Request")


def _escapes(day: Day) -> None:
    """Send escapes. The meter counts control characters in the JSON log; a second daemon has the console log."""
    day.hostile.reply = _says(_TEXT)
    folder = day.world.folder / "console"
    folder.mkdir(exist_ok=True)
    config = write_config(folder, day.hostile.url, [autoscaler("web", "bad_load")])
    said = run_once(config, "--log.format=console").stderr
    day.expect("forged line" in said, "the server's text is not shown on the console")
    found = {hex(ord(match)) for match in UNPRINTABLE.findall(said)}
    day.expect(not found, f"the console log has {', '.join(sorted(found))}")
    day.expect("\n forged line" not in said, "the console log has a line that the server wrote")
    day.lasts()


def _planted_files(day: Day) -> None:
    """Plant files beside the targets file. They must not make the daemon write elsewhere or wait."""
    targets = day.world.folder / "targets/drain.json"
    victim = day.world.folder / "victim"
    victim.write_text("precious")
    before = targets.read_text()
    for name in ("drain.json.new", ".drain.json.new", "drain.json.tmp", ".drain.json.tmp", "drain.json~"):
        planted = targets.with_name(name)
        planted.unlink(missing_ok=True)
        planted.symlink_to(victim)
    pipe = targets.with_name("pipe")
    os.mkfifo(pipe)
    day.world.good.values["drain_load"] = 3
    day.until(lambda: targets.read_text() != before, 60, "the targets file is not written beside planted links")
    before = targets.read_text()
    for name in ("drain.json.new", ".drain.json.new", "drain.json.tmp", ".drain.json.tmp", "drain.json~"):
        pipe.with_name("again").unlink(missing_ok=True)
        os.mkfifo(pipe.with_name("again"))
        pipe.with_name("again").replace(targets.with_name(name))
    day.world.good.values["drain_load"] = 4
    day.until(lambda: targets.read_text() != before, 60, "the targets file is not written beside planted pipes")
    day.lasts()
    day.expect(victim.read_text() == "precious", "a file behind a planted link was written")
    day.expect(day.log.decided["drain"] > 0, "the pool hangs")
    for left in targets.parent.iterdir():
        if left != targets:
            left.unlink()


def _loud_worker(day: Day) -> None:
    """A worker's log is the operator's to bound; it costs no neighbour a cycle."""
    (day.world.folder / "loud").touch()
    day.lasts(1)
    (day.world.folder / "loud").unlink()


def _umask(day: Day) -> None:
    """Check the modes of files. The daemon runs without a umask."""
    day.lasts()
    for path in [day.world.daemon.state, *day.world.daemon.state.rglob("*")]:
        mode = stat.S_IMODE(path.stat().st_mode)
        if path.is_socket():  # its folder limits the access, and this one admits no other user
            continue
        day.expect(not mode & 0o077, f"{path.relative_to(day.world.folder)} has the mode {mode:03o}")


CASES: Final[Sequence[Case]] = (
    Case(
        "escapes, DEL, C1 and bidi in a server's text", _escapes, short=True, note="the console log is another daemon's"
    ),
    Case("links and pipes planted beside a targets file", _planted_files, short=True),
    Case("a worker writes 150 MB at once", _loud_worker),
    Case("no umask", _umask, short=True),
)
