"""Lists are read again only when their table has changed, on a server that answers as nomad/rpc.go does."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from adapters.nomad.entries import JobEntry
from adapters.nomad.jobs import JobKey
from adapters.nomad.lists import Listing
from autoscaler.target import Call
from tests.adapters.nomad.conftest import client_of
from tests.adapters.nomad.samples import listed_job
from tests.clocks import MovedClock
from tests.servers.web import Answer, Request, answering

_KEYS = frozenset({JobKey("default", "web"), JobKey("default", "api")})


@dataclass
class Table:
    """The server and a list of it."""

    jobs: list[dict[str, Any]] = field(default_factory=list)
    index: int | None = 10
    whole: int = 0
    """How often all entries were requested."""
    encodings: set[str | None] = field(default_factory=set)
    """The encodings that requests accepted."""
    clock: MovedClock = field(default_factory=MovedClock)
    listing: Listing[JobEntry] = field(init=False)

    def read(self, keys: frozenset[JobKey] = _KEYS) -> Any:
        call = Call(self.clock.now(), self.clock.monotonic() + 5)
        return self.listing.read(keys, {"namespace": "default"}, call)

    def versions(self) -> list[int]:
        """Return the JobModifyIndex of each job found."""
        return [entry.job_modify_index for entries in self.read().of.values() for entry in entries]


@pytest.fixture
def table() -> Iterator[Table]:
    table = Table([listed_job("web", JobModifyIndex=3)])

    def answer(request: Request) -> Answer:
        one = request.form["per_page"] == "1"
        table.whole += not one
        table.encodings.add(request.headers["Accept-Encoding"])
        headers = {} if table.index is None else {"X-Nomad-Index": str(table.index)}
        return Answer(200, table.jobs[:1] if one else table.jobs, headers)

    with answering(answer) as url:
        client = client_of(url, table.clock)
        table.listing = Listing(client, "/v1/jobs", JobEntry, id_field="ID")
        yield table
        client.close()


def test_a_list_that_has_not_moved_is_not_read_again(table: Table) -> None:
    """The list is the same object, so its users can skip it too."""
    first = table.read()
    assert all(table.read() is first for _ in range(3))
    assert table.whole == 1


def test_a_list_that_moved_is_read_as_it_is_now(table: Table) -> None:
    assert table.versions() == [3]
    table.jobs, table.index = [listed_job("web", JobModifyIndex=3), listed_job("api", JobModifyIndex=11)], 11
    assert table.versions() == [3, 11]


def test_a_cluster_built_anew_does_not_pass_for_the_old_one(table: Table) -> None:
    """Its table may have the known index; its first entry differs."""
    assert table.versions() == table.versions() == [3]
    table.jobs = [listed_job("web", JobModifyIndex=9)]
    assert table.versions() == [9]


def test_an_answer_without_an_index_is_never_kept(table: Table) -> None:
    """A proxy in front of Nomad drops headers."""
    table.index = None
    assert table.versions() == [3]
    table.jobs = [listed_job("web", JobModifyIndex=4)]
    assert table.versions() == [4]


def test_a_list_is_read_again_after_a_while_although_it_has_not_moved(table: Table) -> None:
    """The rights of a token can change while no job changes."""
    table.jobs = [listed_job("web", JobModifyIndex=3), listed_job("api", JobModifyIndex=5)]
    assert table.versions() == table.versions() == [3, 5]
    table.jobs = [listed_job("web", JobModifyIndex=3)]
    assert table.versions() == [3, 5]
    table.clock.sleep(301)
    assert table.versions() == [3]


def test_batches_of_other_jobs_are_kept_apart(table: Table) -> None:
    """Shards of one connection take turns; each sees its own jobs only."""
    alone = frozenset({JobKey("default", "api")})
    first = table.read()
    assert table.read(alone).of == {}
    assert table.read() is first
    assert table.whole == 2


def test_an_agent_on_this_machine_is_asked_for_plain_answers(table: Table) -> None:
    """Compression would cost the agent more than it saves."""
    table.read()
    table.read()
    assert table.encodings == {"identity"}
