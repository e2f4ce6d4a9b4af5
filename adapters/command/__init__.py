"""Any back end behind two programs of the operator, which speak JSON."""

from adapters.command.adapter import CommandAdapter

__all__ = ["CommandAdapter"]
