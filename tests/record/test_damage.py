"""Bytes that a failing disk changed affect one autoscaler, and the operator gets a clear message."""

import random
from collections.abc import Callable

import pytest
from msgspec.structs import replace
from sqlalchemy import select, update

from autoscaler.errors import StateError
from autoscaler.model import Direction, History, ManualControls, Observed, Pause, Sighting, TargetRef
from autoscaler.record import schema
from autoscaler.record.archive import Archive
from autoscaler.record.binary import pack, unpack
from autoscaler.record.evaluation import COLUMNS
from autoscaler.record.ledger import Ledger
from autoscaler.record.rows import Row, pack_rows, rows_by_id
from autoscaler.target.scaled import AS_WRITTEN
from tests.record.conftest import Opener
from tests.record.samples import FLEET, at, count_blocks, decision, keep, observation, rising, save, scaler
from tests.steering import steer

NAMES = ("fine", "hurt", "well")
ALL = list[Callable[[Archive, str], object]](
    [
        lambda archive, name: list(archive.records(name)),
        lambda archive, name: archive.record_at(name),
        lambda archive, name: archive.series(name),
    ]
)
"""Functions that read one autoscaler's cycles."""


def id_of(ledger: Ledger, name: str) -> int:
    with ledger._context.readers.begin() as connection:
        query = select(schema.autoscaler.c.id).where(schema.autoscaler.c.name == name)
        return int(connection.execute(query).scalar_one())


def hurt_rows(ledger: Ledger, change: Callable[[Row], Row]) -> None:
    """Change the rows of one autoscaler in every block."""
    owner_id = id_of(ledger, "hurt")
    with ledger._context.database.writing() as connection:
        for block in connection.execute(select(schema.block)).all():
            rows = dict[int, list[Row]]()
            for key, found in rows_by_id(block.body):
                assert isinstance(found, list)
                rows[key] = [change(row) for row in found] if key == owner_id else found
            this = update(schema.block).where(schema.block.c.id == block.id)
            connection.execute(this.values(body=pack_rows(rows)))


def hurt_blocks(ledger: Ledger, body: bytes) -> None:
    """Replace the packed blocks."""
    with ledger._context.database.writing() as connection:
        connection.execute(update(schema.block).where(schema.block.c.packed).values(body=body))


@pytest.mark.parametrize("read", ALL)
def test_a_damaged_block_affects_only_its_own_time(
    opener: Opener, short_blocks: int, read: Callable[[Archive, str], object]
) -> None:
    """What was recorded later is shown. The shard continues, because its memory is in another table."""
    ledger = opener.ledger()
    for cycle in range(short_blocks + 1):
        keep(ledger, *(decision(15 * cycle, name) for name in NAMES))
    hurt_blocks(ledger, b"nonsense")
    archive = opener.archive()
    assert archive.latest().keys() == set(NAMES)
    later = at(15 * short_blocks)
    for name in NAMES:
        newest = archive.record_at(name)
        assert newest is not None
        assert newest.decision.now == later
        assert [each.decision.now for each in archive.records(name, later)] == [later]
        assert [each.time for each in archive.series(name, later)] == [later]
        if read is not ALL[1]:  # the newest cycle is in no block
            with pytest.raises(StateError, match=rf"autoscaler '{name}': .*restore a backup"):
                read(archive, name)
    assert opener.restart().recall([scaler("hurt")])["hurt"].at == later


NONSENSE: dict[str, Callable[[Row], Row]] = {
    "bytes": lambda row: replace(row, columns=(b"nonsense",) * COLUMNS),
    "another column's bytes": lambda row: replace(row, columns=tuple(reversed(row.columns))),
    "a time before that cannot be": lambda row: replace(row, since=2**62),
    "a specification that is not there": lambda row: replace(row, spec=99),
    "a time that cannot be": lambda row: replace(row, at=2**62),
}


def without_values(history: History) -> History:
    """Return the history without the metrics of its status, which are in the page alone."""
    return replace(history, hpa=replace(history.hpa, status=replace(history.hpa.status, metrics=())))


@pytest.mark.parametrize("change", NONSENSE.values(), ids=NONSENSE)
def test_a_damaged_row_affects_only_the_history_of_its_own_autoscaler(
    opener: Opener, change: Callable[[Row], Row]
) -> None:
    """The rows of 63 others are in the same page."""
    ledger = opener.ledger()
    keep(ledger, *(decision(0, name) for name in NAMES))
    before = ledger.recall([scaler(name) for name in NAMES])
    hurt_rows(ledger, change)
    archive = opener.archive()
    for read in ALL:
        assert [bool(read(archive, name)) for name in ("fine", "well")] == [True, True]
    with pytest.raises(StateError, match="autoscaler 'hurt': "):
        list(archive.records("hurt"))
    assert archive.latest().keys() >= {"fine", "well"}
    ledger = opener.restart()
    after = ledger.recall([scaler(name) for name in NAMES])
    assert after == {**before, "hurt": after["hurt"]}
    assert without_values(after["hurt"]) == without_values(before["hurt"])


@pytest.mark.parametrize("change", NONSENSE.values(), ids=NONSENSE)
def test_a_damaged_row_does_not_block_packing(opener: Opener, short_blocks: int, change: Callable[[Row], Row]) -> None:
    """If packing failed for ever, pages would fill the disk."""
    ledger = opener.ledger()
    keep(ledger, *(decision(0, name) for name in NAMES))
    hurt_rows(ledger, change)
    for cycle in range(1, 2 * short_blocks + 1):
        keep(ledger, *(decision(15 * cycle, name) for name in NAMES))
    assert count_blocks(ledger, packed=False) <= short_blocks
    archive = opener.archive()
    assert [len(list(archive.records(name))) for name in ("fine", "well")] == [2 * short_blocks + 1] * 2
    assert opener.restart().recall([scaler(name) for name in NAMES]).keys() == set(NAMES)


def assert_only_hurt(ledger: Ledger, remedy: str = "restore a backup.*autoscaler forget hurt") -> None:
    """Assert that one of the three is refused with a reason. The others are decided and recorded in each cycle."""
    for seconds in (15, 30):
        found = ledger.recall([scaler(name) for name in NAMES])
        assert found.keys() == {"fine", "well"}
        assert all(history.hpa.recommendations for history in found.values())
        with pytest.raises(StateError, match=f"autoscaler 'hurt': .*{remedy}"):
            found["hurt"]
        save(ledger, decision(seconds, "fine"), decision(seconds, "well"))


def hurt_memory(ledger: Ledger) -> None:
    with ledger._context.database.writing() as connection:
        mine = schema.autoscaler.c.id == id_of(ledger, "hurt")
        connection.execute(update(schema.autoscaler).where(mine).values(body=b"nonsense"))


@pytest.mark.parametrize("intended", [False, True])
def test_a_damaged_memory_affects_only_its_own_autoscaler(opener: Opener, *, intended: bool) -> None:
    """It is not scaled: a shard that treated its memory as empty would forget windows and rate limits."""
    ledger = opener.ledger()
    keep(ledger, *(decision(0, name) for name in NAMES))
    if intended:
        ledger.recall([scaler(name) for name in NAMES])
        ledger.intend([rising(15, name=name) for name in NAMES])
    hurt_memory(ledger)
    assert_only_hurt(opener.restart())


def test_a_damaged_memory_stays_refused_when_an_autoscaler_is_added(opener: Opener) -> None:
    """A reload reads the new autoscaler's memory only."""
    keep(opener.ledger(), *(decision(0, name, name) for name in NAMES))
    ledger = opener.restart()
    hurt_memory(ledger)
    for names in (NAMES, (*NAMES, "added")):
        scalers = [scaler(name, name) for name in names]
        ledger.follow(scalers)
        assert ledger.recall(scalers).keys() == {*names} - {"hurt"}


def test_a_running_shard_rewrites_a_damaged_memory(opener: Opener) -> None:
    """The shard reads the row again only if its own copy may be older."""
    ledger = opener.ledger()
    keep(ledger, *(decision(0, name) for name in NAMES))
    hurt_memory(ledger)
    keep(ledger, *(decision(15, name) for name in NAMES))
    assert opener.restart().recall([scaler(name) for name in NAMES]).keys() == set(NAMES)


def test_a_damaged_specification_affects_only_history(opener: Opener) -> None:
    ledger = opener.ledger()
    keep(ledger, *(decision(0, name) for name in NAMES))
    with ledger._context.database.writing() as connection:
        mine = schema.spec.c.autoscaler_id == id_of(ledger, "hurt")
        connection.execute(update(schema.spec).where(mine).values(body=b"nonsense"))
    assert opener.restart().recall([scaler(name) for name in NAMES]).keys() == set(NAMES)


@pytest.mark.parametrize("lost", [False, True])
def test_a_damaged_page_affects_only_history(opener: Opener, *, lost: bool) -> None:
    """It has the newest cycle of up to 64 autoscalers. All of them continue."""
    ledger = opener.ledger()
    keep(ledger, *(decision(0, name) for name in NAMES))
    before = ledger.recall([scaler(name) for name in NAMES])
    with ledger._context.database.writing() as connection:
        connection.execute(schema.block.delete() if lost else update(schema.block).values(body=b"nonsense"))
    ledger = opener.restart()
    after = ledger.recall([scaler(name) for name in NAMES])
    assert after == {name: without_values(before[name]) for name in NAMES}
    assert opener.archive().latest().keys() == set(NAMES)
    keep(ledger, *(decision(15, name) for name in NAMES))


def test_packing_leaves_a_damaged_page_out(opener: Opener, short_blocks: int) -> None:
    """The shard has its own memory; only the history of that hour has a gap."""
    ledger = opener.ledger()
    keep(ledger, *(decision(0, name) for name in NAMES))
    with ledger._context.database.writing() as connection:
        connection.execute(update(schema.block).values(body=b"nonsense"))
    for cycle in range(1, 2 * short_blocks + 1):
        keep(ledger, *(decision(15 * cycle, name) for name in NAMES))
    archive = opener.archive()
    assert [list(archive.records(name))[-1].decision.now for name in NAMES] == [at(30 * short_blocks)] * 3
    assert opener.restart().recall([scaler(name) for name in NAMES]).keys() == set(NAMES)


def test_a_damaged_pause_does_not_count_as_no_pause(opener: Opener) -> None:
    """A write would surprise the operator who paused the autoscaler. The others are scaled."""
    state = opener.state()
    ledger = state.ledger(FLEET)
    keep(ledger, *(decision(0, name) for name in NAMES))
    for name in NAMES:
        steer(state, name, ManualControls(Pause(Direction.BOTH, "ann", "", at(0), None)))
    with ledger._context.database.writing() as connection:
        hurt = (schema.kept.c.kind == schema.STEERING) & (schema.kept.c.key == "hurt")
        connection.execute(update(schema.kept).where(hurt).values(body=b"nonsense"))
    ledger = opener.restart()
    assert_only_hurt(ledger, "pause or override the autoscaler again")
    assert opener.archive().steering().keys() == {"fine", "well"}


def test_damaged_sightings_are_reported_once_and_begin_anew(opener: Opener) -> None:
    """They only say since when an instance is known. An hour later they no longer matter."""
    ledger = opener.ledger()
    seen = {"i-0": Sighting(at(0), True, at(0))}
    for name in NAMES:
        keep(ledger, decision(0, name, name))
        save(ledger, decision(0, name, name), sightings=seen)
    with ledger._context.database.writing() as connection:
        hurt = schema.kept.c.key == AS_WRITTEN(TargetRef(FLEET, "hurt"))
        connection.execute(update(schema.kept).where(hurt).values(body=b"nonsense"))
    ledger = opener.restart()
    scalers = [scaler(name, name) for name in NAMES]
    targets = [each.target for each in scalers]
    assert [target.name for target in ledger.sightings(targets)] == ["fine", "well"]
    found = ledger.recall(scalers)
    assert found.keys() == {"fine", "well"}
    with pytest.raises(StateError, match="the next cycle begins it anew"):
        found["hurt"]
    observed = Observed({"fine": observation()}, dict.fromkeys(targets, seen))
    ledger.record({"fine": scalers[0]}, observed, [decision(15, "fine", "fine")])
    assert ledger.recall(scalers).keys() == set(NAMES)
    assert opener.restart().sightings(targets).keys() == set(targets)


def test_damaged_values_of_an_adapter_affect_only_their_own_target(opener: Opener) -> None:
    """They concern writes of the last minute."""
    ledger = opener.ledger()
    scalers = {name: scaler(name, name) for name in NAMES}
    ledger.follow(scalers.values())
    for each in scalers.values():
        ledger.save_adapter_memory(each.target, {"size": 3})
    with ledger._context.database.writing() as connection:
        hurt = schema.kept.c.key == AS_WRITTEN(scalers["hurt"].target)
        connection.execute(update(schema.kept).where(hurt).values(body=b"nonsense"))
    ledger = opener.restart()
    ledger.follow(scalers.values())
    assert [target.name for target in ledger.adapter_memory()] == ["fine", "well"]
    found = ledger.recall(list(scalers.values()))
    with pytest.raises(StateError, match="what the adapter saved of its target cannot be read"):
        found["hurt"]
    assert ledger.recall(list(scalers.values())).keys() == set(NAMES)


def test_no_changed_byte_of_a_block_goes_unnoticed() -> None:
    """The changed value would be shown as the decision."""
    chance = random.Random(1)
    data = bytes(chance.randrange(256) for _ in range(400))
    packed, noticed = pack(data), 0
    for place in range(len(packed)):
        changed = bytearray(packed)
        changed[place] ^= 1 << chance.randrange(8)
        try:
            assert unpack(bytes(changed)) == data  # a bit of the header without a meaning
        except StateError:
            noticed += 1
    assert noticed > 400


def test_a_changed_length_does_not_use_all_memory() -> None:
    """Four bytes of a frame's header can announce terabytes."""
    head = b"\x28\xb5\x2f\xfd\xe0" + (2**50).to_bytes(8, "little")
    with pytest.raises(StateError, match="cannot be unpacked"):
        unpack(head + b"\x01\x00\x00")
