"""Adapters that fail or hang while they examine their addresses: each costs its own connection's findings alone."""

import threading
from collections.abc import Callable, Mapping
from typing import NoReturn

import pytest

from autoscaler.cli import examine_addresses
from autoscaler.clock import SystemClock
from autoscaler.model import Call


class Plain:
    """An adapter without `failing_addresses`."""

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


def test_one_adapter_that_fails_or_hangs_leaves_the_others_findings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Adapters are foreign code."""
    monkeypatch.setattr(examine_addresses, "_GRACE_SECONDS", 0.1)
    ended = threading.Event()
    nothing: Mapping[str, str] = {}

    def hang() -> Mapping[str, str]:
        ended.wait()
        return nothing

    adapters: dict[str, Plain] = {
        "hangs": WithAddresses(hang),
        "fails": WithAddresses(lambda: {"a": nothing["no such address"]}),
        "works": WithAddresses(lambda: {"b": "b: refused"}),
        "serves": WithAddresses(dict),
        "none": Plain(),
    }
    found = list(examine_addresses.examine_addresses(adapters, SystemClock(), 0.1))
    ended.set()
    assert [finding.label for finding in found] == ["adapter hangs", "adapter fails", "adapter works"]
    texts = [finding.text for finding in found]
    assert texts[0] == "the adapter did not examine its addresses within 0.1 s"
    assert "the adapter failed to examine its addresses: KeyError" in texts[1]
    assert texts[2] == "address b: b: refused"
    assert all(finding.wrong for finding in found)
