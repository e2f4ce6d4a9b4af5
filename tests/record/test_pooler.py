"""PostgreSQL behind a pooler that drops the options of a connection."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from autoscaler.errors import StateError
from autoscaler.record import database as databases
from autoscaler.record.housekeeping import Retention
from autoscaler.record.state import State
from tests.record.conftest import Opener
from tests.record.postgresql import empty_state
from tests.record.samples import at, decision, keep, scaler
from tests.servers.pgbouncer import running_pgbouncer
from tests.temporary import own_folder

pytestmark = pytest.mark.slow


@pytest.fixture
def folder() -> Iterator[Path]:
    """The folder of pytest is closed to the user postgres."""
    with own_folder("autoscaler-pgbouncer-") as folder:
        yield folder


@pytest.fixture
def pooled(postgresql: str, folder: Path) -> Iterator[str]:
    """`state.url` of an empty state."""
    with running_pgbouncer(empty_state(postgresql), folder) as url:
        yield url


def test_a_session_has_its_limits(pooled: str, tmp_path: Path) -> None:
    """Otherwise a cycle could wait for rows for ever, and a stopped daemon would keep its rows locked."""
    engine = databases.connect(databases.locate(pooled, tmp_path), idle=timedelta(seconds=15))
    with engine.connect() as connection:
        connection.rollback()  # a setting within a transaction would end with it
        names = ("lock_timeout", "idle_in_transaction_session_timeout")
        assert [connection.exec_driver_sql(f"SHOW {name}").scalar_one() for name in names] == ["5s", "15s"]
    engine.dispose()


def test_a_state_behind_the_pooler_is_recalled(pooled: str, tmp_path: Path) -> None:
    opener = Opener(pooled, tmp_path / "state")
    keep(opener.ledger(), decision())
    assert opener.restart().recall([scaler()])["web"].at == at(0)
    opener.close()


def test_a_dropped_option_of_the_address_is_named_with_a_remedy(pooled: str, tmp_path: Path) -> None:
    """Without its search path, the daemon would create its tables beside those of another program."""
    said = r"search_path of the address' options did not reach PostgreSQL .*; set them with ALTER ROLE"
    with pytest.raises(StateError, match=said):
        State.open(f"{pooled}?options=-csearch_path%3Dother", tmp_path, Retention())


def test_a_pooler_of_transactions_is_refused(postgresql: str, folder: Path, tmp_path: Path) -> None:
    """Its sessions would get the limits of other daemons. The refused state has no tables."""
    state = empty_state(postgresql)
    refused = pytest.raises(
        StateError, match=r"a pooler shares sessions between transactions, .* set pool_mode = session"
    )
    with running_pgbouncer(state, folder, mode="transaction") as url, refused:
        State.open(url, tmp_path, Retention())
    with databases.opened(databases.locate(state, tmp_path)) as connection:
        tables = connection.exec_driver_sql("SELECT count(*) FROM pg_tables WHERE schemaname = current_user")
        assert tables.scalar_one() == 0
