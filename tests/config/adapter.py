"""Adapter types for tests, loaded through the registry like any other."""

from typing import Any

from autoscaler.model import TargetRef
from autoscaler.target import AdapterSettings, ExistingPath, NodeDrain
from tests.replaced import replace


class GroupsSettings(AdapterSettings):
    """A section with a nested secret and a default namespace."""

    namespace: str = "default"
    token_file: ExistingPath | None = None
    retries: int = 3


class Groups:
    """A type that accepts a namespace and victims and requires names of the form `job/group`."""

    Settings = GroupsSettings
    target_keys = frozenset({"namespace", "victims"})

    def __init__(self, context: Any) -> None:
        raise AssertionError("loading a configuration builds no connection")

    @staticmethod
    def target_problem(target: TargetRef, settings: Any) -> str | None:
        """Refuse a name without a slash, and all namespaces at once."""
        if target.namespace == "*":
            return "namespace: '*' is not a single namespace; name one"
        return None if "/" in target.name else f"name: {target.name!r} is not a valid target name; expected JOB/GROUP"

    @staticmethod
    def canonical(target: TargetRef, settings: Any) -> TargetRef:
        """Fill in the connection's namespace."""
        return replace(target, namespace=target.namespace or settings.namespace)


class Faulty(Groups):
    """A type whose settings raise."""

    class Settings(GroupsSettings):
        """Raises for every section."""

        def model_post_init(self, context: Any) -> None:
            """Fail."""
            raise KeyError("retries")


class Nodes(Groups):
    """A type that drains nodes."""

    def drain_node(self, *_: object) -> NodeDrain:
        """Is never called."""
        return NodeDrain.DONE


class Nervous(Groups):
    """A type that raises for every target."""

    @staticmethod
    def target_problem(target: TargetRef, settings: Any) -> str | None:
        """Fail."""
        raise ZeroDivisionError("no groups")


class Lost(Groups):
    """A type that does not know where its targets are."""

    @staticmethod
    def place(settings: Any) -> str:
        """Fail."""
        raise LookupError("nowhere")
