"""A third party's adapter that answers for some targets with what it should not: its other targets go on."""

from pathlib import Path
from typing import Final

import pytest

from tests.daemon.hanging import install
from tests.daemon.running import autoscaler, running_daemon, write_config
from tests.daemon.state import assert_unbroken, records

pytestmark = pytest.mark.slow

_CODE: Final = """
from typing import ClassVar

from autoscaler.target import AdapterSettings, Hold, HoldReason, Instance, Limits, Phase
from autoscaler.target import TargetRef, TargetState, Written


def member(**fields):
    return Instance("a", Phase.RUNNING, True, **fields)


STATES = {
    "identity": lambda: TargetState(1, 1, (member(identities=frozenset({"a", None})),)),
    "text": lambda: TargetState("1", 1, ()),
    "huge": lambda: TargetState(2**70, 1, ()),
    "twice": lambda: TargetState(2, 2, (member(), member(detail="again"))),
    "hold": lambda: TargetState(1, 1, (), hold=Hold(HoldReason(None, None))),
    "limits": lambda: TargetState(1, 1, (), Limits(None, None)),
    "class": lambda: TargetState,
}
OUTCOMES = {"nothing": lambda size: None, "words": lambda size: Written(str(size)), "exit": lambda size: exit(3)}


class Odd:
    Settings: ClassVar = AdapterSettings
    target_keys: ClassVar = frozenset()

    @staticmethod
    def target_problem(target, settings):
        return None

    def __init__(self, context):
        self._written = context.state_dir / "written"

    def observe(self, targets, call):
        sound = lambda: TargetState(1, 1, (member(identities=frozenset({"a"})),))
        known = {target: STATES.get(target.name, sound)() for target in targets if target.name != "absent"}
        return known | {"stranger": None, TargetRef("third", "unasked"): sound()}

    def scale(self, target, change, call):
        with self._written.open("a") as written:
            written.write(target.name + "\\n")
        return OUTCOMES.get(target.name, Written)(change.size)
"""

UNREADABLE: Final = {
    "identity": "instances[0].identities is None, expected texts",
    "text": "replicas is '1', expected a whole number",
    "huge": "replicas is a whole number of 71 bits",
    "twice": "instances has 2 of the name 'a'",
    "hold": "hold.scale_out.reason is None",
    "limits": "limits.minimum is None",
    "class": "the answer is of the type type",
    "absent": "there is no answer for it, but 2 for other targets",
}
UNWRITABLE: Final = {
    "nothing": "the answer is None, expected Written, Unchanged, Held or Conflict",
    "words": "Written.size is '3'",
    "exit": "failed with SystemExit at ",
}


def test_a_good_target_is_decided_written_and_recorded_in_every_cycle(folder: Path, prometheus: str) -> None:
    """Each odd one says what was wrong, is not written to where it could not be read, and is recorded as well."""
    names = [*UNREADABLE, "good", *UNWRITABLE]
    scalers = [autoscaler(name, "vector(3)", adapter="third", syncPeriod="3s") for name in names]
    config = write_config(folder, prometheus, scalers, {"third": {"type": "odd"}})
    with running_daemon(config, env=install(folder, "odd", _CODE, "Odd")) as daemon:
        daemon.wait_for("decision", autoscaler="good", written=3, count=3)
        for name, said in UNREADABLE.items():
            line = daemon.wait_for("decision", autoscaler=name, reason="FailedGetScale")
            assert line["message"].startswith(f"third/{name}: {said}")
            assert "adapter 'third' of type 'odd' broke its contract, report it to its author" in line["message"]
        for name, said in UNWRITABLE.items():
            line = daemon.wait_for("decision", autoscaler=name, reason="FailedUpdateScale")
            assert said in line["message"]
        assert daemon.stop() == 0
        made = daemon.events("decision", autoscaler="good")
        assert {(line["desired"], line["written"]) for line in made} == {(3, 3)}
        for failure in ("cycle_failed", "autoscaler_failed", "write_not_recorded", "report_failed", "library_log"):
            assert daemon.events(failure) == []
    written = (folder / "state" / "adapters" / "third" / "written").read_text().splitlines()
    assert set(written) == {"good", *UNWRITABLE}
    recorded = {name: records(folder, name) for name in names}
    assert {name: len(each) for name, each in recorded.items()} == dict.fromkeys(names, len(made))
    assert written.count("good") == len(made)
    assert_unbroken(recorded["good"])
