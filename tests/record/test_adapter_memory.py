"""The values that an adapter saves for its targets."""

from concurrent.futures import ThreadPoolExecutor

from autoscaler.model import TargetRef
from tests.record.conftest import Opener, each_database
from tests.record.samples import FLEET, serving

WEB, API = TargetRef(FLEET, "web"), TargetRef(FLEET, "api", region="eu")
VALUES = {"at": 1_700_000_000.25, "failures": 3, "victims": ["i-1", "i-2"], "open": {"until": None}}


def test_saved_values_survive_a_restart(opener: Opener) -> None:
    """AWS's writes before a crash decide whether the circuit breaker opens after it."""
    ledger = serving(opener.ledger(), WEB, API)
    ledger.save_adapter_memory(WEB, VALUES)
    ledger.save_adapter_memory(API, {"failures": 1})
    before = ledger.adapter_memory()
    assert before == serving(opener.restart(), WEB, API).adapter_memory() == {WEB: VALUES, API: {"failures": 1}}


def test_saving_none_removes_the_values_of_a_target(opener: Opener) -> None:
    ledger = serving(opener.ledger(), WEB, API)
    ledger.save_adapter_memory(WEB, VALUES)
    ledger.save_adapter_memory(API, VALUES)
    ledger.save_adapter_memory(WEB, None)
    assert ledger.adapter_memory() == {API: VALUES}


@each_database
def test_values_that_a_database_refuses_as_text_are_saved(opener: Opener) -> None:
    """Names from outside may contain half a surrogate pair or NUL; numbers may exceed 64 bits."""
    odd = {"half \ud800": ["\0", 2**70, -(2**65), float("inf")], "\x00int": {"\x00int": "5"}}
    target = TargetRef(FLEET, "half \udfff", namespace="\0")
    ledger = serving(opener.ledger(), target)
    ledger.save_adapter_memory(target, odd)
    assert serving(opener.restart(), target).adapter_memory() == {target: odd}


@each_database
def test_threads_can_save_at_the_same_time(opener: Opener) -> None:
    """An adapter that takes several writes at a time saves before each."""
    targets = [TargetRef(FLEET, f"group-{number}") for number in range(40)]
    ledger = serving(opener.ledger(), *targets)
    with ThreadPoolExecutor(8) as threads:
        for number in range(3):
            list(threads.map(lambda target, number=number: ledger.save_adapter_memory(target, {"n": number}), targets))
    assert serving(opener.restart(), *targets).adapter_memory() == {target: {"n": 2} for target in targets}
