"""What `check --live` asks an adapter beside `observe`: an adapter that hangs or fails costs only its own lines."""

import threading
from collections.abc import Callable, Iterator, Mapping
from typing import NoReturn

import pytest

from autoscaler.cli.examine import Examiner
from autoscaler.clock import SystemClock
from autoscaler.errors import TargetForbidden, TargetUnavailable
from autoscaler.model import Call, TargetRef
from autoscaler.target import Adapter

_SECONDS = 2.0


class Plain(Adapter):
    """An adapter that only observes and scales."""

    def observe(self, *_: object) -> NoReturn:
        raise AssertionError("the targets have been read already")

    def scale(self, *_: object) -> NoReturn:
        raise AssertionError("a check writes nothing")


class WithAddresses(Plain):
    """Answers with what `work` returns."""

    def __init__(self, work: Callable[[], Mapping[str, str]]) -> None:
        self._work = work

    def failing_addresses(self, call: Call) -> Mapping[str, str]:
        return self._work()


class WithDrains(Plain):
    """Tests its right to drain by what `work` does."""

    def __init__(self, work: Callable[[], object]) -> None:
        self._work = work

    def try_drain(self, call: Call) -> str:
        assert call.deadline > 0
        return str(self._work())


class Examined(Plain):
    """It does with a target what the target's name says."""

    def __init__(self, ending: threading.Event) -> None:
        self.ending = ending
        self.tried: list[str] = []

    def examine(self, target: TargetRef) -> str | None:
        if target.name == "odd":
            raise ZeroDivisionError("with a secret in it")
        return "its command is missing" if target.name == "broken" else None

    def try_write(self, target: TargetRef, call: Call) -> str:
        self.tried.append(target.name)
        match target.name:
            case "hanging":
                self.ending.wait()
            case "forbidden":
                raise TargetForbidden("the token needs scale-job")
            case "silent":
                raise TargetUnavailable("no answer")
            case "odd":
                raise ZeroDivisionError("with a secret in it")
        return "permitted"


@pytest.fixture
def ending() -> Iterator[threading.Event]:
    """It ends the calls that hang."""
    event = threading.Event()
    yield event
    event.set()


def found(adapters: dict[str, Adapter], *names: str, write_test: bool = True) -> dict[str, list[tuple[str, str, bool]]]:
    """By target, written as adapter/name."""
    targets = {TargetRef(*name.split("/")): write_test for name in names}
    findings = Examiner(SystemClock(), _SECONDS, 0.0).findings(adapters, targets, ())
    return {str(target): [(one.label, one.text, one.wrong) for one in findings[target]] for target in targets}


@pytest.mark.slow
def test_an_adapter_that_hangs_is_asked_no_more_and_delays_no_other(ending: threading.Event) -> None:
    """It takes one call at a time, so its later targets cannot be examined."""
    slow, quick = Examined(ending), Examined(ending)
    answers = found({"slow": slow, "quick": quick}, "slow/first", "slow/hanging", "slow/later", "quick/web")
    assert answers == {
        "slow/first": [("write", "permitted", False)],
        "slow/hanging": [("adapter slow", "did not answer within 2 s", True)],
        "slow/later": [("adapter slow", "not asked, because it still hangs in the call for slow/hanging", True)],
        "quick/web": [("write", "permitted", False)],
    }
    assert slow.tried == ["first", "hanging"]


def test_a_failure_affects_only_its_own_target(ending: threading.Event) -> None:
    """Only the class of a foreign error is shown."""
    answers = found({"x": Examined(ending)}, "x/odd", "x/forbidden", "x/silent", "x/broken", "x/web")
    (examined, tried) = answers.pop("x/odd")
    for _, text, wrong in (examined, tried):
        assert wrong
        assert "ZeroDivisionError" in text
        assert "secret" not in text
    assert answers == {
        "x/forbidden": [("write", "the token needs scale-job", True)],
        "x/silent": [("write", "the test has no result: no answer", True)],
        "x/broken": [("scaling", "its command is missing", True), ("write", "permitted", False)],
        "x/web": [("write", "permitted", False)],
    }


def test_without_a_write_test_nothing_is_tried(ending: threading.Event) -> None:
    """It is said, never implied."""
    adapter = Examined(ending)
    assert found({"x": adapter}, "x/web", write_test=False) == {"x/web": []}
    assert adapter.tried == []


def test_an_adapter_without_a_write_test_says_so() -> None:
    """Silence would look like a permission."""
    text = "not tested: this adapter has no such test"
    assert found({"x": Plain()}, "x/web") == {"x/web": [("write", text, False)]}


def test_an_adapter_that_fails_or_hangs_over_its_addresses_leaves_the_others_findings(ending: threading.Event) -> None:
    nothing: Mapping[str, str] = {}

    def hang() -> Mapping[str, str]:
        ending.wait()
        return nothing

    adapters: dict[str, Plain] = {
        "hangs": WithAddresses(hang),
        "fails": WithAddresses(lambda: {"a": nothing["no such address"]}),
        "works": WithAddresses(lambda: {"b": "b: refused"}),
        "serves": WithAddresses(dict),
        "none": Plain(),
    }
    answers = Examiner(SystemClock(), 0.1, 0.1).findings(adapters, {}, ())
    found = [finding for name in adapters for finding in answers[name]]
    assert [finding.label for finding in found] == ["adapter hangs", "adapter fails", "adapter works"]
    texts = [finding.text for finding in found]
    assert texts[0] == "did not answer within 0.1 s"
    assert "the adapter failed: KeyError" in texts[1]
    assert texts[2] == "address b: b: refused"
    assert all(finding.wrong for finding in found)


def test_an_adapter_that_fails_or_hangs_in_its_test_of_drains_affects_no_other(
    ending: threading.Event,
) -> None:
    nothing: Mapping[str, str] = {}

    def forbid() -> None:
        raise TargetForbidden("the token needs node:write")

    adapters: dict[str, Adapter] = {
        "hangs": WithDrains(ending.wait),
        "fails": WithDrains(lambda: nothing["secret"]),
        "forbids": WithDrains(forbid),
        "works": WithDrains(lambda: "permitted"),
        "none": Plain(),
    }
    answers = Examiner(SystemClock(), 0.1, 0.1).findings(adapters, {}, adapters)
    found = [finding for name in adapters for finding in answers[name]]
    assert [(finding.label, finding.wrong) for finding in found] == [
        ("adapter hangs", True),
        ("drains by fails", True),
        ("drains by forbids", True),
        ("drains by works", False),
        ("drains by none", False),
    ]
    texts = [finding.text for finding in found]
    assert texts[0] == "did not answer within 0.1 s"
    assert "KeyError" in texts[1]
    assert "secret" not in texts[1]
    assert texts[2:4] == ["the token needs node:write", "permitted"]
    assert texts[4].startswith("not tested")
