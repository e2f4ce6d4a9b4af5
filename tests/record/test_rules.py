"""What rules remember and how they are configured outlasts a daemon that does not know the rule, or cannot read it."""

from datetime import timedelta
from typing import Any

import msgspec
import pytest

from autoscaler.decide import decide, remember
from autoscaler.errors import StateError, TargetUnavailable
from autoscaler.model import (
    Autoscaler,
    Decision,
    Memories,
    Observation,
    Observed,
    Rules,
    TargetState,
    UnknownRule,
    ValueReading,
)
from autoscaler.record.binary import Binary
from autoscaler.record.ledger import Ledger
from autoscaler.rules.brakes import BrakeMemory, Brakes
from autoscaler.rules.brakes.loss import LossBrake
from autoscaler.rules.drain import DrainRule
from tests.decisions import remembering
from tests.record.conftest import Opener
from tests.record.samples import QUEUE, START, decision, keep, scaler
from tests.replaced import replace

MEMORIES = Binary[Memories](Memories)
BRAKES = Binary[BrakeMemory](BrakeMemory).dump(BrakeMemory(running=5))
KEPT = b"\x81\xa5until\xd9 what only that rule can read \xff\x00"
"""The memory of the rule "weather", which is not installed."""
WARNING = "the state has a memory of the rule 'weather', which is not installed; it is kept and ignored"
SEEN = Observation(TargetState(5, 5, ()), (ValueReading((5000,)),))


def plain(name: str = "web", *rules: Brakes | DrainRule | UnknownRule) -> Autoscaler:
    return replace(scaler(name), metrics=(QUEUE,), rules=Rules(rules))


def a_cycle(ledger: Ledger, one: Autoscaler, seconds: float, seen: Observation = SEEN) -> Decision:
    """Run a cycle that writes nothing."""
    history = ledger.recall([one])[one.name]
    made = decide(one, seen, history, START + timedelta(seconds=seconds))
    assert made.change is None
    assert ledger.intend([made]) == {}
    assert ledger.record({one.name: one}, Observed({one.name: seen}), [made]) == {}
    return made


def with_weather(opener: Opener, one: Autoscaler) -> None:
    """Record a decision of a daemon that has the rule "weather"."""
    made = remembering(decision(), rules={"weather": KEPT})
    keep(opener.ledger(), made, scalers=[one])


def test_the_memory_of_a_rule_that_is_not_installed_is_kept_and_said(opener: Opener) -> None:
    """A downgrade, or a package that is missing for a day, must not lose what the rule needs afterwards."""
    with_weather(opener, plain())
    for seconds in (15, 30):
        ledger = opener.restart()
        assert ledger.recall([plain()])["web"].rules == Memories({"weather": KEPT})
        made = a_cycle(ledger, plain(), seconds)
        assert made.warnings == (WARNING,)
    assert opener.restart().recall([plain()])["web"].rules == Memories({"weather": KEPT})
    assert opener.archive().latest()["web"].warnings == (WARNING,)
    (_, *cycles) = opener.archive().records("web")
    for each in cycles:
        assert each.observation is not None
        assert each.history is not None
        assert decide(each.scaler, each.observation, each.history, each.decision.now) == each.decision


def test_the_memory_of_a_rule_that_is_not_installed_stands_beside_those_that_are(opener: Opener) -> None:
    """It is ignored: the decision is that of an autoscaler without it, apart from the warning."""
    one = plain("web", Brakes(loss=LossBrake()))
    with_weather(opener, one)
    ledger = opener.restart()
    history = ledger.recall([one])["web"]
    without = decide(one, SEEN, replace(history, rules=Memories()), START + timedelta(seconds=15))
    made = a_cycle(ledger, one, 15)
    assert made == remembering(
        replace(without, warnings=(WARNING,)), rules={**without.remembered.rules.of, "weather": KEPT}
    )
    assert opener.restart().recall([one])["web"] == remember(one, history, made)


def test_the_memory_of_a_rule_that_is_not_installed_is_kept_while_the_target_cannot_be_read(opener: Opener) -> None:
    with_weather(opener, plain())
    ledger = opener.restart()
    blind = replace(SEEN, target=TargetUnavailable("no answer"))
    made = decide(plain(), blind, ledger.recall([plain()])["web"], START + timedelta(seconds=15))
    assert made.remembered.rules == Memories({"weather": KEPT})


def test_the_settings_of_a_rule_that_is_not_installed_are_kept(opener: Opener) -> None:
    """The history of a newer daemon, or of one with another rule, is read and backed up as it was written."""
    one = plain("web", UnknownRule("weather", KEPT), Brakes(loss=LossBrake()))
    binary = Binary[Autoscaler](Autoscaler)
    dumped = binary.dump(one)
    assert binary.load(dumped) == one
    assert binary.dump(binary.load(dumped)) == dumped
    keep(opener.ledger(), decision(), scalers=[one])
    opener.close()
    (record,) = opener.archive().records("web")
    assert record.scaler == one


@pytest.mark.parametrize(
    "body",
    [b"nonsense", b"", BRAKES[:-1], msgspec.msgpack.encode({"running": "many"}), b"\xc1" + b"nonsense"],
    ids=["nonsense", "empty", "cut", "another type", "escaped nonsense"],
)
def test_a_damaged_memory_of_a_rule_cannot_be_read(body: bytes) -> None:
    """Brakes that began without a memory would let a size fall that they held."""
    assert MEMORIES.load(msgspec.msgpack.encode({"brakes": BRAKES})).of.keys() == {"brakes"}
    with pytest.raises(StateError, match="a recorded value cannot be read"):
        MEMORIES.load(msgspec.msgpack.encode({"brakes": body}))


@pytest.mark.parametrize("kind", [Rules, Memories])
@pytest.mark.parametrize("escaped", [b"", b"\xc1"], ids=["plain", "escaped"])
@pytest.mark.parametrize(
    "damaged", [5, "text", [1], [["brakes", b""]], {5: b""}, {"weather": 5}, {"weather": "text"}, {"brakes": None}]
)
def test_bytes_by_name_of_another_form_cannot_be_read(kind: type, escaped: bytes, damaged: object) -> None:
    """Any other error than StateError would end the cycle of the whole shard."""
    with pytest.raises(StateError, match="a recorded value cannot be read"):
        Binary[Any](kind).load(escaped + msgspec.msgpack.encode(damaged))
