"""A target as text, as it is in the state."""

from functools import lru_cache

import msgspec

from autoscaler.model import Decision, TargetRef


@lru_cache(maxsize=65_536)  # called several times a cycle for every decision
def target_text(target: TargetRef) -> str:
    """Return a target as its column: a JSON array without trailing nulls."""
    parts = [target.adapter, target.name, target.namespace, target.region]
    while parts[-1] is None:
        parts.pop()
    return msgspec.json.encode(
        [part and part.encode("utf-8", "surrogatepass").decode("latin-1") for part in parts]
    ).decode()


def target_from(text: str) -> TargetRef:
    """Return the target that `target_text` wrote."""
    parts = msgspec.json.decode(text, type=list[str | None])
    return TargetRef(*[part and part.encode("latin-1").decode("utf-8", "surrogatepass") for part in parts])  # type: ignore[arg-type]  # the first two are never None


def name_of(made: Decision) -> tuple[str, str]:
    """Return the name of the decision's autoscaler, and its target as `target_text` writes it."""
    return made.name, target_text(made.target)
