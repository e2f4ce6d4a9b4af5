"""An adapter type of the tests' own, loaded through the registry like any other."""

from typing import Any

from autoscaler.model import TargetRef
from autoscaler.target import AdapterSettings, ExistingPath
from tests.replaced import replace


class GroupsSettings(AdapterSettings):
    """A section with a nested secret and a default namespace."""

    namespace: str = "default"
    token_file: ExistingPath | None = None
    retries: int = 3


class Groups:
    """A type that takes a namespace and victims, and knows that a name is `job/group`."""

    Settings = GroupsSettings
    target_keys = frozenset({"namespace", "victims"})

    def __init__(self, context: Any) -> None:
        raise AssertionError("loading a configuration builds no connection")

    @staticmethod
    def target_problem(target: TargetRef, settings: Any) -> str | None:
        """Wrong without a slash, and in all namespaces."""
        if target.namespace == "*":
            return "namespace: '*' is not a single namespace; name one"
        return None if "/" in target.name else f"name: {target.name!r} is not a valid target name; expected JOB/GROUP"

    @staticmethod
    def canonical(target: TargetRef, settings: Any) -> TargetRef:
        """In the connection's namespace, without one of its own."""
        return replace(target, namespace=target.namespace or settings.namespace)


class Faulty(Groups):
    """A type whose own code fails."""

    class Settings(GroupsSettings):
        """Fails on every section."""

        def model_post_init(self, context: Any) -> None:
            """Fail."""
            raise KeyError("retries")


class Nervous(Groups):
    """A type that fails on every target."""

    @staticmethod
    def target_problem(target: TargetRef, settings: Any) -> str | None:
        """Fail."""
        raise ZeroDivisionError("no groups")
