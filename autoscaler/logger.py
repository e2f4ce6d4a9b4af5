"""What everybody logs with. `autoscaler.log` makes one."""

from typing import Any, Protocol


class Logger(Protocol):
    """An event word, then keys. Never a secret."""

    def debug(self, event: str, **keys: Any) -> Any:
        """For developers."""

    def info(self, event: str, **keys: Any) -> Any:
        """What an operator may want to know."""

    def warning(self, event: str, **keys: Any) -> Any:
        """What an operator should look at."""

    def error(self, event: str, **keys: Any) -> Any:
        """What needs an operator."""
