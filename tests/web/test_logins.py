"""Clients that guess passwords wait; clients that know one do not."""

import asyncio
import threading
import time
from base64 import b64encode
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import bcrypt
import pytest
import requests

from autoscaler.web.credentials import Credentials
from autoscaler.web.logins import LoginRefused, Logins
from tests.documents.lives import At
from tests.web.serving import Daemon, Logged, serving

ANN = "ann"
RIGHT = "correct horse"


def header(password: str, user: str = ANN) -> str:
    return "Basic " + b64encode(f"{user}:{password}".encode()).decode()


class Ticking(At):
    """A clock that goes on a little with each look."""

    def monotonic(self) -> float:
        self.seconds += 1e-6
        return self.seconds


class Queue:
    """One in which hashing takes as long as the test says: one password for each `let_go`."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, clock: At | None = None) -> None:
        self.clock = clock or At()
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
        """So many, one after the other."""
        tasks = []
        for each in range(number):
            tasks.append(self.ask(f"{client} {each}", client))
            await asyncio.sleep(0)
        return tasks

    def let_go(self, number: int = 1) -> None:
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
    """Of those that were refused: whether for guessing."""
    failures = [task.exception() for task in tasks if task.done()]
    return [failure.guessing for failure in failures if isinstance(failure, LoginRefused)]


def test_the_right_password_is_next_however_many_wait(queue: Queue) -> None:
    """200 wrong ones: a right one waited 87 s."""

    async def test() -> None:
        await queue.guess(200)
        right = queue.ask(RIGHT)
        queue.let_go(2)  # the one that is being hashed, and it
        assert await right == ANN
        queue.let_go(20)

    run(test)
    assert queue.hashed[1] == RIGHT


def test_the_queue_is_bounded_and_the_oldest_make_room(queue: Queue) -> None:
    async def test() -> None:
        tasks = await queue.guess(100)
        await asyncio.sleep(0)
        assert refusals(tasks) == [False] * 83  # 16 wait, one is being hashed
        queue.let_go(100)

    run(test)
    assert queue.log.named("login_flood") == [{"event": "login_flood", "refused": 1, "client": "192.0.2.1"}]


def test_who_fails_too_often_waits_and_who_does_not_goes_first(queue: Queue) -> None:
    """Ten at once, then one a second, for each address; a stranger's first try comes before."""

    async def test() -> None:
        guesses = await queue.guess(10)
        queue.let_go(10)
        assert await asyncio.gather(*guesses) == [None] * 10
        guess = queue.ask("one more")
        await asyncio.sleep(0.05)
        assert len(queue.hashed) == 10
        other = queue.ask("of another address", "192.0.2.2")
        queue.let_go()
        assert await other is None
        await queue.guess(16)
        await asyncio.sleep(0.05)
        assert refusals([guess]) == [True]
        queue.clock.seconds += 1
        newest = queue.ask("newest")
        queue.let_go()
        assert await newest is None

    run(test)
    assert queue.hashed[10:] == ["of another address", "newest"]


def test_the_newest_of_an_address_goes_first_while_time_goes_by(monkeypatch: pytest.MonkeyPatch) -> None:
    """A right password waited 12 s behind guesses whose clients had left: the older one seemed to have failed less."""
    queue = Queue(monkeypatch, Ticking())
    tasks = list[asyncio.Task[str | None]]()

    async def test() -> None:
        guesses = await queue.guess(10)
        queue.let_go(10)
        assert await asyncio.gather(*guesses) == [None] * 10
        for number in range(5):
            tasks.append(queue.ask(f"left {number}"))
        right = queue.ask(RIGHT)
        await asyncio.sleep(0.05)
        queue.clock.seconds += 1
        queue.let_go()
        assert await right == ANN
        queue.let_go(5)

    run(test)
    assert queue.hashed[10] == RIGHT


def test_right_passwords_are_never_limited(queue: Queue) -> None:
    """Many users come through one proxy."""

    async def test() -> None:
        for number in range(100):
            credentials = Credentials({f"user{number}": bcrypt.gensalt(4)}, queue.clock)
            queue.let_go()
            assert await queue.logins.user(credentials, header(RIGHT, f"user{number}"), "192.0.2.1") is not None

    run(test)


def test_one_password_is_hashed_once_however_often_it_is_sent(queue: Queue) -> None:
    """A scraper with an old password tries it every few seconds, on several connections."""

    async def test() -> None:
        tasks = [queue.ask("old") for _ in range(10)]
        queue.let_go()
        assert await asyncio.gather(*tasks) == [None] * 10

    run(test)
    assert queue.hashed == ["old"]


def test_failures_are_remembered_without_the_password(queue: Queue) -> None:
    queue.let_go()
    assert queue.credentials.check(header("hunter2")) is None
    assert queue.credentials.refused(header("hunter2"))
    assert not queue.credentials.refused(header("hunter3"))
    assert all(b"hunter2" not in digest for digest in queue.credentials._wrong._until)
    queue.clock.seconds += 61
    assert not queue.credentials.refused(header("hunter2"))


def test_what_is_remembered_is_bounded(queue: Queue) -> None:
    queue.let_go(1_100)
    for number in range(1_100):
        queue.credentials.check(header(str(number)))
    assert len(queue.credentials._wrong._until) == 1_000
    assert queue.credentials.refused(header("1099"))


@pytest.mark.slow
def test_a_right_password_comes_before_guesses_that_wait(daemon: Daemon, tmp_path: Path) -> None:
    """As a client meets it: 40 guesses from its own address, of a usual cost, and one who is logged in already."""
    (tmp_path / "web.yaml").write_text(
        "basic_auth_users:\n"
        + "".join(
            f"  {name}: {bcrypt.hashpw(password.encode(), bcrypt.gensalt(10)).decode()}\n"
            for name, password in ((ANN, RIGHT), ("scraper", "known"))
        )
    )
    with serving(daemon, tmp_path / "web.yaml") as served:
        url = f"{served.server.url}/-/healthy"
        statuses: list[int] = []
        over = threading.Event()

        def ask(user: str, password: str) -> int:
            return requests.get(url, auth=(user, password), timeout=60).status_code

        def go_on() -> None:
            while not over.wait(0.05):
                daemon.clock.seconds += 1  # so that the address is allowed another try

        assert ask("scraper", "known") == 200
        guesses = [
            threading.Thread(target=lambda each=each: statuses.append(ask(ANN, f"wrong {each}"))) for each in range(40)
        ]
        for guess in guesses:
            guess.start()
        while len(statuses) < 40 - 16:  # the others wait: ten have failed, and the clock stands
            time.sleep(0.01)
        assert ask("scraper", "known") == 200
        clock = threading.Thread(target=go_on)
        clock.start()
        try:
            assert ask(ANN, RIGHT) == 200
        finally:
            for guess in guesses:
                guess.join()
            over.set()
            clock.join()
    assert len(statuses) == 40
    assert 401 in statuses
    assert {429, 503} & set(statuses)
    assert set(statuses) <= {401, 429, 503}
