"""A daemon with a planted bug, which the judge of the rehearsals must find.

Run as a program it is `python -m autoscaler`, which writes whatever it has decided: it does not look whether its lease
still stands and its cycle still has time, and does not let Nomad compare.
"""

import sys
from pathlib import Path
from typing import Final

PROGRAM: Final = (str(Path(__file__).resolve()),)
"""What the interpreter runs in place of `-m autoscaler`."""
_SECONDS: Final = 5.0


def _install() -> None:
    from adapters.nomad import Nomad
    from autoscaler.act import Actuator
    from autoscaler.act.turns import Write
    from autoscaler.model import Call, Outcome
    from autoscaler.target import ScaleChange, ScaleOutcome, TargetRef, Written

    def write(self: Actuator, write: Write, call: Call) -> Outcome:
        change, target = write.change, write.decision.target
        return self._adapters[target.adapter].scale(target, change, Call(call.now, self._clock.monotonic() + _SECONDS))

    def scale(self: Nomad, target: TargetRef, change: ScaleChange, call: Call) -> ScaleOutcome:
        self._post(self._place(target), change.reason, {"Count": change.size, "Meta": {"decision": change.id}}, call)
        return Written(change.size)

    Actuator._write = write  # type: ignore[method-assign]  # the point of this program
    Nomad.scale = scale  # type: ignore[method-assign]


if __name__ == "__main__":
    del sys.path[0]  # this file's folder, in which other modules would be found under the names of real ones
    _install()
    from autoscaler.__main__ import main

    main()
