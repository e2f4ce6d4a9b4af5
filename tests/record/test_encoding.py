"""Names and messages may have any character, whatever encoding PostgreSQL or the address prefers."""

from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import uuid4

import pytest
from sqlalchemy import create_engine, make_url, text

from autoscaler.clock import SystemClock
from autoscaler.errors import StateError
from autoscaler.record.archive import Archive
from autoscaler.record.backup import end_copied
from autoscaler.record.forgetting import forget
from autoscaler.record.housekeeping import Retention
from autoscaler.record.state import State
from tests.record.conftest import Opener
from tests.record.postgresql import empty_state
from tests.record.samples import decision, event, keep

pytestmark = pytest.mark.slow
CITY = "東京 ❤ é"


@pytest.fixture(scope="module", params=["SQL_ASCII", "LATIN1"])
def other(request: pytest.FixtureRequest, postgresql: str) -> Iterator[str]:
    """Return `state.url` of a database with another encoding."""
    name = f"test_{uuid4().hex}"
    server = make_url(f"{postgresql}/postgres").set(drivername="postgresql+psycopg")
    engine = create_engine(server, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        how = f"ENCODING '{request.param}' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0"
        connection.execute(text(f"CREATE DATABASE {name} {how}"))
    yield f"{postgresql}/{name}"
    with engine.connect() as connection:
        connection.execute(text(f"DROP DATABASE {name} WITH (FORCE)"))
    engine.dispose()


@pytest.mark.parametrize(
    "use",
    [
        lambda url, folder: State.open(url, folder, Retention()),
        Archive.open_archive,
        lambda url, folder: forget(url, folder, "web", SystemClock().moment()),
        end_copied,
    ],
    ids=["daemon", "reader", "forget", "restore"],
)
def test_a_database_with_another_encoding_is_refused_with_the_remedy(
    use: Callable[[str, Path], object], other: str, tmp_path: Path
) -> None:
    """SQL_ASCII ended the daemon with a TypeError; in LATIN1 one such name failed every cycle of its shard."""
    with pytest.raises(StateError, match=r"encoding is (SQL_ASCII|LATIN1), and the state needs UTF8; create a .*UTF8"):
        use(other, tmp_path)


@pytest.mark.parametrize("query", ["", "?client_encoding=latin1", "?options=-cclient_encoding%3Dlatin1"])
def test_every_connection_speaks_utf8(postgresql: str, tmp_path: Path, query: str) -> None:
    """An address, or PGCLIENTENCODING, may name another one for other programs."""
    opener = Opener(f"{empty_state(postgresql)}{query}", tmp_path)
    keep(opener.ledger(), decision(0, events=[event(message=CITY)]))
    assert [row.message for row in opener.archive().events("web")] == [CITY]
    opener.close()


def test_a_role_may_prefer_another_encoding(postgresql: str, tmp_path: Path) -> None:
    """What a connection asks for goes before what ALTER ROLE says."""
    url = empty_state(postgresql)
    role = make_url(url).username
    engine = create_engine(make_url(f"{postgresql}/postgres").set(drivername="postgresql+psycopg"))
    with engine.begin() as connection:
        connection.execute(text(f"ALTER ROLE {role} SET client_encoding = 'LATIN1'"))
    engine.dispose()
    opener = Opener(url, tmp_path)
    keep(opener.ledger(), decision(0, events=[event(message=CITY)]))
    assert [row.message for row in opener.archive().events("web")] == [CITY]
    opener.close()
