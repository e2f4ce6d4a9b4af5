"""What fails while it is written: memory and disk must not come to disagree."""

import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event
from sqlalchemy.exc import OperationalError

from autoscaler.decide import remember
from autoscaler.errors import StateError
from autoscaler.model import History, Intent
from autoscaler.record import Store
from tests.record.conftest import Opener
from tests.record.samples import at, decision, keep, observation, rising, scaler, written

ROOT = Path(__file__).parents[2]
FULL = "PRAGMA max_page_count = 1"  # SQLite then says what it says on a full disk: SQLITE_FULL
ROOM_AGAIN = "PRAGMA max_page_count = 1000000"
READ_ONLY = "PRAGMA query_only = ON"
WRITABLE = "PRAGMA query_only = OFF"


def pragma(store: Store, statement: str) -> None:
    """Run a PRAGMA on the one connection that a single thread uses."""
    with store._engine.connect() as connection:
        connection.exec_driver_sql(statement)


@pytest.mark.parametrize(
    ("broken", "repaired", "said"), [(FULL, ROOM_AGAIN, "the disk is full"), (READ_ONLY, WRITABLE, "read-only")]
)
def test_a_record_that_fails_leaves_the_intent_unfinished(
    sqlite_opener: Opener, broken: str, repaired: str, said: str
) -> None:
    """The size was written and its scale event was not: the next cycle must hear of it, not only the next daemon."""
    store = sqlite_opener.store()
    keep(store, decision(0))
    before = store.recall([scaler()])["web"]
    store.intend([rising(15)])
    pragma(store, broken)
    large = {"web": observation(replicas=2000)}
    with pytest.raises(StateError, match=said):
        store.record(large, [written(rising(15))])
    remembered = store.recall([scaler()])["web"]
    assert remembered.unfinished == Intent(8, 5, at(15))
    assert (remembered.recommendations, remembered.scale_ups) == (before.recommendations, ())
    pragma(store, repaired)
    keep(store, decision(30))
    expected = remember(scaler(), remembered, decision(30))
    assert store.recall([scaler()]) == {"web": expected}
    sqlite_opener.close()
    assert sqlite_opener.store().recall([scaler()]) == {"web": expected}


def test_an_intent_that_fails_is_forgotten(sqlite_opener: Opener) -> None:
    """Nothing was written to the target then, so that nothing can be unfinished."""
    store = sqlite_opener.store()
    keep(store, decision(0))
    before = store.recall([scaler()])
    pragma(store, READ_ONLY)
    with pytest.raises(StateError, match="read-only"):
        store.intend([rising(15)])
    assert store.recall([scaler()]) == before


def test_an_autoscaler_that_could_not_be_created_is_created_later(sqlite_opener: Opener) -> None:
    """Its row went with the failed transaction; one remembered in memory alone would own rows of nobody."""
    store = sqlite_opener.store()
    store.recall([scaler()])
    pragma(store, READ_ONLY)
    with pytest.raises(StateError):
        store.record({"web": observation()}, [decision(0)])
    pragma(store, WRITABLE)
    keep(store, decision(15))
    sqlite_opener.close()
    assert sqlite_opener.store().recall([scaler()]) == {"web": remember(scaler(), History(), decision(15))}


def test_a_commit_that_reports_failure_and_happened_is_believed_by_what_is_on_the_disk(
    opener: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A connection can break after the commit reached the server: memory may not stay at what was before."""
    store = opener.store()
    keep(store, decision(0))
    commit: Callable[[Any], None] = store._engine.dialect.do_commit

    def commit_and_fail(connection: Any) -> None:
        commit(connection)
        raise OperationalError("COMMIT", None, ConnectionResetError("connection lost"))

    store.recall([scaler()])
    with monkeypatch.context() as patch:
        patch.setattr(store._engine.dialect, "do_commit", commit_and_fail)
        with pytest.raises(StateError, match="connection lost"):
            store.record({"web": observation()}, [written(rising(15))])
    expected = remember(scaler(), remember(scaler(), History(), decision(0)), written(rising(15)))
    assert store.recall([scaler()]) == {"web": expected}
    keep(store, decision(30))
    assert [made.now for made in store.decisions("web")] == [at(30), at(15), at(0)]


def test_a_failure_in_the_middle_keeps_no_half(opener: Opener) -> None:
    """A decision without what it adds to memory, or that without the decision, would be a history that never was."""
    store = opener.store()
    keep(store, decision(0))
    before = store.recall([scaler()])

    def refuse(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        if statement.startswith("UPDATE autoscaler"):
            raise OperationalError(statement, None, ConnectionResetError("connection lost"))

    event.listen(store._engine, "before_cursor_execute", refuse)
    with pytest.raises(StateError):
        store.record({"web": observation()}, [written(rising(15))])
    event.remove(store._engine, "before_cursor_execute", refuse)
    assert store.recall([scaler()]) == before
    assert store.decisions("web") == [decision(0)]
    assert store.events("web") == []
    assert store.latest() == {"web": decision(0)}


@pytest.mark.slow
def test_an_intent_survives_kill_9(sqlite_opener: Opener) -> None:
    """The daemon is killed between the write to the target and the record of it."""
    program = (
        "import os, signal; from tests.record.conftest import Opener; from tests.record.samples import rising, scaler; "
        "from pathlib import Path; import sys; store = Opener(None, Path(sys.argv[1])).store(); "
        "store.recall([scaler()]); store.intend([rising()]); os.kill(os.getpid(), signal.SIGKILL)"
    )
    command = [sys.executable, "-c", program, str(sqlite_opener.folder)]
    assert subprocess.run(command, cwd=ROOT, timeout=60, check=False).returncode == -signal.SIGKILL
    assert sqlite_opener.store().recall([scaler()])["web"].unfinished == Intent(8, 5, at(0))
