"""PostgreSQL through a pooler of sessions that drops what a connection asks for at its start."""

import shutil
import tempfile
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from autoscaler.errors import StateError
from autoscaler.record import Retention, State
from autoscaler.record import database as databases
from tests.record.conftest import Opener
from tests.record.postgresql import empty_state
from tests.record.samples import at, decision, keep, scaler
from tests.servers.pgbouncer import running_pgbouncer

pytestmark = pytest.mark.slow


@pytest.fixture
def pooled(postgresql: str) -> Iterator[str]:
    """`state.url` of an empty state."""
    folder = Path(tempfile.mkdtemp(prefix="autoscaler-pgbouncer-"))  # pytest's own is closed to the user postgres
    folder.chmod(0o755)
    with running_pgbouncer(empty_state(postgresql), folder) as url:
        yield url
    shutil.rmtree(folder)


def test_a_session_has_its_limits(pooled: str, tmp_path: Path) -> None:
    """Else a cycle waits for another's rows for ever, and a daemon that stands still keeps its own locked."""
    engine = databases.connect(databases.locate(pooled, tmp_path), idle=timedelta(seconds=15))
    with engine.connect() as connection:
        connection.rollback()  # what a transaction has set would end with it
        names = ("lock_timeout", "idle_in_transaction_session_timeout")
        assert [connection.exec_driver_sql(f"SHOW {name}").scalar_one() for name in names] == ["5s", "15s"]
    engine.dispose()


def test_a_state_is_kept(pooled: str, tmp_path: Path) -> None:
    opener = Opener(pooled, tmp_path / "state")
    keep(opener.ledger(), decision())
    assert opener.restart().recall([scaler()])["web"].at == at(0)
    opener.close()


def test_an_option_of_the_address_that_is_dropped_is_named_with_what_to_do(pooled: str, tmp_path: Path) -> None:
    """A search path that is not followed would make the state's tables beside those of another program."""
    said = r"search_path of the address' options did not reach PostgreSQL; .*: set them with ALTER ROLE"
    with pytest.raises(StateError, match=said):
        State.open(f"{pooled}?options=-csearch_path%3Dother", tmp_path, Retention())
