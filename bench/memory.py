"""Resident memory of a daemon that has nothing to do: the demo's, under a load that does not change."""

import re
import time
from pathlib import Path
from typing import Final

from bench import alone
from demo.stage import Stage, StageError

AIM_MEBIBYTES: Final = 80
_DECISIONS: Final = 10
_WITHIN_SECONDS: Final = 120.0


def mebibytes() -> float:
    """Return VmRSS (man 5 proc_pid_status) in MiB after the first decisions."""
    with Stage(program=alone.program()) as stage:
        stage.set_traffic(5)
        stage.start_prometheus()
        pid = stage.start_daemon()
        end, decisions = time.monotonic() + _WITHIN_SECONDS, 0
        while decisions < _DECISIONS:
            stage.check_running()
            if time.monotonic() > end:
                raise StageError(f"the daemon took only {decisions} decisions in {_WITHIN_SECONDS:.0f} s")
            decisions += sum(line["event"] == "decision" for line in stage.new_lines())
            time.sleep(0.5)
        status = Path(f"/proc/{pid}/status").read_text()
    found = re.search(r"^VmRSS:\s+(\d+) kB$", status, re.MULTILINE)
    if found is None:
        raise StageError(f"/proc/{pid}/status has no VmRSS")
    return int(found[1]) / 1024
