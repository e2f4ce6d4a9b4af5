"""Which address of a connection a call uses."""

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from autoscaler.clock import SystemClock
from autoscaler.errors import TargetError, TargetForbidden, TargetNotWritten, TargetUnavailable
from autoscaler.model import Call
from autoscaler.net.errors import Unreachable
from autoscaler.net.session import Session
from autoscaler.target.addresses import RETURN_AFTER_SECONDS, Addresses
from autoscaler.target.contract import RecordingLogger
from tests.clocks import FakeClock
from tests.servers.scripted import Wire, full_backlog, scripted


@dataclass
class BackEnd:
    """Three addresses, and requests to them."""

    clock: FakeClock = field(default_factory=FakeClock)
    logger: RecordingLogger = field(default_factory=RecordingLogger)
    down: dict[str, TargetError] = field(default_factory=dict)
    """Address -> the error of every request there."""
    asked: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.addresses = Addresses(("a", "b", "c"), "cluster", self.clock, self.logger)

    def call(self, seconds: float = 10) -> Call:
        return Call(self.clock.now(), self.clock.monotonic() + seconds)

    def request(self, *, write: bool = False) -> str:
        address = self.addresses.current
        self.asked.append(address)
        if address in self.down:
            raise self.addresses.failed(self.down[address], write=write)
        self.addresses.answered()
        return address

    def observe(self) -> str:
        return self.addresses.observe(self.request, self.call())

    def write(self) -> str:
        return self.addresses.run(lambda: self.request(write=True), self.call())

    def events(self) -> list[tuple[str, object, object]]:
        return [(level, keys["address"], keys.get("error")) for level, _, keys in self.logger.lines]


@pytest.fixture
def back_end() -> BackEnd:
    return BackEnd()


def test_the_first_address_is_used_while_it_serves(back_end: BackEnd) -> None:
    """The order of the file is the operator's preference."""
    assert [back_end.observe(), back_end.write(), back_end.observe()] == ["a", "a", "a"]
    assert back_end.logger.lines == []


def test_a_call_begins_again_at_the_next_address(back_end: BackEnd) -> None:
    """What it read before is read again there, so that no observation combines two servers."""
    read = []

    def work() -> list[str]:
        read.append(back_end.request())
        if len(read) == 1:
            back_end.down["a"] = TargetUnavailable("a: refused")
        return [back_end.request(), back_end.request()]

    assert back_end.addresses.observe(work, back_end.call()) == ["b", "b"]
    assert read == ["a", "b"]
    assert back_end.events() == [("warning", "b", "a: refused")]


def test_later_calls_keep_to_the_address_that_served(back_end: BackEnd) -> None:
    """A call does not wait for a dead server each time, and the log has one line."""
    back_end.down["a"] = TargetUnavailable("a: refused")
    assert [back_end.observe(), back_end.write(), back_end.observe()] == ["b", "b", "b"]
    assert back_end.asked.count("a") == 1
    assert len(back_end.logger.lines) == 1


def test_an_observation_returns_to_the_first_address_after_a_minute(back_end: BackEnd) -> None:
    """A write before it stays at the address that its decision was made from."""
    back_end.down["a"] = TargetUnavailable("a: refused")
    back_end.observe()
    del back_end.down["a"]
    back_end.clock.advance(RETURN_AFTER_SECONDS - 1)
    assert back_end.observe() == "b"
    back_end.clock.advance(1)
    assert [back_end.write(), back_end.observe(), back_end.write()] == ["b", "a", "a"]
    assert back_end.events()[1:] == [("info", "a", None)]


def test_a_first_address_that_stays_down_is_tried_once_a_minute(back_end: BackEnd) -> None:
    """The log does not repeat the change."""
    back_end.down["a"] = TargetUnavailable("a: refused")
    for _ in range(8):
        assert back_end.observe() == "b"
        back_end.clock.advance(RETURN_AFTER_SECONDS / 4)
    assert back_end.asked.count("a") == 2
    assert len(back_end.logger.lines) == 1


def test_the_error_names_every_address_when_all_fail(back_end: BackEnd) -> None:
    """The next call tries them all again, from the first."""
    back_end.down |= {name: TargetUnavailable(f"{name}: refused") for name in "abc"}
    with pytest.raises(TargetUnavailable, match=r"^c: refused; b: refused; a: refused$"):
        back_end.observe()
    del back_end.down["a"]
    assert back_end.observe() == "a"


def test_a_write_that_may_have_arrived_is_not_repeated_in_its_call(back_end: BackEnd) -> None:
    """Its outcome is unknown; a repeat could find it carried out, and be taken for another's change."""
    back_end.down["a"] = TargetUnavailable("a: closed the connection")
    with pytest.raises(TargetUnavailable, match=r"^a: closed the connection$"):
        back_end.write()
    assert back_end.asked == ["a"]
    assert back_end.write() == "b"


@pytest.mark.parametrize("kind", [TargetNotWritten, TargetForbidden])
def test_a_write_that_was_not_sent_is_sent_to_the_next_address(back_end: BackEnd, kind: type[TargetError]) -> None:
    """No connection, or a failed handshake: the server has read nothing."""
    back_end.down["a"] = kind("a: no connection")
    assert back_end.write() == "b"


def test_a_call_that_is_late_ends_and_the_next_one_uses_the_next_address(back_end: BackEnd) -> None:
    """A server that is connected to and hangs costs one call; no request begins after the deadline."""
    back_end.down["a"] = TargetUnavailable("a: no answer")

    def hang() -> str:
        back_end.clock.advance(10)
        return back_end.request()

    with pytest.raises(TargetUnavailable, match=r"^a: no answer$"):
        back_end.addresses.observe(hang, back_end.call())
    assert back_end.observe() == "b"


def test_an_address_that_answered_is_not_left_for_a_late_call(back_end: BackEnd) -> None:
    """A large cluster is slow at every address, and what was read of it is kept by address."""

    def read_on() -> str:
        back_end.request()
        back_end.clock.advance(10)
        raise back_end.addresses.failed(TargetUnavailable("a: no whole answer"), write=False)

    with pytest.raises(TargetUnavailable):
        back_end.addresses.observe(read_on, back_end.call())
    assert back_end.observe() == "a"


def test_a_call_whose_target_was_taken_over_tries_no_other_address(back_end: BackEnd) -> None:
    """Another daemon may write by then."""
    back_end.down["a"] = TargetNotWritten("a: refused")
    call = Call(back_end.clock.now(), back_end.clock.monotonic() + 10, is_current=lambda: False)
    with pytest.raises(TargetNotWritten):
        back_end.addresses.run(lambda: back_end.request(write=True), call)
    assert back_end.asked == ["a"]


def test_one_address_is_used_whatever_happens(back_end: BackEnd) -> None:
    """A connection with `address` behaves as if there were no choice."""
    back_end.addresses = Addresses(("a",), "cluster", back_end.clock, back_end.logger)
    back_end.down["a"] = TargetUnavailable("a: refused")
    for _ in range(2):
        with pytest.raises(TargetUnavailable, match=r"^a: refused$"):
            back_end.observe()
    assert back_end.asked == ["a", "a"]


def test_a_check_asks_every_address_within_one_deadline(back_end: BackEnd) -> None:
    """An operator learns of a dead spare before it is needed."""
    back_end.down |= {name: TargetUnavailable(f"{name}: refused") for name in "ac"}
    given = []

    def probe(call: Call) -> None:
        given.append(call.deadline - back_end.clock.monotonic())
        back_end.request()

    assert back_end.addresses.failing(probe, back_end.call(12)) == {"a": "a: refused", "c": "c: refused"}
    assert given == [4, 6, 12]


def test_an_address_that_takes_no_connection_leaves_time_for_the_others(back_end: BackEnd) -> None:
    """A host without power answers nothing. Of six seconds, connecting to the first of three addresses gets a third."""
    with full_backlog() as (host, port), scripted(_serve) as server:
        urls = (f"http://{host}:{port}", server.url, "http://never.invalid")
        clock = SystemClock()
        addresses = Addresses(urls, "cluster", clock, back_end.logger)
        call = Call(clock.now(), clock.monotonic() + 6)
        with Session(connect_share=addresses.connect_share) as session:
            assert addresses.run(_getter(addresses, session, call, clock), call) == "served"
    assert [keys["error"] for _, _, keys in back_end.logger.lines] == ["no answer"]


def _serve(wire: Wire) -> None:
    wire.read()
    wire.answer(b"served")


def _getter(addresses: Addresses[str], session: Session, call: Call, clock: SystemClock) -> Callable[[], str]:
    def get() -> str:
        try:
            reply = session.request("GET", addresses.current, timeout=call.seconds_left(clock.monotonic()))
        except Unreachable as error:
            raise addresses.failed(TargetUnavailable(str(error)), write=False) from None
        addresses.answered()
        return reply.text

    return get
