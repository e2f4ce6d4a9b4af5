"""Drains an instance by a program on the daemon's machine, which succeeds when the instance is drained."""

from typing import Final

from autoscaler.drain.attempt import ActionContext, Attempt
from autoscaler.net.programs import ProgramFailed, run

INSTANCE_VARIABLE: Final = "AUTOSCALER_INSTANCE"
ADDRESS_VARIABLE: Final = "AUTOSCALER_ADDRESS"


def drain(command: tuple[str, ...], now: ActionContext) -> Attempt:
    """Run the program until it ends, or its process group is ended because it may not go on."""
    address = now.waiting.addresses[0] if now.waiting.addresses else ""
    try:
        run(command, now.go_on, env={INSTANCE_VARIABLE: now.waiting.instance, ADDRESS_VARIABLE: address})
    except ProgramFailed as error:
        return Attempt(done=False, detail=str(error))
    return Attempt(done=True)
