"""The proxy places faults at commits. It must distinguish commits in every form in which the driver sends them."""

from collections.abc import Iterator
from contextlib import closing

import psycopg
import pytest

from rehearse.hosts.database_proxy import INTENT, OUTCOME, TAKEOVER, DatabaseProxy, running_database_proxy
from tests.record.postgresql import running_server

pytestmark = pytest.mark.slow


@pytest.fixture
def proxy() -> Iterator[DatabaseProxy]:
    with running_server() as server, running_database_proxy(server.port) as proxy:
        yield proxy


def test_each_commit_is_recognized_by_its_statements(proxy: DatabaseProxy) -> None:
    """The driver prepares statements after some calls, and sends those for many rows together."""
    kinds: list[str] = []
    proxy.commits.on_commit = kinds.append
    with closing(psycopg.connect(f"postgresql://postgres@127.0.0.1:{proxy.way.port}/postgres")) as connection:
        for table in ("autoscaler", "block", "fence"):
            connection.execute(f"CREATE TABLE {table} (number int, generation int)")
        connection.commit()
        for number in range(8):
            rows = [(number,), (number + 1,)]
            with connection.transaction(), connection.cursor() as cursor:
                cursor.executemany("INSERT INTO autoscaler (number) VALUES (%s)", rows)
            with connection.transaction():
                connection.execute("UPDATE fence SET number = %s", (number,))
            with connection.transaction():
                connection.execute("UPDATE fence SET generation = %s", (number,))
            with connection.transaction(), connection.cursor() as cursor:
                cursor.executemany("INSERT INTO block (number) VALUES (%s)", rows)
                cursor.execute("INSERT INTO autoscaler (number) VALUES (%s)", (number,))
            with connection.transaction(force_rollback=True):
                connection.execute("INSERT INTO autoscaler (number) VALUES (%s)", (number,))
    assert kinds == [INTENT, TAKEOVER, OUTCOME] * 8
