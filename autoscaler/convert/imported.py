"""What `import` makes of an autoscaler of another system."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Annotated, Any, Final, TypeAlias, TypeVar

from pydantic import BaseModel, BeforeValidator

from autoscaler.config.problems import Problems
from autoscaler.convert.blocks import AutoscalerBlock, MetricBlock
from autoscaler.errors import QuantityError
from autoscaler.fields.find_values import Loc
from autoscaler.quantity import parse_exact
from autoscaler.target import load

NO_ADAPTER: Final = "CHANGE-ME"
MAX_NAME: Final = 64
"""Characters of a name that a message shows."""
_NOMAD: Final = "nomad"
_TEXTS: Final = ("annotations", "labels", "matchLabels")
"""Fields of Kubernetes' objects that are mappings of texts."""
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

    @property
    def reserves(self) -> bool:
        """Return whether its instances are known to have reservations of their own."""
        return self.type is not None and not load(self.type).without_requests


@dataclass(slots=True)
class Found:
    """What an autoscaler becomes, as its parts are read."""

    metrics: list[MetricBlock] = field(default_factory=list)
    schedules: list[Mapping[str, Any]] = field(default_factory=list)
    todo: list[str] = field(default_factory=list)
    differences: list[str] = field(default_factory=list)


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
    parts: tuple[str, ...] = ()
    """The parts of the target's name, where the original tells them apart: a job and its group."""

    @property
    def unreadable(self) -> str | None:
        """Return why the target's name would be read as that of another job and group; None: it would not."""
        if not self.parts or "/" not in self.parts[-1]:
            return None
        return f"{self.block.target} would be read as another job and group; rename the group {self.parts[-1]}"

    def renamed(self, name: str) -> "Imported":
        """Return the same with another name, also in the commands that it advises."""
        old = re.compile(rf"\b(autoscaler (?:pause|override)) {re.escape(self.block.name)}(?![-.\w])")
        texts = [
            [old.sub(rf"\1 {name}", text) for text in each] for each in (self.todo, self.differences, self.left_out)
        ]
        todo, differences, left_out = texts
        block = replace(self.block, name=name)
        return replace(self, block=block, todo=todo, differences=differences, left_out=left_out)


def _as_text(value: Any) -> Any:
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int | float) else value


AnyText: TypeAlias = Annotated[str, BeforeValidator(_as_text)]
"""A text, also where it is written without quotes, so that YAML or JSON has a number or a truth value."""


def number_of(what: str, text: str) -> Fraction:
    """Return the number of at least 0 in a text. Raises ValueError, which names `what` it is."""
    try:
        number = parse_exact(text)
    except QuantityError:
        number = Fraction(-1)
    if number < 0:
        raise ValueError(f"{what} is {text[:MAX_NAME]!r}; write a number of at least 0")
    return number


def plain_cron(text: str) -> str:
    """Return a cron expression without `?`, which is `*` in KEDA and in the Nomad Autoscaler."""
    return " ".join(text.replace("?", "*").split())


def without_nulls(value: Any) -> Any:
    """Return an object of Kubernetes without the fields that are null: its API server takes null for omitted.

    In a mapping of texts null is an empty text, as Go's decoder makes it.
    """
    if isinstance(value, list):
        return [without_nulls(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {
        key: _texts(each) if key in _TEXTS and isinstance(each, dict) else without_nulls(each)
        for key, each in value.items()
        if each is not None
    }


def _texts(value: Mapping[str, Any]) -> Mapping[str, Any]:
    return {key: "" if each is None else each for key, each in value.items()}


def read_model(model: type[_ModelT], value: Any, loc: Loc, problems: Problems) -> _ModelT | None:
    """Return the model, in which null means omitted; None: its problems were added to `problems`."""
    known: Mapping[str, Any] = {}
    if isinstance(value, dict):
        known = {key: each for key, each in value.items() if each is not None}
    return problems.read(model, known, loc)
