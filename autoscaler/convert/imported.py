"""What `import` makes of an autoscaler of another system."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from pydantic import BaseModel, ValidationError

from autoscaler.config.document import Loc
from autoscaler.config.problems import Problems
from autoscaler.convert.blocks import AutoscalerBlock

NO_ADAPTER: Final = "CHANGE-ME"
_NOMAD: Final = "nomad"
_ModelT = TypeVar("_ModelT", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Destination:
    """The connection that has the targets."""

    adapter: str = NO_ADAPTER
    """Its name in `adapters`."""
    type: str | None = None
    """Its adapter's type; None: unknown."""

    def target(self, name: str) -> str:
        """Return the target's name. Kubernetes has no task groups; that the group has its job's name is a guess."""
        return f"{name}/{name}" if self.type == _NOMAD else name


@dataclass(frozen=True, slots=True)
class Imported:
    """One autoscaler."""

    place: str
    """`file:line:column`."""
    namespace: str
    block: AutoscalerBlock
    todo: Sequence[str] = ()
    """What its operator completes or checks."""
    differences: Sequence[str] = ()
    """Where it scales differently than the original."""
    left_out: Sequence[str] = ()
    """What of the original it does not have: it scales differently, and discovery refuses it."""


def read_model(model: type[_ModelT], value: Any, loc: Loc, problems: Problems) -> _ModelT | None:
    """Return the model, in which null means omitted; None: its problems were added to `problems`."""
    known: Mapping[str, Any] = {}
    if isinstance(value, dict):
        known = {key: each for key, each in value.items() if each is not None}
    try:
        return model.model_validate(known, by_alias=True, by_name=False)
    except ValidationError as error:
        problems.add_validation(error, model, loc)
        return None
