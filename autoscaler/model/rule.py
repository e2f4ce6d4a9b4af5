"""What rules are configured to do, and what they remember, by the rule's name. Only `autoscaler.rules` knows more."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Any, ClassVar, Final, Self, TypeVar

from msgspec import Struct

from autoscaler.model.query import Query

_RuleT = TypeVar("_RuleT", bound="ConfiguredRule")
_MemoryT = TypeVar("_MemoryT", bound=Struct)


class ConfiguredRule:
    """The base of a rule's settings; `autoscaler.rules.Rule` says what a rule can do."""

    __slots__ = ()
    name: ClassVar[str]
    """In the state, and as the source of its steps."""
    by_calendar: ClassVar[bool] = False
    """Whether it reads the civil time, which all daemons that share a state then ask the database for."""
    follows_target: ClassVar[bool] = False
    """Whether its memory is of what happened to the target itself. A simulation begins without it."""

    @property
    def times(self) -> Iterable[timedelta]:
        """For how long something in the past changes what it says, in no order."""
        return ()

    def simulated(self) -> Self | None:
        """Return the rule for a simulation, where nothing else sets a size; None: it does nothing there."""
        return self

    @property
    def text(self) -> str:
        """What is configured, for `describe`: "2 spare instances"; empty: it is not shown, or has keys for it."""
        return ""

    @property
    def queries(self) -> Iterable[Query]:
        """The rule's own queries, beside those of the metrics."""
        return ()

    def with_queries(self, change: Callable[[Query], Query]) -> Self:  # noqa: ARG002 - it has none
        """Return the rule with its queries changed."""
        return self

    def within(self, ceiling: int) -> Self:  # noqa: ARG002 - it has none
        """Return the rule with every number of replicas at most `ceiling`."""
        return self

    def prepare(self, at: datetime) -> None:
        """Make ready what takes long, before the first cycle asks for it."""


class UnknownRule(ConfiguredRule):
    """The settings of a rule that is not installed, as they were read. It does nothing."""

    __slots__ = ("name", "settings")

    def __init__(self, name: str, settings: bytes) -> None:
        self.name = name  # type: ignore[misc]  # of any other rule it is the class's
        self.settings = settings

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UnknownRule) and (self.name, self.settings) == (other.name, other.settings)

    def __hash__(self) -> int:
        return hash((self.name, self.settings))


class Rules:
    """The settings of an autoscaler's rules, each at most once. Rules with their default settings may be absent."""

    __slots__ = ("_settings", "plan")

    plan: Any
    """What `autoscaler.rules` derives from the settings, once."""

    def __init__(self, settings: Iterable[ConfiguredRule] = ()) -> None:
        self._settings = tuple(sorted(settings, key=lambda rule: rule.name))

    def __iter__(self) -> Iterator[ConfiguredRule]:
        return iter(self._settings)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Rules) and self._settings == other._settings

    def __hash__(self) -> int:
        return hash(self._settings)

    def __repr__(self) -> str:
        return f"Rules({list(self._settings)})"

    def __reduce__(self) -> tuple[type["Rules"], tuple[tuple[ConfiguredRule, ...]]]:
        """Return how to make it again: without the plan, which is derived."""
        return Rules, (self._settings,)

    def find(self, kind: type[_RuleT]) -> _RuleT | None:
        """Return the settings of this kind; None: it is not configured."""
        for each in self._settings:
            if isinstance(each, kind):
                return each
        return None

    def replaced(self, *settings: ConfiguredRule) -> "Rules":
        """Return the rules with these settings in place of those of the same names."""
        names = {each.name for each in settings}
        return Rules([*[each for each in self._settings if each.name not in names], *settings])

    def without(self, kind: type[ConfiguredRule]) -> "Rules":
        """Return the rules without the settings of this kind."""
        return Rules([each for each in self._settings if not isinstance(each, kind)])


class Memories:
    """What an autoscaler's rules remember, by the rule's name. Immutable."""

    __slots__ = ("of",)

    of: Mapping[str, Struct | bytes]
    """Bytes are the memory of a rule that is not installed: it is kept as it was read."""

    def __init__(self, of: Mapping[str, Struct | bytes] = MappingProxyType({})) -> None:
        self.of = of

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Memories) and self.of == other.of

    def __hash__(self) -> int:
        return hash(tuple(sorted(self.of)))

    def __repr__(self) -> str:
        return f"Memories({dict(self.of)})"

    def __reduce__(self) -> tuple[type["Memories"], tuple[dict[str, Struct | bytes]]]:
        """Return how to make it again: a mapping proxy, as that of no memories, cannot be pickled."""
        return Memories, (dict(self.of),)

    def find(self, name: str, kind: type[_MemoryT]) -> _MemoryT | None:
        """Return the memory of the rule `name`, if it is of this kind; None: there is none."""
        found = self.of.get(name)
        return found if isinstance(found, kind) else None


NO_RULES: Final = Rules()
NO_MEMORIES: Final = Memories()
