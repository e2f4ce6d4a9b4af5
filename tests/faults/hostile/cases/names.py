"""Names, texts and files from outside."""

import json
import os
import stat
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import Final

import yaml

from tests.daemon.running import autoscaler, finished, run_once, write_config
from tests.faults.hostile.case import Case, Day
from tests.faults.hostile.log import UNPRINTABLE
from tests.faults.hostile.prometheus import Reply

_TEXT: Final = "\x1b]0;owned\x07\x1b[2J \x7f \x9b31m \u202ereversed\u2066 \r\n forged line"
"""Sets a terminal's title, clears it, and reverses the direction of the text after it."""
_MARKER: Final = "executed"
_CHECK_SECONDS: Final = 5.0


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


def _hostile_manifest(day: Day) -> None:
    """Run what `import` prints. No name in it may act as a command."""
    folder = day.world.folder / "import"
    folder.mkdir(exist_ok=True)
    marker = folder / _MARKER
    section = (
        "\n            expr: vector(1)\n          target: {type: AverageValue, averageValue: 1}\n"
        "adapters:\n fleet:\n  type: process\n  pools:\n   web:\n"
        f"    command: [touch, {marker}]\n    env:\n     SWALLOWS_WHAT_FOLLOWS: |1 #"
    )
    for number, manifest in enumerate(_manifests(section)):
        file, config = folder / f"hpa-{number}.yaml", folder / f"config-{number}.yaml"
        file.write_text(yaml.safe_dump(manifest))
        out = _cli("import", str(file), "--adapter", "fleet").stdout
        config.write_text(f"prometheus: {{default: {{url: {day.world.good.url}}}}}\n{out}")
        try:
            keys = set(yaml.safe_load(out) or {})
        except yaml.YAMLError:
            keys = {"text that is not YAML"}
        day.expect(keys <= {"autoscalers"}, f"manifest {number} was imported with {', '.join(sorted(keys))}")
        run_once(config, state=folder / f"state-{number}")
        time.sleep(0.5)
        day.expect(not marker.exists(), f"a command of manifest {number} was executed")
        marker.unlink(missing_ok=True)
    day.lasts()


def _manifests(section: str) -> Sequence[object]:
    """Return HPA manifests with this text in each place of a name."""

    def hpa(name: str = "web", target: str = "web", metric: str = "queue", selector: str = "x") -> object:
        identifier = {"name": metric, "selector": {"matchLabels": {"queue": selector}}}
        external = {"metric": identifier, "target": {"type": "AverageValue", "averageValue": 1}}
        return {
            "apiVersion": "autoscaling/v2",
            "kind": "HorizontalPodAutoscaler",
            "metadata": {"name": name},
            "spec": {
                "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": target},
                "maxReplicas": 5,
                "metrics": [{"type": "External", "external": external}],
            },
        }

    text = f"a{section}"
    return [hpa(metric=text), hpa(selector=text), hpa(target=text), hpa(name=text), hpa(metric=f"a\r{section}")]


def _cli(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "autoscaler", *arguments], check=False, capture_output=True, text=True, timeout=120
    )


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
    day.until(lambda: targets.read_text() != before, 30, "the targets file is not written beside planted links")
    before = targets.read_text()
    for name in ("drain.json.new", ".drain.json.new", "drain.json.tmp", ".drain.json.tmp", "drain.json~"):
        pipe.with_name("again").unlink(missing_ok=True)
        os.mkfifo(pipe.with_name("again"))
        pipe.with_name("again").replace(targets.with_name(name))
    day.world.good.values["drain_load"] = 4
    day.until(lambda: targets.read_text() != before, 30, "the targets file is not written beside planted pipes")
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


def _long_expression(day: Day) -> None:
    folder = day.world.folder / "check"
    folder.mkdir(exist_ok=True)
    for name, expr in (("flat", "a + " * 10_000 + "a"), ("quoted", '"\\' * 20_000)):
        config = write_config(folder, "http://localhost:9090", [autoscaler("web", expr)])
        began = time.monotonic()
        finished([sys.executable, "-m", "autoscaler", "check", str(config)], folder)
        seconds = time.monotonic() - began
        day.expect(seconds <= _CHECK_SECONDS, f"check of a {name} expression of 40 KB took {seconds:.1f} s")
    day.lasts()


def _login_in_text(day: Day) -> None:
    """Send an error text with a login whose password has an @."""
    secret = "half-of-a-secret"
    day.hostile.reply = _says(f"cannot reach http://user:pass@{secret}@db.example:5432/x")
    day.lasts()
    found = [file for file in day.world.folder.glob("log-*") if secret in file.read_text(errors="replace")]
    day.expect(not found, "the log has the rest of a password with an @")


CASES: Final[Sequence[Case]] = (
    Case("a hostile manifest through import", _hostile_manifest, note="the commands run beside the daemon"),
    Case(
        "escapes, DEL, C1 and bidi in a server's text", _escapes, short=True, note="the console log is another daemon's"
    ),
    Case("user:pass@word@host in a server's text", _login_in_text),
    Case("links and pipes planted beside a targets file", _planted_files, short=True),
    Case("a worker writes 150 MB at once", _loud_worker),
    Case("no umask", _umask, short=True),
    Case("expressions of 40 KB", _long_expression, note="check runs beside the daemon"),
)
