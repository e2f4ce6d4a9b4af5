"""Threads that a caller can give up on: what hangs in foreign code or in the network cannot be interrupted."""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")


def spawn(name: str, work: Callable[[], object]) -> None:
    """Run `work` in a thread that never keeps the process alive."""
    threading.Thread(target=work, name=name, daemon=True).start()


def settle(future: Future[T], work: Callable[[], T]) -> None:
    """Run `work` here; what it returned or raised is then the future's."""
    try:
        future.set_result(work())
    except BaseException as error:  # noqa: BLE001 - handed to whoever asks the future, as an executor does
        future.set_exception(error)
