"""Notifications for systemd. Source: sd_notify(3), sd_watchdog_enabled(3)."""

import os
from typing import Final

from sdnotify import SystemdNotifier

from autoscaler.clock import Clock

_MOST_UNSENT: Final = 16
"""Notifications that wait until somebody reads; of more the oldest are forgotten."""


class ServiceManager:
    """Notifications to $NOTIFY_SOCKET; without one, each does nothing."""

    def __init__(self, clock: Clock) -> None:
        """Removes systemd's variables from the environment, so that workers cannot notify systemd in our name."""
        self._clock = clock
        self._notifier = SystemdNotifier() if os.environ.get("NOTIFY_SOCKET") else None
        if self._notifier is not None and self._notifier.socket is not None:
            self._notifier.socket.setblocking(False)  # the daemon must not wait for whoever does not read it
            self._notifier.debug = True  # let it say that it could not be sent
        os.environ.pop("NOTIFY_SOCKET", None)
        timeout_usec = os.environ.pop("WATCHDOG_USEC", "")
        addressee = os.environ.pop("WATCHDOG_PID", "")
        ours = timeout_usec.isdigit() and addressee in ("", str(os.getpid()))
        self._ping_seconds = int(timeout_usec) / 1e6 / 4 if ours else None
        self._pinged: float | None = None
        self._status = ""
        self._unsent: list[str] = []

    def close(self) -> None:
        """Let go of the socket."""
        if self._notifier is not None and self._notifier.socket is not None:
            self._notifier.socket.close()

    def ready(self) -> None:
        """Started, or done reloading."""
        self._notify("READY=1")

    def reloading(self) -> None:
        """From now to `ready`."""
        self._notify(f"RELOADING=1\nMONOTONIC_USEC={int(self._clock.monotonic() * 1e6)}")

    def stopping(self) -> None:
        """On the way out."""
        self._notify("STOPPING=1")

    def status(self, text: str) -> None:
        """One line for `systemctl status`; sent when it changes."""
        if text != self._status:
            self._status = text
            self._notify(f"STATUS={text}")
        self._send()

    def progress(self) -> None:
        """Satisfy the watchdog. Call it, as often as you like, while cycles end; it sends no more than needed."""
        now = self._clock.monotonic()
        if self._ping_seconds is not None and (self._pinged is None or now - self._pinged >= self._ping_seconds):
            self._pinged = now
            self._notify("WATCHDOG=1")

    def _notify(self, message: str) -> None:
        """Send it after what could not be sent before, now or later: nobody may read the socket for a while."""
        name = message.partition("=")[0]
        if name in ("STATUS", "WATCHDOG"):  # the newest is enough
            self._unsent = [each for each in self._unsent if not each.startswith(f"{name}=")]
        self._unsent = [*self._unsent, message][-_MOST_UNSENT:]
        self._send()

    def _send(self) -> None:
        while self._notifier is not None and self._unsent:
            try:
                # sdnotify encodes as latin-1, systemd reads UTF-8
                self._notifier.notify(self._unsent[0].encode().decode("latin-1"))
            except BlockingIOError:
                return
            except OSError:  # there is no service manager any more
                pass
            del self._unsent[0]
