"""What several daemons may do so often at a time, in all: permits of a real PostgreSQL."""

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from datetime import timedelta
from functools import partial

import pytest
from sqlalchemy import make_url, text

from autoscaler.errors import StateError
from autoscaler.observe import Gates
from autoscaler.observe.workers import settle, spawn
from autoscaler.record.database import Database, locate
from autoscaler.record.permits import Permits
from tests.observe.scripted import Shard, fleet, scripted
from tests.record.conftest import Opener
from tests.servers.tcp_proxy import TcpProxy, running_tcp_proxy

pytestmark = pytest.mark.slow
LONG = 60.0


@pytest.fixture
def two(postgresql_opener: Opener) -> Iterator[tuple[Permits, Permits]]:
    """Of two daemons."""
    found = (of_a_daemon(postgresql_opener), of_a_daemon(postgresql_opener))
    yield found
    for permits in found:
        permits.close()


@pytest.fixture
def proxied(postgresql_opener: Opener) -> Iterator[tuple[Permits, TcpProxy]]:
    """Of a daemon whose way to the database a test can cut."""
    url = locate(postgresql_opener.url, postgresql_opener.folder)
    assert url.port is not None
    with running_tcp_proxy(url.port) as proxy:
        permits = Permits(url.set(port=proxy.port), sessions="autoscaler test")
        yield permits, proxy
        proxy.mend()  # else what hangs would outlive the test
        permits.close()


def of_a_daemon(opener: Opener) -> Permits:
    return Permits(locate(opener.url, opener.folder), sessions="autoscaler test")


def taken(permits: Permits, of: str = "q", limit: int = 2, seconds: float = LONG) -> Callable[[], None]:
    give_back = permits.take(of, limit, seconds)
    assert give_back is not None
    return give_back


def test_as_many_are_out_as_there_are_whoever_has_them(two: tuple[Permits, Permits]) -> None:
    first, second = two
    taken(first)
    taken(second)
    assert first.take("q", 2, 0.5) is None
    assert second.take("q", 2, 0.5) is None
    taken(second, of="another")


def test_one_that_is_given_back_goes_to_who_waits(two: tuple[Permits, Permits]) -> None:
    first, second = two
    give_back = taken(first, limit=1)
    waiting: Future[Callable[[], None]] = Future()
    spawn("waiting", partial(settle, waiting, partial(taken, second, limit=1)))
    with pytest.raises(TimeoutError):
        waiting.result(0.5)
    give_back()
    waiting.result(30)()
    taken(first, limit=1)


def test_who_gave_up_has_none(two: tuple[Permits, Permits]) -> None:
    """Else a permit that came a moment too late would be nobody's."""
    first, second = two
    give_back = taken(first, limit=1)
    assert second.take("q", 1, 0.05) is None
    give_back()
    taken(first, limit=1)


def test_one_that_is_never_given_back_is_not_kept(two: tuple[Permits, Permits]) -> None:
    """Its time is that of the query that it was taken for."""
    first, second = two
    give_back = taken(first, limit=1, seconds=5)
    taken(second, limit=1)
    give_back()


def test_the_server_takes_it_back_from_who_stands_still(
    two: tuple[Permits, Permits], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a daemon does that is stopped, or whose machine is gone: here it never looks at its own time."""
    monkeypatch.setattr(threading.Event, "wait", never_late(threading.Event.wait))
    first, second = two
    give_back = taken(first, limit=1, seconds=5)
    taken(second, limit=1)
    give_back()


def never_late(real: Callable[..., bool]) -> Callable[..., bool]:
    """`Event.wait` that waits on in threads of permits, however long it was to."""

    def wait_on(event: threading.Event, timeout: float | None = None) -> bool:
        return real(event, LONG if threading.current_thread().name == "permit" and timeout == 6 else timeout)

    return wait_on


def test_a_session_that_is_ended_gives_it_back(two: tuple[Permits, Permits], postgresql_opener: Opener) -> None:
    first, second = two
    taken(first, limit=1)
    database = Database(locate(postgresql_opener.url, postgresql_opener.folder))
    with database.writing() as connection:
        connection.execute(
            text(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE pid <> pg_backend_pid() AND usename = current_user"
            )
        )
    database.close()
    taken(second, limit=1)


def test_a_database_that_is_silent_holds_nobody_up(proxied: tuple[Permits, TcpProxy]) -> None:
    """Neither who asks, nor who gives back."""
    permits, proxy = proxied
    give_back = taken(permits)
    proxy.cut(silent=True)
    began = time.monotonic()
    give_back()
    assert permits.take("q", 2, 0.5) is None
    assert time.monotonic() - began < 5  # its own limits begin at 5 s
    proxy.mend()
    taken(permits)


def test_a_database_that_is_away_is_said(proxied: tuple[Permits, TcpProxy]) -> None:
    permits, proxy = proxied
    taken(permits)()
    proxy.cut()
    with pytest.raises(StateError, match=r"state postgresql://.*: the database failed"):
        permits.take("q", 2, LONG)
    proxy.mend()
    taken(permits)


def test_threads_that_wait_for_a_silent_database_are_few(
    proxied: tuple[Permits, TcpProxy], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("autoscaler.record.permits._MOST_LEFT_BEHIND", 3)
    permits, proxy = proxied
    proxy.cut(silent=True)
    for _ in range(3):
        assert permits.take("q", 2, 0.01) is None
    with pytest.raises(StateError, match="3 earlier requests have had no answer"):
        permits.take("q", 2, LONG)


def test_nobody_is_told_a_password(postgresql_opener: Opener) -> None:
    permits = Permits(make_url("postgresql+psycopg://u:secret@127.0.0.1:1/d"), sessions="autoscaler test")
    with pytest.raises(StateError) as caught:
        permits.take("q", 2, LONG)
    assert "secret" not in str(caught.value)


def test_three_daemons_send_a_source_no_more_than_two_queries_at_a_time(postgresql_opener: Opener) -> None:
    """`prometheus.NAME.concurrency` is 2, and a share of at least one each would be three."""
    permits = [of_a_daemon(postgresql_opener) for _ in range(3)]
    with scripted() as server:
        server.hold = threading.Semaphore(0)
        settings = {"merge_queries": False, "timeout": timedelta(seconds=LONG)}
        shards = [Shard(server, fleet(8, 10 * n), Gates(lambda: 3, permits[n]), **settings) for n in range(3)]
        futures: list[Future[dict[str, int | str]]] = [Future() for _ in shards]
        for shard, future in zip(shards, futures, strict=True):
            spawn("shard", partial(settle, future, partial(shard.values, seconds=LONG)))
        for count in range(2, 9):  # then one of them may have none left
            server.until(count)
            server.hold.release()
        server.hold.release(24)
        wait(futures)
        assert [future.result() for future in futures] == [
            {f"g{number}": 1000 * number for number in range(first, first + 8)} for first in (0, 10, 20)
        ]
        assert (len(server.asked), server.most_at_a_time) == (24, 2)
    for each in permits:
        each.close()
