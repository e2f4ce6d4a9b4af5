"""Drains by HTTP: which address is asked, what ends the drain, and what is refused."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import pytest

from autoscaler.model import AwaitingDrain, DrainOutcome
from autoscaler.rules.drain import DrainRule, HttpDrainRule
from tests.drain.backend import BackEnd, Shard
from tests.servers.web import Answer, Request, answering


class Instance:
    """An instance that answers with these status codes, one after another; the last one stays."""

    def __init__(self, *statuses: int) -> None:
        self.statuses = list(statuses)
        self.paths: list[str] = []
        self.address = ""

    def answer(self, request: Request) -> Answer:
        known = self.statuses
        status = known.pop(0) if len(known) > 1 else known[0]
        self.paths.append(request.target)
        elsewhere = {"Location": f"http://{self.address}/elsewhere"} if status == 302 else {}
        return Answer(status, b"", elsewhere)


@contextmanager
def running(*statuses: int) -> Iterator[Instance]:
    instance = Instance(*statuses)
    with answering(instance.answer) as url:
        instance.address = url.removeprefix("http://")
        yield instance


@contextmanager
def shard(url: str, address: str, *, until: int = 200, seconds: float = 60, local: bool = True) -> Iterator[Shard]:
    """A shard whose drains ask this URL, after the cycle that sees `i-1/a` wait."""
    rule = DrainRule(timedelta(seconds=seconds), http=HttpDrainRule(url, until))
    made = Shard(BackEnd(), rule, local=local)
    made.cycle(AwaitingDrain("i-1/a", (address,) if address else ()))
    try:
        yield made
    finally:
        made.drainer.close()


def test_an_instance_is_asked_until_it_says_that_it_is_drained() -> None:
    """Any other answer means that it still drains. Its name is escaped in the URL."""
    with running(503, 404, 200) as instance, shard("http://{address}/drain?of={instance}", instance.address) as made:
        assert made.wait_for_release("i-1/a").outcome is DrainOutcome.DONE
        assert instance.paths == ["/drain?of=i-1%2Fa"] * 3


def test_the_status_that_ends_a_drain_is_the_operators() -> None:
    """A program may answer 200 while it drains, and 410 when nothing is left."""
    with running(200, 410) as instance, shard("http://{address}/", instance.address, until=410) as made:
        assert made.wait_for_release("i-1/a").outcome is DrainOutcome.DONE
        assert len(instance.paths) == 2


def test_a_redirect_is_an_answer() -> None:
    """It could lead to another machine."""
    with running(302) as instance, shard("http://{address}/", instance.address) as made:
        made.wait_for_detail("i-1/a", f"{instance.address} answered 302")
        assert set(instance.paths) == {"/"}


def test_an_instance_that_does_not_answer_is_let_go_at_the_timeout() -> None:
    """Its server may be gone already."""
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    with shard("http://{address}/", f"127.0.0.1:{port}") as made:
        made.wait_for_detail("i-1/a", f"127.0.0.1:{port}: ")
        made.clock.sleep(60)
        report = made.wait_for_release("i-1/a")
    assert report.outcome is DrainOutcome.TIMED_OUT
    assert f"127.0.0.1:{port}: " in report.detail


@pytest.mark.parametrize(
    ("address", "problem"),
    [
        ("169.254.169.254", "169.254.169.254 is not the address of another machine, so it is not asked"),
        ("127.0.0.1", "127.0.0.1 is not the address of another machine, so it is not asked"),
        ("0.0.0.0", "0.0.0.0 is not the address of another machine"),
        ("224.0.0.1", "224.0.0.1 is not the address of another machine"),
        ("metadata.internal", "'metadata.internal' is no IPv4 address, so it is not asked"),
        ("10.0.0.1@evil", "'10.0.0.1@evil' is no IPv4 address"),
        ("", "its back end tells no address of it"),
    ],
)
def test_only_private_addresses_of_another_machine_are_asked(address: str, problem: str) -> None:
    """An answer of a back end must not make the daemon ask the metadata service, or itself."""
    with shard("http://{address}/", address, local=False) as made:
        made.wait_for_detail("i-1/a", problem)
        assert made.back.released == []


def test_of_processes_only_loopback_is_asked() -> None:
    """A pool's workers are on this machine."""
    with shard("http://{address}/", "10.0.0.1:80") as made:
        made.wait_for_detail("i-1/a", "10.0.0.1:80 is not the address of a process here, so it is not asked")
