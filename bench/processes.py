"""What a process uses, as the kernel counts it (man 5 proc)."""

import os
import re
from pathlib import Path
from typing import Final

_TICKS: Final = os.sysconf("SC_CLK_TCK")


def cpu_seconds(pid: int) -> float:
    """Return the user and system seconds of a process and of its children that it has waited for."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / _TICKS  # utime, stime, cutime, cstime; field 3 is the first after the name


def resident_mebibytes(pid: int) -> float:
    """Return VmRSS in MiB."""
    found = re.search(r"^VmRSS:\s+(\d+) kB$", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
    if found is None:
        raise RuntimeError(f"/proc/{pid}/status has no VmRSS; is the process a zombie?")
    return int(found[1]) / 1024
