"""A case has observations and decisions, and gives the same decisions on any machine."""

import gzip
import json
import random
from copy import deepcopy
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import pytest

from autoscaler.errors import TargetDeferred, TargetUnavailable
from autoscaler.model import (
    Conflict,
    Direction,
    Failure,
    Held,
    HoldReason,
    Observation,
    Override,
    Pause,
    Proposed,
    Steering,
    Unchanged,
)
from autoscaler.whatif.case.reading import CasePast
from autoscaler.whatif.case.wire import MOST_LINE_BYTES, CaseError
from autoscaler.whatif.case.writing import write_case
from autoscaler.whatif.past.past import Cycle, FindingKind
from autoscaler.whatif.replay.repetition import repeat
from tests.decide.build import CPU_60, NOW, QUEUE_15, samples, scaler, state, value
from tests.replaced import replace
from tests.whatif.pasts import Life, compared


def eventful() -> Life:
    """All kinds of observations and outcomes."""
    life = Life(scaler=scaler(CPU_60, QUEUE_15, maximum=20))

    def see(percent: int, queue: int, outcome: Any = None) -> None:
        readings = samples([percent * 10] * life.size, life.now), value(queue * 1000)
        life.see(Observation(state(life.size), readings), outcome)

    see(60, 30)
    see(90, 30, TargetUnavailable("no answer"))
    see(90, 30, TargetDeferred("no time"))
    see(90, 30, Held(HoldReason("Rollout", "under way")))
    see(90, 30, Conflict("another writer"))
    see(90, 30, Unchanged())
    see(90, 30, Proposed(3))
    see(90, 30)
    life.unreadable(TargetUnavailable("throttled \ud800"))
    life.see(Observation(state(life.size), (Failure("no answer"), value(400_000))))
    life.steer(
        Steering(
            Pause(Direction.IN, "ann", "night", NOW, None), Override(2, 9, "bob", "sale", NOW, NOW + timedelta(hours=1))
        )
    )
    see(20, 10)
    life.scaler = replace(life.scaler, max_replicas=9)
    see(20, 10)
    return life


def written(folder: Path, cycles: list[Cycle], **more: Any) -> Path:
    file = folder / "case.jsonl.gz"
    write_case(file, "web", NOW, NOW + timedelta(hours=1), cycles, **more)
    return file


def texts_of(file: Path) -> str:
    return gzip.decompress(file.read_bytes()).decode()


def comparable(cycle: Cycle) -> Any:
    """Errors are equal if they have the same class and message."""

    def plain(each: Any) -> Any:
        return (type(each), str(each)) if isinstance(each, Exception) else each

    seen, made = cycle.observation, cycle.decision
    assert made is not None
    return (
        cycle.at,
        plain(seen.target),
        tuple(map(plain, seen.readings)),
        seen.victims,
        replace(made, outcome=None),
        plain(made.outcome),
        cycle.history,
        cycle.scaler,
    )


def test_every_value_is_read_as_it_was_written(tmp_path: Path) -> None:
    life = eventful()
    past = CasePast(written(tmp_path, life.cycles))
    assert [comparable(each) for each in past.cycles()] == [comparable(each) for each in life.cycles]
    assert (past.name, past.header.anonymized) == ("web", False)


def test_a_case_gives_the_same_decisions(tmp_path: Path) -> None:
    life = eventful()
    found = compared(list(CasePast(written(tmp_path, life.cycles)).cycles()))
    assert (found.same, found.compared) == (len(life.cycles), len(life.cycles))
    assert FindingKind.DIFFERENCE not in {each.kind for each in found.findings}


def test_only_its_owner_can_read_it(tmp_path: Path) -> None:
    assert written(tmp_path, eventful().cycles).stat().st_mode & 0o777 == 0o600


def test_an_existing_file_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "case.jsonl.gz").write_text("mine")
    with pytest.raises(CaseError, match="already exists"):
        written(tmp_path, eventful().cycles)
    assert (tmp_path / "case.jsonl.gz").read_text() == "mine"


def test_without_a_cycle_there_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(CaseError, match="no cycle"):
        written(tmp_path, [])
    assert list(tmp_path.iterdir()) == []


def test_a_missing_folder_is_an_error_with_its_reason(tmp_path: Path) -> None:
    with pytest.raises(CaseError, match=r"case cannot be written: No such file or directory$"):
        write_case(tmp_path / "no" / "case", "web", NOW, NOW, [])


def lines_of(file: Path) -> list[Any]:
    return [json.loads(line) for line in texts_of(file).splitlines()]


def broken(folder: Path, lines: list[Any]) -> Path:
    file = folder / "broken.jsonl.gz"
    file.write_bytes(gzip.compress("".join(json.dumps(line) + "\n" for line in lines).encode(), compresslevel=1))
    return file


def read(file: Path) -> str:
    """The error of reading and deciding all of it."""
    with pytest.raises(CaseError) as caught:
        decided(file)
    return str(caught.value)


def decided(file: Path) -> None:
    """Decide all of it again. Raises CaseError."""
    past = CasePast(file)
    with past.deciding():
        list(repeat(past.cycles()))


def test_a_file_that_is_no_case_is_refused(tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.write_text("{}")
    assert "it is not gzip's" in read(plain)
    assert "its first line has no `case`" in read(broken(tmp_path, [{"a": 1}]))
    assert "its first line has no `case`" in read(broken(tmp_path, []))
    assert "cannot be read" in read(tmp_path / "absent")
    assert "cannot be read" in read(tmp_path)


def test_a_newer_format_is_refused_with_what_to_do(tmp_path: Path) -> None:
    assert "newer version" in read(broken(tmp_path, [{"case": 2}]))


def test_a_case_that_is_cut_off_says_after_which_line(tmp_path: Path) -> None:
    file = written(tmp_path, eventful().cycles)
    file.write_bytes(file.read_bytes()[:-200])
    assert "is cut off" in read(file)


def test_damaged_bytes_are_found(tmp_path: Path) -> None:
    file = written(tmp_path, eventful().cycles)
    data = bytearray(file.read_bytes())
    for place in range(len(data) // 2, len(data) // 2 + 40):
        data[place] ^= 0x55
    file.write_bytes(bytes(data))
    assert "damaged" in read(file) or "line" in read(file)


def test_a_line_without_an_end_is_refused(tmp_path: Path) -> None:
    """Before it fills the memory."""
    file = tmp_path / "bomb"
    with gzip.open(file, "wb") as bomb:
        bomb.write(json.dumps(lines_of(written(tmp_path, eventful().cycles))[0]).encode() + b"\n")
        for _ in range(MOST_LINE_BYTES // 2**20 + 2):
            bomb.write(b" " * 2**20)
    assert read(file).endswith(f"line 2: it is longer than {MOST_LINE_BYTES:,} bytes")


@pytest.mark.parametrize(
    ("place", "value", "expected"),
    [
        (("at",), "2026-01-01T12:00:00", "no offset"),
        (("at",), "0001-01-01T12:00:00Z", "a time of the year 1 is not between 1970 and 8999"),
        (("at",), 5, "line 3: "),
        (
            ("observation", "target"),
            {"kind": "TargetState", "replicas": -1, "status_replicas": 0, "instances": []},
            "a size",
        ),
        (("observation", "target"), {"kind": "planet"}, "line 3: "),
        (("observation", "readings"), [], "0 readings for 2 metrics"),
        (("history", "recommendations"), [{"replicas": 1, "at": "2026-01-01T12:00:00"}], "nothing can be made of"),
        (("history",), [], "line 3: "),
        (("decision", "conditions"), None, "line 3: "),
    ],
)
def test_wrong_values_are_named_by_their_line(
    tmp_path: Path, place: tuple[str, ...], value: Any, expected: str
) -> None:
    lines = lines_of(written(tmp_path, eventful().cycles))
    inner = lines[2]["cycle"]
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    error = read(broken(tmp_path, lines))
    assert expected in error
    assert "line 3" in error


def test_misplaced_lines_are_refused(tmp_path: Path) -> None:
    lines = lines_of(written(tmp_path, eventful().cycles))
    assert "before the configuration" in read(broken(tmp_path, [lines[0], lines[2]]))
    assert "either" in read(broken(tmp_path, [*lines[:2], {}]))
    assert "line 3" in read(broken(tmp_path, [*lines[:2], []]))
    deep = tmp_path / "deep"
    deep.write_bytes(gzip.compress(json.dumps(lines[0]).encode() + b"\n" + b"[" * 100_000 + b"\n"))
    assert "not valid JSON" in read(deep)


def test_odd_values_anywhere_are_read_or_refused(tmp_path: Path) -> None:
    """Some values of a case are replaced, eighty times."""
    lines, chance = lines_of(written(tmp_path, eventful().cycles)), random.Random(13)
    refused = 0
    for _ in range(80):
        damaged = json.loads(json.dumps(lines))
        for _ in range(chance.randint(1, 3)):
            damage(damaged, chance)
        try:
            decided(broken(tmp_path, damaged))
        except CaseError:
            refused += 1
    assert 10 < refused < 75


ODD: Final[tuple[Any, ...]] = (
    None, True, False, -1, 0, 2**31, 10**30, 10**400, 1e308, -1.5, "", "x", "\ud800", "PT0S", "-PT5S", "P999999999D",
    "Pods", NOW.isoformat(), "0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "2026-01-01T12:00:00", [], {}, [[]],
)  # fmt: skip


def damage(value: Any, chance: random.Random) -> None:
    """Replace a value anywhere in it, mostly by one of the same type: others are soon refused."""
    while True:
        key = chance.choice(list(value) if isinstance(value, dict) else range(len(value)))
        known = value[key]
        if not isinstance(known, dict | list) or not known or chance.random() < 0.02:
            alike = [each for each in ODD if type(each) is type(known)]
            value[key] = deepcopy(chance.choice(alike if alike and chance.random() < 0.8 else ODD))
            return
        value = known
