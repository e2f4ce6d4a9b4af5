"""What a process has used, as the kernel counts it (man 5 proc)."""

import os
import re
from pathlib import Path
from typing import Final

_TICKS: Final = os.sysconf("SC_CLK_TCK")


def cpu_seconds(pid: int) -> float:
    """User and system time of a process, its children that have ended and been waited for included."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / _TICKS  # utime, stime, cutime, cstime; field 3 is the first after the name


def resident_mebibytes(pid: int) -> float:
    """VmRSS."""
    found = re.search(r"^VmRSS:\s+(\d+) kB$", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
    if found is None:
        raise RuntimeError(f"/proc/{pid}/status has no VmRSS; is the process a zombie?")
    return int(found[1]) / 1024
