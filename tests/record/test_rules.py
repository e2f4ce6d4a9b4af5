"""What rules remember and how they are configured outlasts a daemon that does not know the rule, or cannot read it."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import msgspec
import pytest
from sqlalchemy import select, update

from autoscaler.decide import decide, remember
from autoscaler.errors import StateError, TargetUnavailable
from autoscaler.model import (
    Autoscaler,
    AwaitingDrain,
    Decision,
    DrainReport,
    Instance,
    Memories,
    Observation,
    Observed,
    Phase,
    Rules,
    TargetState,
    UnknownRule,
    ValueReading,
)
from autoscaler.record import schema
from autoscaler.record.binary import Binary
from autoscaler.record.entries import KEPT as MEMORIES
from autoscaler.record.evaluation import _HISTORY
from autoscaler.record.ledger import Ledger
from autoscaler.rules.brakes import Brakes
from autoscaler.rules.brakes.loss import LossBrake
from autoscaler.rules.drain import DrainRule, drains_of
from tests.decisions import remembering
from tests.record.conftest import Opener
from tests.record.cycles import QUEUE, Cycles
from tests.record.samples import START, count_rows, decision, keep, save, scaler
from tests.replaced import replace

NAMES = ("fine", "hurt", "well")
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


def damaged(ledger: Ledger, rule: str, change: Callable[[bytes], bytes]) -> None:
    """Change what one autoscaler's rule remembers, in its row."""
    table = schema.autoscaler
    with ledger._context.database.writing() as connection:
        kept = MEMORIES.load(connection.execute(select(table.c.body).where(table.c.name == "hurt")).scalar_one())
        fields = msgspec.msgpack.decode(kept.history)
        place = _HISTORY._kind.__struct_fields__.index("rules")
        fields[place][rule] = change(fields[place][rule])
        body = MEMORIES.dump(replace(kept, history=msgspec.msgpack.encode(fields)))
        connection.execute(update(table).where(table.c.name == "hurt").values(body=body))


@pytest.mark.parametrize(
    "change",
    [
        lambda _: b"nonsense",
        lambda _: b"",
        lambda body: body[:-1],
        lambda _: msgspec.msgpack.encode({"running": "many"}),
        lambda _: b"\xc1" + b"nonsense",
    ],
    ids=["nonsense", "empty", "cut", "another type", "escaped nonsense"],
)
def test_a_damaged_memory_of_a_rule_affects_only_its_own_autoscaler(
    opener: Opener, change: Callable[[bytes], bytes]
) -> None:
    """It is not scaled: brakes that began without a memory would let a size fall that they held."""
    scalers = [plain(name, Brakes(loss=LossBrake())) for name in NAMES]
    ledger = opener.ledger()
    for one in scalers:
        a_cycle(ledger, one, 0)
    damaged(ledger, "brakes", change)
    ledger = opener.restart()
    for seconds in (15, 30):
        found = ledger.recall(scalers)
        assert found.keys() == {"fine", "well"}
        with pytest.raises(StateError, match=r"autoscaler 'hurt': .*restore a backup.*autoscaler forget hurt"):
            found["hurt"]
        for one in (scalers[0], scalers[2]):
            assert found[one.name].rules.of.keys() == {"brakes"}
        save(
            ledger,
            *[decide(one, SEEN, found[one.name], START + timedelta(seconds=seconds)) for one in scalers[::2]],
            scalers={one.name: one for one in scalers[::2]},
            seen=SEEN,
        )
    assert count_rows(ledger, "autoscaler") == 3


@pytest.mark.parametrize("kind", [Rules, Memories])
@pytest.mark.parametrize("escaped", [b"", b"\xc1"], ids=["plain", "escaped"])
@pytest.mark.parametrize(
    "damaged", [5, "text", [1], [["brakes", b""]], {5: b""}, {"weather": 5}, {"weather": "text"}, {"brakes": None}]
)
def test_bytes_by_name_of_another_form_cannot_be_read(kind: type, escaped: bytes, damaged: object) -> None:
    """Any other error than StateError would end the cycle of the whole shard."""
    with pytest.raises(StateError, match="a recorded value cannot be read"):
        Binary[Any](kind).load(escaped + msgspec.msgpack.encode(damaged))


def test_text_that_no_database_stores_is_kept_in_a_rules_memory(opener: Opener) -> None:
    """A drained instance answers what it likes, also half of a surrogate pair."""
    odd = "it answered 503: \ud800 and NUL \0"
    instances = tuple(Instance(f"i-{n}", Phase.RUNNING, ready=True) for n in range(5))
    waiting = TargetState(5, 5, instances, awaiting_drain=(AwaitingDrain("i-0"),))
    life = Cycles(opener, plain("web", DrainRule(command=("/bin/true",))))
    began = replace(SEEN, target=waiting)
    life.cycle(began)
    made = life.cycle(replace(began, drains=(DrainReport("i-0", odd),)))
    assert [each.detail for each in drains_of(made.remembered.rules.of)] == [odd]
    life.restart()
    assert life.recall().rules == made.remembered.rules
    assert opener.archive().latest()["web"] == made
    assert life.cycle(replace(began, drains=(DrainReport("i-0", odd),))).remembered.rules == made.remembered.rules
