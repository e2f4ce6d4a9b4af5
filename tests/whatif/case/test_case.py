"""A case holds what was seen and decided, and gives the same decisions anywhere."""

import gzip
import json
import random
from copy import deepcopy
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import pytest

from autoscaler.errors import MetricError, TargetDeferred, TargetUnavailable
from autoscaler.model import (
    Conflict,
    Direction,
    Held,
    HoldReason,
    Observation,
    Override,
    Pause,
    Proposed,
    Steering,
    Unchanged,
)
from autoscaler.whatif.case.errors import CaseError
from autoscaler.whatif.case.reading import CasePast
from autoscaler.whatif.case.writing import MOST_LINE_BYTES, write_case
from autoscaler.whatif.compare.comparison import compare
from autoscaler.whatif.past.past import FindingKind, Moment
from autoscaler.whatif.replay.replay import Load, Replay
from tests.decide.build import CPU_60, NOW, QUEUE_15, samples, scaler, state, value
from tests.replaced import replace
from tests.whatif.pasts import Life


def eventful() -> Life:
    """A bit of everything that a cycle can see and come to."""
    life = Life(scaler=scaler(CPU_60, QUEUE_15, maximum=20))

    def see(percent: int, queue: int, outcome: Any = None) -> None:
        readings = samples([percent * 10] * life.size, life.now), value(queue * 1000)
        life.see(Observation(state(life.size), readings), outcome)

    see(60, 30)
    see(90, 30, TargetUnavailable("no answer"))
    see(90, 30, TargetDeferred("no time"))
    see(90, 30, Held(HoldReason("Rollout", "under way")))
    see(90, 30, Conflict("somebody else"))
    see(90, 30, Unchanged())
    see(90, 30, Proposed(3))
    see(90, 30)
    life.unreadable(TargetUnavailable("throttled \ud800"))
    life.see(Observation(state(life.size), (MetricError("no answer"), value(400_000))))
    life.steer(
        Steering(
            Pause(Direction.IN, "ann", "night", NOW, None), Override(2, 9, "bob", "sale", NOW, NOW + timedelta(hours=1))
        )
    )
    see(20, 10)
    life.scaler = replace(life.scaler, max_replicas=9)
    see(20, 10)
    return life


def written(folder: Path, moments: list[Moment], **more: Any) -> Path:
    file = folder / "case.jsonl.gz"
    write_case(file, "web", NOW, NOW + timedelta(hours=1), moments, **more)
    return file


def texts_of(file: Path) -> str:
    return gzip.decompress(file.read_bytes()).decode()


def comparable(moment: Moment) -> Any:
    """Errors are equal when they are of one class and say the same."""

    def told(each: Any) -> Any:
        return (type(each), str(each)) if isinstance(each, Exception) else each

    seen, made = moment.observation, moment.decision
    assert made is not None
    return (
        moment.at,
        told(seen.target),
        tuple(map(told, seen.readings)),
        seen.victims,
        replace(made, outcome=None),
        told(made.outcome),
        moment.history,
        moment.scaler,
    )


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    """Every value, exactly."""
    life = eventful()
    past = CasePast(written(tmp_path, life.moments))
    assert [comparable(each) for each in past.moments()] == [comparable(each) for each in life.moments]
    assert (past.name, past.header.anonymized) == ("web", False)


def test_a_case_gives_the_same_decisions(tmp_path: Path) -> None:
    life = eventful()
    found = compare(CasePast(written(tmp_path, life.moments)), [], NOW, life.now)
    assert (found.same, found.compared) == (len(life.moments), len(life.moments))
    assert FindingKind.DIFFERENCE not in {each.kind for each in found.findings}


def test_its_owner_alone_may_read_it(tmp_path: Path) -> None:
    assert written(tmp_path, eventful().moments).stat().st_mode & 0o777 == 0o600


def test_a_file_that_is_there_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "case.jsonl.gz").write_text("mine")
    with pytest.raises(CaseError, match="already exists"):
        written(tmp_path, eventful().moments)
    assert (tmp_path / "case.jsonl.gz").read_text() == "mine"


def test_without_a_cycle_there_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(CaseError, match="no cycle"):
        written(tmp_path, [])
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(CaseError, match=r"case cannot be written: No such file or directory$"):
        write_case(tmp_path / "no" / "case", "web", NOW, NOW, [])


def lines_of(file: Path) -> list[Any]:
    return [json.loads(line) for line in texts_of(file).splitlines()]


def broken(folder: Path, lines: list[Any]) -> Path:
    file = folder / "broken.jsonl.gz"
    file.write_bytes(gzip.compress("".join(json.dumps(line) + "\n" for line in lines).encode(), compresslevel=1))
    return file


def read(file: Path) -> str:
    """What is wrong with it, by reading and deciding all of it."""
    with pytest.raises(CaseError) as caught:
        decided(file)
    return str(caught.value)


def decided(file: Path) -> Replay:
    """All of it decided again. Raises CaseError."""
    own, past = Replay(None, Load.RECORDED), CasePast(file)
    with past.deciding():
        for moment in past.moments():
            own.step(moment)
    return own


def test_a_file_that_is_no_case_is_told_so(tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.write_text("{}")
    assert "it is not gzip's" in read(plain)
    assert "its first line has no `case`" in read(broken(tmp_path, [{"a": 1}]))
    assert "its first line has no `case`" in read(broken(tmp_path, []))
    assert "cannot be read" in read(tmp_path / "absent")
    assert "cannot be read" in read(tmp_path)


def test_a_newer_case_names_the_remedy(tmp_path: Path) -> None:
    assert "newer version" in read(broken(tmp_path, [{"case": 2}]))


def test_a_case_that_is_cut_off_says_after_which_line(tmp_path: Path) -> None:
    file = written(tmp_path, eventful().moments)
    file.write_bytes(file.read_bytes()[:-200])
    assert "is cut off" in read(file)


def test_damaged_bytes_are_found(tmp_path: Path) -> None:
    file = written(tmp_path, eventful().moments)
    data = bytearray(file.read_bytes())
    for place in range(len(data) // 2, len(data) // 2 + 40):
        data[place] ^= 0x55
    file.write_bytes(bytes(data))
    assert "damaged" in read(file) or "line" in read(file)


def test_what_unpacks_without_end_is_broken_off(tmp_path: Path) -> None:
    """A line that never ends is not held in memory."""
    file = tmp_path / "bomb"
    with gzip.open(file, "wb") as bomb:
        bomb.write(json.dumps(lines_of(written(tmp_path, eventful().moments))[0]).encode() + b"\n")
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
            {"kind": "target", "replicas": -1, "status_replicas": 0, "instances": []},
            "a size",
        ),
        (("observation", "target"), {"kind": "planet"}, "line 3: "),
        (("observation", "readings"), [], "0 readings for 2 metrics"),
        (("history", "recommendations"), [{"replicas": 1, "at": "2026-01-01T12:00:00"}], "nothing can be made of"),
        (("history",), [], "line 3: "),
        (("decision", "conditions"), None, "line 3: "),
    ],
)
def test_values_that_are_wrong_are_told_by_their_line(
    tmp_path: Path, place: tuple[str, ...], value: Any, expected: str
) -> None:
    lines = lines_of(written(tmp_path, eventful().moments))
    inner = lines[2]["cycle"]
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    said = read(broken(tmp_path, lines))
    assert expected in said
    assert "line 3" in said


def test_lines_that_are_out_of_place_are_told(tmp_path: Path) -> None:
    lines = lines_of(written(tmp_path, eventful().moments))
    assert "before the configuration" in read(broken(tmp_path, [lines[0], lines[2]]))
    assert "either" in read(broken(tmp_path, [*lines[:2], {}]))
    assert "line 3" in read(broken(tmp_path, [*lines[:2], []]))
    deep = tmp_path / "deep"
    deep.write_bytes(gzip.compress(json.dumps(lines[0]).encode() + b"\n" + b"[" * 100_000 + b"\n"))
    assert "not valid JSON" in read(deep)


def test_no_value_in_the_place_of_another_costs_more_than_a_message(tmp_path: Path) -> None:
    """Each time some of a case's values are exchanged for odd ones."""
    lines, chance = lines_of(written(tmp_path, eventful().moments)), random.Random(13)
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
    """Exchange one value anywhere in it, mostly for another one of its type: others are soon refused."""
    while True:
        key = chance.choice(list(value) if isinstance(value, dict) else range(len(value)))
        known = value[key]
        if not isinstance(known, dict | list) or not known or chance.random() < 0.02:
            alike = [each for each in ODD if type(each) is type(known)]
            value[key] = deepcopy(chance.choice(alike if alike and chance.random() < 0.8 else ODD))
            return
        value = known
