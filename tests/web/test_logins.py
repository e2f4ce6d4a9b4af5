"""A client that guesses passwords waits; a client with the right password does not wait for it."""

import asyncio
import threading
from base64 import b64encode
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import bcrypt
import pytest

from autoscaler.web.credentials import Credentials
from autoscaler.web.logins import LoginRefused, Logins
from tests.documents.lives import StoppedClock
from tests.web.serving import Daemon, Logged, serving

ANN = "ann"
RIGHT = "correct horse"


def header(password: str, user: str = ANN) -> str:
    return "Basic " + b64encode(f"{user}:{password}".encode()).decode()


class Ticking(StoppedClock):
    """A clock that advances a microsecond at each reading."""

    def monotonic(self) -> float:
        self.seconds += 1e-6
        return self.seconds


class Queue:
    """Logins whose hashing waits for the test: each `hash` lets one password be hashed."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, clock: StoppedClock | None = None) -> None:
        self.clock = clock or StoppedClock()
        self.hashed: list[str] = []
        self._turn = threading.Semaphore(0)
        monkeypatch.setattr(bcrypt, "checkpw", self._check)
        self.credentials = Credentials({ANN: bcrypt.gensalt(4)}, self.clock)
        self.log = Logged()
        self.logins = Logins(self.clock, self.log)

    def _check(self, password: bytes, hashed: bytes) -> bool:
        self.hashed.append(password.decode())
        assert self._turn.acquire(timeout=20)
        return password == RIGHT.encode()

    def ask(self, password: str, client: str = "192.0.2.1") -> asyncio.Task[str | None]:
        return asyncio.create_task(self.logins.user(self.credentials, header(password), client))

    async def guess(self, number: int, client: str = "192.0.2.1") -> Sequence[asyncio.Task[str | None]]:
        """Try this many wrong passwords, one after the other."""
        tasks = []
        for each in range(number):
            tasks.append(self.ask(f"{client} {each}", client))
            await asyncio.sleep(0)
        return tasks

    def hash(self, number: int = 1) -> None:
        for _ in range(number):
            self._turn.release()


def run(test: Callable[[], Awaitable[None]]) -> None:
    async def within() -> None:
        await asyncio.wait_for(test(), 20)

    asyncio.run(within())


@pytest.fixture
def queue(monkeypatch: pytest.MonkeyPatch) -> Queue:
    return Queue(monkeypatch)


def refusals(tasks: Sequence[asyncio.Task[str | None]]) -> list[bool]:
    """For each refused login, whether it was refused for guessing."""
    failures = [task.exception() for task in tasks if task.done()]
    return [failure.guessing for failure in failures if isinstance(failure, LoginRefused)]


def test_the_newest_login_is_checked_next(queue: Queue) -> None:
    """A right password waited 87 s behind 200 wrong ones."""

    async def test() -> None:
        await queue.guess(200)
        right = queue.ask(RIGHT)
        queue.hash(2)  # the one that is being hashed, and the right one
        assert await right == ANN
        queue.hash(20)

    run(test)
    assert queue.hashed[1] == RIGHT


def test_a_full_queue_refuses_the_oldest_logins(queue: Queue) -> None:
    async def test() -> None:
        tasks = await queue.guess(100)
        await asyncio.sleep(0)
        assert refusals(tasks) == [False] * 83  # 16 wait, one is being hashed
        queue.hash(100)

    run(test)
    assert queue.log.named("login_flood") == [{"event": "login_flood", "refused": 1, "client": "192.0.2.1"}]


def test_an_address_has_ten_failures_and_then_one_a_second(queue: Queue) -> None:
    """The first try of another address is checked before."""

    async def test() -> None:
        guesses = await queue.guess(10)
        queue.hash(10)
        assert await asyncio.gather(*guesses) == [None] * 10
        guess = queue.ask("one more")
        await asyncio.sleep(0.05)
        assert len(queue.hashed) == 10
        other = queue.ask("of another address", "192.0.2.2")
        queue.hash()
        assert await other is None
        await queue.guess(16)
        await asyncio.sleep(0.05)
        assert refusals([guess]) == [True]
        queue.clock.seconds += 1
        newest = queue.ask("newest")
        queue.hash()
        assert await newest is None

    run(test)
    assert queue.hashed[10:] == ["of another address", "newest"]


def test_the_newest_login_of_an_address_is_checked_first_while_time_advances(monkeypatch: pytest.MonkeyPatch) -> None:
    """A right password waited 12 s behind older guesses: their failures were compared at different times."""
    queue = Queue(monkeypatch, Ticking())
    tasks = list[asyncio.Task[str | None]]()

    async def test() -> None:
        guesses = await queue.guess(10)
        queue.hash(10)
        assert await asyncio.gather(*guesses) == [None] * 10
        for number in range(5):
            tasks.append(queue.ask(f"left {number}"))
        right = queue.ask(RIGHT)
        await asyncio.sleep(0.05)
        queue.clock.seconds += 1
        queue.hash()
        assert await right == ANN
        queue.hash(5)

    run(test)
    assert queue.hashed[10] == RIGHT


def test_right_passwords_are_never_limited(queue: Queue) -> None:
    """Many users may share the address of a proxy."""

    async def test() -> None:
        for number in range(100):
            credentials = Credentials({f"user{number}": bcrypt.gensalt(4)}, queue.clock)
            queue.hash()
            assert await queue.logins.user(credentials, header(RIGHT, f"user{number}"), "192.0.2.1") is not None

    run(test)


def test_a_repeated_wrong_password_is_hashed_once(queue: Queue) -> None:
    """A scraper with an old password sends it every few seconds on several connections."""

    async def test() -> None:
        tasks = [queue.ask("old") for _ in range(10)]
        queue.hash()
        assert await asyncio.gather(*tasks) == [None] * 10

    run(test)
    assert queue.hashed == ["old"]


def test_wrong_passwords_are_remembered_as_digests(queue: Queue) -> None:
    queue.hash()
    assert queue.credentials.check(header("hunter2")) is None
    assert queue.credentials.refused(header("hunter2"))
    assert not queue.credentials.refused(header("hunter3"))
    assert all(b"hunter2" not in digest for digest in queue.credentials._wrong._until)
    queue.clock.seconds += 61
    assert not queue.credentials.refused(header("hunter2"))


def test_at_most_1000_wrong_passwords_are_remembered(queue: Queue) -> None:
    queue.hash(1_100)
    for number in range(1_100):
        queue.credentials.check(header(str(number)))
    assert len(queue.credentials._wrong._until) == 1_000
    assert queue.credentials.refused(header("1099"))


@pytest.mark.parametrize(("guessing", "status"), [(True, 429), (False, 503)])
def test_a_refused_login_is_told_when_to_retry(
    daemon: Daemon, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, guessing: bool, status: int
) -> None:
    """429 for failures of the client's own address, 503 for a full queue."""

    async def refuse(*_: object) -> None:
        raise LoginRefused(guessing=guessing)

    config = tmp_path / "web.yaml"
    config.write_text(f"basic_auth_users:\n  {ANN}: {bcrypt.hashpw(RIGHT.encode(), bcrypt.gensalt(4)).decode()}\n")
    monkeypatch.setattr(Logins, "user", refuse)
    with serving(daemon, config) as served:
        answer = served.get("/-/healthy", auth=(ANN, RIGHT))
    assert (answer.status_code, answer.headers["retry-after"]) == (status, "1")
