"""What every adapter checks just before it sends a write: whether the target is still as the decision saw it."""

from typing import Final

from autoscaler.model import Conflict, Held, Hold, ScaleChange, Unchanged

_FREE: Final = Hold()


def check_before_write(
    what: str, change: ScaleChange, size: int, revision: str | None = None, hold: Hold = _FREE
) -> Unchanged | Conflict | Held | None:
    """Return the outcome of a write that must not be sent, or None: send it.

    `what` names the target in messages. `size`, `revision` and `hold` are the target's, read just before the write.
    Where several outcomes apply, the first one is returned:

    1. Unchanged: the target has the size, whoever set it, so there is nothing to write. A write whose answer was lost
       and that is sent again ends here.
    2. Conflict: the size or the revision is not the one that the decision saw. The decision is void, and its direction
       with it, so no hold is judged by it.
    3. Held: an operation holds the direction of the change.
    """
    if size == change.size:
        return Unchanged()
    if size != change.decided_from:
        return Conflict(f"{what} has the size {size} by now; the decision saw {change.decided_from}")
    if change.revision not in (None, revision):
        return Conflict(
            f"{what} was changed or created anew since it was observed: it has the revision {revision}; the decision "
            f"saw {change.revision}"
        )
    held = hold.scale_out if change.size > size else hold.scale_in
    return None if held is None else Held(held)
