"""The machine's clocks."""

import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from autoscaler.clock import SystemClock
from autoscaler.moment import Moment

BOOTED = datetime(2026, 5, 4, tzinfo=UTC)


def moment(wall: float, elapsed: float, boot: str = "one") -> Moment:
    """Return a moment with these seconds on both clocks after the boot."""
    return Moment(BOOTED + timedelta(seconds=wall), boot, timedelta(seconds=elapsed))


def test_a_moment_is_one_reading_of_both_clocks() -> None:
    before = time.clock_gettime(time.CLOCK_BOOTTIME)
    seen = SystemClock().moment()
    after = time.clock_gettime(time.CLOCK_BOOTTIME)
    assert before <= seen.elapsed.total_seconds() <= after
    assert abs(datetime.now(UTC) - seen.now) < timedelta(seconds=5)


def test_deadlines_pass_while_the_machine_sleeps() -> None:
    """CLOCK_MONOTONIC would stop, and an old decision would be written after the sleep."""
    clock = SystemClock()
    assert clock.monotonic() == pytest.approx(clock.moment().elapsed.total_seconds(), abs=5)


def test_a_process_suspended_between_two_readings_reads_again() -> None:
    """Otherwise the delay would look like a step of the clock."""

    class Held(SystemClock):
        looks = 0

        def now(self) -> datetime:
            self.looks += 1
            time.sleep(0.15 if self.looks == 1 else 0)
            return super().now()

    clock = Held()
    assert clock.moment().booted - SystemClock().moment().booted < timedelta(seconds=0.1)
    assert clock.looks >= 2


def test_two_processes_have_the_same_boot_id() -> None:
    """The next daemon must know whether elapsed times still count."""
    words = "from autoscaler.clock import SystemClock; print(SystemClock().moment().boot)"
    other = subprocess.run([sys.executable, "-c", words], check=True, capture_output=True, text=True, timeout=30)
    assert other.stdout.strip() == SystemClock().moment().boot


def test_a_unit_without_proc_gets_the_boot_id_from_systemd(monkeypatch: pytest.MonkeyPatch) -> None:
    """ProcSubset=pid hides the file. `%b` is the same id without dashes."""
    known, nowhere = SystemClock().moment().boot, Path("/nowhere")
    monkeypatch.setenv("AUTOSCALER_BOOT_ID", known)
    assert SystemClock(nowhere).moment().boot == known
    monkeypatch.delenv("AUTOSCALER_BOOT_ID")
    assert SystemClock(nowhere).moment().boot != SystemClock(nowhere).moment().boot


@pytest.mark.parametrize(
    ("later", "seconds"),
    [
        (moment(15, 15), 15),
        (moment(3615, 15), 15),
        (moment(-3585, 15), 15),
        (moment(100, 5, boot="two"), 100),
        (moment(-100, 5, boot="two"), 0),
    ],
    ids=["unchanged", "forward", "back", "another start", "another start, an earlier clock"],
)
def test_elapsed_time_does_not_depend_on_clock_changes(later: Moment, seconds: float) -> None:
    assert later.since(moment(0, 0)).total_seconds() == seconds
