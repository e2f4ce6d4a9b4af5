"""Sends notices to the webhook that the configuration names."""

from autoscaler.notify.notifier import Notifier

__all__ = ["Notifier"]
