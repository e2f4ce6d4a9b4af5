"""The events of a target's warnings: one when a warning begins."""

from autoscaler.model import Event, EventType, History, Reason, TargetState


def new_warnings(history: History, state: TargetState) -> list[Event]:
    """Return an event for each warning of the target that it did not have when it was last read."""
    new = [text for text in state.warnings if text not in history.warnings]
    return [Event(EventType.WARNING, Reason.TARGET_WARNING, text) for text in new]
