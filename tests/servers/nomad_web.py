"""A job of HTTP servers that stop slowly, and a load balancer that follows Nomad's allocations."""

import http.client
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from tests.servers.nomad import NomadServer, service
from tests.servers.nomad_nodes import POOL

_SECOND: Final = 10**9
_SERVE: Final = """
import http.server, os, signal, sys, threading, time

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        time.sleep(0.05)
        body = os.environ["NOMAD_ALLOC_ID"].encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        pass

server = http.server.ThreadingHTTPServer(("127.0.0.1", int(os.environ["NOMAD_PORT_http"])), Handler)
server.daemon_threads = False
for number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(number, lambda *_: threading.Timer(float(sys.argv[1]), server.shutdown).start())
server.serve_forever(poll_interval=0.05)
server.server_close()
"""
_LOOK_SECONDS: Final = 0.1
_CLIENTS: Final = 2


def web_job(folder: Path, job: str, *, count: int, leaving_seconds: float, **further: Any) -> dict[str, Any]:
    """Return a service job of HTTP servers in POOL, one on each node. Each serves while it stops.

    `folder`: the folder of their program. The job's migration waits for a replacement that ran for a second.
    """
    program = folder / "web.py"
    program.write_text(_SERVE)
    migrate = {
        "MaxParallel": 1,
        "HealthCheck": "task_states",
        "MinHealthyTime": _SECOND,
        "HealthyDeadline": 60 * _SECOND,
    }
    return service(
        job,
        count=count,
        command=f"exec {sys.executable} {program} {leaving_seconds:g}",
        group={"Networks": [{"DynamicPorts": [{"Label": "http"}]}], "Migrate": migrate},
        task={"KillTimeout": int((leaving_seconds + 30) * _SECOND), "Resources": {"CPU": 20, "MemoryMB": 64}},
        NodePool=POOL,
        Spreads=[{"Attribute": "${node.unique.id}", "Weight": 100}],
        **further,
    )


@dataclass(slots=True)
class Balancer:
    """The results of its clients' requests."""

    served: dict[str, int] = field(default_factory=dict)
    """The number of answers by allocation."""
    lost: list[str] = field(default_factory=list)
    ports: dict[str, int] = field(default_factory=dict)
    """The allocations that get requests, with their ports."""


@contextmanager
def balanced(server: NomadServer, job: str, allocations: int) -> Iterator[Balancer]:
    """Run clients that send one request after another, when so many of the job's allocations answer."""
    balancer, ending = Balancer(), threading.Event()
    threads = [threading.Thread(target=_follow, args=(server, job, balancer, ending))]
    threads[0].start()
    try:
        server.wait(lambda: len(balancer.ports) == allocations, f"{allocations} allocations that answer")
        threads += [threading.Thread(target=_send, args=(balancer, ending)) for _ in range(_CLIENTS)]
        for client in threads[1:]:
            client.start()
        yield balancer
    finally:
        ending.set()
        for thread in threads:
            thread.join()


def _follow(server: NomadServer, job: str, balancer: Balancer, ending: threading.Event) -> None:
    """Send requests to allocations that should run and have answered once, as after a load balancer's health check."""
    while not ending.wait(_LOOK_SECONDS):
        listed = {
            one["ID"]
            for one in server.allocations(job)
            if (one["ClientStatus"], one["DesiredStatus"]) == ("running", "run")
        }
        known = {one: port for one, port in balancer.ports.items() if one in listed}
        for one in listed - known.keys():
            raw = server.ask("GET", f"/v1/allocation/{one}")
            port = raw["AllocatedResources"]["Shared"]["Ports"][0]["Value"]
            try:
                if _ask(port) == one:
                    known[one] = port
            except OSError:
                continue  # it does not listen yet
        balancer.ports = known


def _send(balancer: Balancer, ending: threading.Event) -> None:
    turn = 0
    while not ending.is_set():
        ports = sorted(balancer.ports.items())
        turn += 1
        try:
            name = _ask(ports[turn % len(ports)][1])
        except (OSError, ZeroDivisionError, http.client.HTTPException) as error:  # also without a server
            balancer.lost.append(f"{error!r} of {ports}")
            time.sleep(_LOOK_SECONDS)
        else:
            balancer.served[name] = balancer.served.get(name, 0) + 1


def _ask(port: int) -> str:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request("GET", "/")
        return connection.getresponse().read().decode()
    finally:
        connection.close()
