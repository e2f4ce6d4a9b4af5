"""Notifications for systemd. Source: sd_notify(3), sd_watchdog_enabled(3)."""

import os
from typing import Final

from sdnotify import SystemdNotifier

from autoscaler.clock import Clock

_MAX_UNSENT: Final = 16
"""The most unsent notifications that are kept; older ones are dropped."""


class ServiceManager:
    """Sends notifications to $NOTIFY_SOCKET; without one, does nothing."""

    def __init__(self, clock: Clock) -> None:
        """Removes systemd's variables from the environment, so that workers cannot notify systemd."""
        self._clock = clock
        self._notifier = SystemdNotifier() if os.environ.get("NOTIFY_SOCKET") else None
        if self._notifier is not None and self._notifier.socket is not None:
            self._notifier.socket.setblocking(False)  # the daemon must not wait for a reader
            self._notifier.debug = True  # it then raises if it cannot send
        os.environ.pop("NOTIFY_SOCKET", None)
        timeout_usec = os.environ.pop("WATCHDOG_USEC", "")
        addressee = os.environ.pop("WATCHDOG_PID", "")
        ours = timeout_usec.isdigit() and addressee in ("", str(os.getpid()))
        self._ping_seconds = int(timeout_usec) / 1e6 / 4 if ours else None
        self._pinged: float | None = None
        self._status = ""
        self._unsent: list[str] = []

    def close(self) -> None:
        """Close the socket."""
        if self._notifier is not None and self._notifier.socket is not None:
            self._notifier.socket.close()

    def ready(self) -> None:
        """Report that the daemon has started or reloaded."""
        self._notify("READY=1")

    def reloading(self) -> None:
        """Report that a reload begins; `ready` ends it."""
        self._notify(f"RELOADING=1\nMONOTONIC_USEC={int(self._clock.monotonic() * 1e6)}")

    def stopping(self) -> None:
        """Report that the daemon is stopping."""
        self._notify("STOPPING=1")

    def status(self, text: str) -> None:
        """Send a line for `systemctl status` if it has changed."""
        if text != self._status:
            self._status = text
            self._notify(f"STATUS={text}")
        self._send()

    def progress(self) -> None:
        """Satisfy the watchdog. It can be called at any rate while cycles end, and sends no more than needed."""
        now = self._clock.monotonic()
        if self._ping_seconds is not None and (self._pinged is None or now - self._pinged >= self._ping_seconds):
            self._pinged = now
            self._notify("WATCHDOG=1")

    def _notify(self, message: str) -> None:
        """Send the message after unsent ones, at once or when systemd reads the socket again."""
        name = message.partition("=")[0]
        if name in ("STATUS", "WATCHDOG"):  # the newest is enough
            self._unsent = [each for each in self._unsent if not each.startswith(f"{name}=")]
        self._unsent = [*self._unsent, message][-_MAX_UNSENT:]
        self._send()

    def _send(self) -> None:
        while self._notifier is not None and self._unsent:
            try:
                # sdnotify encodes as latin-1, systemd reads UTF-8
                self._notifier.notify(self._unsent[0].encode(errors="replace").decode("latin-1"))
            except BlockingIOError:
                return
            except OSError:  # there is no service manager any more
                pass
            del self._unsent[0]
