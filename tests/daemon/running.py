"""A real daemon in its own process. All tests, rehearsals and benches start daemons in this way.

A bench or a rehearsal that needs more has a subclass of `RunningDaemon`.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import requests
import yaml

from tests.daemon.copies import Copy
from tests.processes import signal_all, started_with
from tests.waiting import PATIENCE_SECONDS
from tests.web.unix import unix_session

_SHOWN_CHARACTERS: Final = 20_000
"""The lines of the log that a failed test shows."""
_MARK: Final = "DAEMON_TEST"
"""The variable of a worker's environment that names its daemon's folder."""


class RunningDaemon:
    """`log` has its lines so far, `told` its messages to its service manager."""

    def __init__(
        self,
        process: subprocess.Popen[bytes] | Copy,
        config: Path,
        stderr: Path,
        listener: socket.socket | None = None,
    ) -> None:
        """`listener`: the service manager's socket; None: none."""
        self.process = process
        self.config = config
        self.stderr = stderr
        self._listener = listener
        self.told: list[str] = []
        self._log: list[dict[str, Any]] = []
        self._read = 0

    @property
    def alive(self) -> bool:
        """Return whether its process still runs."""
        return self.process.poll() is None

    @cached_property
    def url(self) -> str:
        """Return the URL of its page and API, once it listens."""
        url: str = self.wait_for("listening")["url"]
        return url

    @property
    def log(self) -> Sequence[dict[str, Any]]:
        with self.stderr.open("rb") as file:
            file.seek(self._read)
            text = file.read()
        text = text[: text.rfind(b"\n") + 1]
        self._read += len(text)
        try:
            self._log += [json.loads(line) for line in text.splitlines()]
        except ValueError as error:
            raise AssertionError(f"a line of the log is not JSON:\n{self._last_words()}") from error
        return self._log

    def get(self, path: str) -> requests.Response:
        """Send a request as a client. Returns the answer."""
        return requests.get(self.url + path, timeout=PATIENCE_SECONDS)

    def metrics(self) -> str:
        """Return its own metrics, in exposition format."""
        return self.get("/metrics").text

    def events(self, event: str, **keys: Any) -> list[dict[str, Any]]:
        """Return the log's lines of this event with these keys."""
        return [line for line in self.log if line["event"] == event and keys.items() <= line.items()]

    def written(self, **keys: Any) -> list[int]:
        """Return the sizes that the log's decisions with these keys have written."""
        return [line["written"] for line in self.events("decision", **keys) if line["written"] is not None]

    def wait_for(self, event: str, count: int = 1, **keys: Any) -> dict[str, Any]:
        """Wait for the log's `count`th line of this event with these keys."""
        self.until(lambda: len(self.events(event, **keys)) >= count, f"{count} x {event} {keys}")
        return self.events(event, **keys)[count - 1]

    def wait_until_told(self, message: str, count: int = 1) -> None:
        """Wait until the service manager has got this message so often. `message` may be its beginning."""
        self.until(lambda: self.heard(message) >= count, f"{count} x {message}")

    def heard(self, message: str) -> int:
        self._listen()
        return sum(told.startswith(message) for told in self.told)

    def until(self, true: Callable[[], bool], what: str, seconds: float = 2 * PATIENCE_SECONDS) -> None:
        """Wait for a condition. Raises AssertionError if the daemon ends first, or after `seconds`.

        On a busy machine its start alone may take minutes.
        """
        end = time.monotonic() + seconds
        while True:
            self._listen()  # as a service manager does; otherwise the daemon would wait
            assert self.alive, f"ended with {self.process.returncode}:\n{self._last_words()}"
            if true():
                return
            assert time.monotonic() < end, f"{what}: not within {seconds:g} s\n{self._last_words()}"
            time.sleep(0.05)

    def _last_words(self) -> str:
        return self.stderr.read_text(errors="replace")[-_SHOWN_CHARACTERS:]

    @cached_property
    def control_socket(self) -> Path:
        return Path(self.wait_for("listening")["control_socket"])

    def post(self, path: str, body: Mapping[str, Any] | None = None) -> requests.Response:
        """Send a POST request as an operator of this machine. Returns the answer."""
        with unix_session(self.control_socket) as session:
            return session.post(f"http://localhost{path}", json=body, timeout=PATIENCE_SECONDS)

    def send(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def reload(self, count: int = 1) -> None:
        """Reload the configuration, for the `count`th time, and wait until it is in force."""
        self.send(signal.SIGHUP)
        self.wait_for("reloaded", count=count)

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Send this signal. Returns the exit status."""
        self._listen()
        self.send(number)
        return self.process.wait(PATIENCE_SECONDS)

    def _listen(self) -> None:
        try:
            while self._listener is not None:
                self.told.append(self._listener.recv(4096).decode())
        except BlockingIOError:
            return


def environment(state: Path, **more: str) -> dict[str, str]:
    return os.environ | {"STATE_DIRECTORY": str(state)} | more


PROGRAM: Final = ("-m", "autoscaler")
LATE: Final = frozenset({"shard_hung", "shard_recovered", "tick_missed"})
"""Events of a cycle that took longer than its short period, as it may on a busy machine."""


def command(config: Path, *arguments: str, program: Sequence[str] = PROGRAM) -> list[str]:
    """Return the command. `program`: the interpreter's arguments in place of `-m autoscaler`."""
    return [sys.executable, *program, *_run(config, arguments)]


def _run(config: Path, arguments: Sequence[str]) -> list[str]:
    listen = "--web.listen-address=127.0.0.1:0"  # several run at once; the event `listening` has the port
    return ["run", f"--config.file={config}", listen, *arguments]


@contextmanager
def running_daemon(
    config: Path,
    *arguments: str,
    state: Path | None = None,
    env: Mapping[str, str] | None = None,
    program: Sequence[str] | None = None,
    service_manager: bool = False,
    umask: int = -1,
    log_to: int | None = None,
    hostname: str | None = None,
) -> Iterator[RunningDaemon]:
    """Run `autoscaler run` on `config`, with its state beside the file by default. It is killed at the end.

    `program`: the arguments of a new interpreter; without them and without `log_to`, the daemon is a copy of a process
    that has imported it. `service_manager`: it has one, whose messages the test reads. `umask`: -1 keeps that of this
    process. `log_to`: the descriptor that is its stderr; the daemon's `log` stays empty then. `hostname`: what a copy
    takes for its host's name.
    """
    stderr = config.parent / f"stderr-{time.monotonic_ns()}"
    with ExitStack() as stack:
        runtime = stack.enter_context(TemporaryDirectory())  # the path of a test's folder may be too long for a socket
        variables, listener = {"RUNTIME_DIRECTORY": runtime}, None
        if service_manager:
            listener = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
            variables["NOTIFY_SOCKET"] = f"{runtime}/notify"
            listener.bind(variables["NOTIFY_SOCKET"])
            listener.setblocking(False)
        stderr.touch()
        environ = environment(state or config.parent / "state", **(variables | dict(env or {})))
        process: subprocess.Popen[bytes] | Copy
        if program is None and log_to is None:
            process = Copy(_run(config, arguments), environ, Path(os.devnull), stderr, umask, hostname)
        else:
            file = stack.enter_context(stderr.open("wb"))
            process = subprocess.Popen(
                command(config, *arguments, program=program or PROGRAM),
                stdin=subprocess.DEVNULL,
                stderr=file if log_to is None else log_to,
                env=environ,
                umask=umask,
            )
        try:
            yield RunningDaemon(process, config, stderr, listener)
        finally:
            process.kill()
            process.wait()


def finished(
    words: Sequence[str], state: Path, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command that ends by itself. Returns it with its output."""
    variables = environment(state, **(env or {}))
    return subprocess.run(
        words,
        check=False,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        env=variables,
        timeout=3 * PATIENCE_SECONDS,
    )


def run_command(
    *words: str, state: Path, env: Mapping[str, str] | None = None, hostname: str | None = None
) -> subprocess.CompletedProcess[str]:
    """Run `autoscaler` with these words, in a copy of a process that has imported it. Returns it with its output."""
    with TemporaryDirectory() as folder:
        out, err = (Path(folder, name) for name in ("stdout", "stderr"))
        copy = Copy(words, environment(state, **(env or {})), out, err, hostname=hostname)
        try:
            code = copy.wait(3 * PATIENCE_SECONDS)
        finally:
            copy.kill()
        return subprocess.CompletedProcess(["autoscaler", *words], code, out.read_text(), err.read_text())


def run_to_its_end(
    config: Path, *arguments: str, state: Path | None = None, **more: Any
) -> subprocess.CompletedProcess[str]:
    """Run a daemon that ends by itself. Returns it with its output. `more`: of `run_command`."""
    return run_command(*_run(config, arguments), state=state or config.parent / "state", **more)


def run_once(
    config: Path, *arguments: str, state: Path | None = None, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run `autoscaler run --once`. Returns it with its output."""
    return run_to_its_end(config, "--once", *arguments, state=state, env=env)


def external(query: str, value: int | str = 1) -> dict[str, Any]:
    """Return a metric that asks for a replica for each `value` of the query's sum."""
    target = {"type": "AverageValue", "averageValue": value}
    return {"type": "External", "external": {"metric": {"name": "queue"}, "query": {"expr": query}, "target": target}}


def autoscaler(name: str, query: str, adapter: str = "local", **more: Any) -> dict[str, Any]:
    """Return an autoscaler of the target of the same name, with a period of a second.

    A busy machine may take longer: a write whose answer is late is never logged as `written`.
    """
    body = {"name": name, "scaleTargetRef": {"adapter": adapter, "name": name}, "minReplicas": 1, "maxReplicas": 5}
    return body | {"syncPeriod": "1s", "metrics": [external(query)]} | more


def write_config(
    folder: Path,
    prometheus: str | Mapping[str, Any],
    autoscalers: Sequence[Mapping[str, Any]],
    adapters: Mapping[str, Any] | None = None,
    **sections: Any,
) -> Path:
    """Write the configuration, with a pool of sleeping workers for each autoscaler on the adapter `local`.

    `prometheus`: the default source's URL, or the whole section.
    """
    pools = {
        scaler["name"]: {"command": ["sleep", "3600"], "env": mark(folder)}
        for scaler in autoscalers
        if scaler["scaleTargetRef"]["adapter"] == "local"
    }
    local = {"local": {"type": "process", "pools": pools}} if pools else {}
    sources = {"default": {"url": prometheus}} if isinstance(prometheus, str) else dict(prometheus)
    document = {
        "prometheus": sources,
        "adapters": local | dict(adapters or {}),
        "autoscalers": list(autoscalers),
        "log": {"decisions": "all"},  # most tests wait for the next decision, or count them
    }
    path = folder / "autoscaler.yaml"
    path.write_text(yaml.safe_dump(document | sections, sort_keys=False))
    return path


def mark(folder: Path) -> dict[str, str]:
    """Return the environment of a worker that `workers` finds."""
    return {_MARK: str(folder)}


def workers(folder: Path, **variables: str) -> frozenset[int]:
    """Return the pids of running workers of daemons with this folder's configuration, and with these variables."""
    return started_with(**mark(folder), **variables)


def end_workers(folder: Path) -> None:
    """End the workers, which outlive their daemon."""
    signal_all(workers(folder), signal.SIGKILL)
