"""Filters and sorts the autoscalers of the list before a page of them is written."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any, Final
from urllib.parse import urlencode

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    field_validator,
)

from autoscaler.errors import SelectorError
from autoscaler.labels import Selector
from autoscaler.model import Autoscaler, Decision, ManualControls, TargetRef
from autoscaler.view.verdict import AutoscalerState, states

PAGE_ROWS: Final = 100
URGENCY: Final = (
    AutoscalerState.FAILING,
    AutoscalerState.HELD,
    AutoscalerState.LIMITED,
    AutoscalerState.PAUSED,
    AutoscalerState.DISABLED,
    AutoscalerState.SCALING,
    AutoscalerState.STABILIZING,
    AutoscalerState.UNKNOWN,
    AutoscalerState.IDLE,
    AutoscalerState.STEADY,
)
"""States, most urgent first."""


class Order(StrEnum):
    """The order of the list."""

    NAME = "name"
    STATE = "state"
    """Most urgent first."""
    SIZE = "size"
    """Largest first."""
    LOAD = "load"
    """By the ratio of the worst metric to its target."""


class ListQuery(BaseModel):
    """The list's parameters, as in the address. An invalid one selects everything."""

    model_config = ConfigDict(frozen=True, str_strip_whitespace=True, defer_build=True)

    q: Annotated[str, Field(max_length=253)] = ""
    """Part of a name or a target."""
    labels: str = ""
    """A label selector as typed."""
    state: AutoscalerState | None = None
    adapter: Annotated[str, Field(max_length=253)] = ""
    sort: Order = Order.NAME
    page: Annotated[int, Field(ge=1, le=99_999)] = 1

    @field_validator("*", mode="wrap")
    @classmethod
    def _else_default(cls, value: Any, valid: ValidatorFunctionWrapHandler, info: ValidationInfo) -> Any:
        try:
            return valid(value)
        except ValidationError:
            return cls.model_fields[info.field_name or ""].default

    def address(self, **changes: Any) -> str:
        """Return a link to the list with these changes, to the first page unless a page is given."""
        new = self.model_copy(update={"page": 1} | changes)
        return "/?" + urlencode(new.model_dump(mode="json", exclude_defaults=True))


@dataclass(frozen=True, slots=True)
class Entry:
    """The fields of one autoscaler for filtering and sorting."""

    name: str
    target: TargetRef
    labels: tuple[tuple[str, str], ...]
    """The configured ones."""
    states: tuple[AutoscalerState, ...]
    """Those whose filters include it, the most urgent first."""
    size: int
    """The last size read; -1 when unknown."""
    load: float
    """The largest ratio of a metric to its target; -1 without one."""


@dataclass(frozen=True, slots=True)
class Listing:
    """One page of the list, and the filters' choices."""

    wanted: ListQuery
    entries: Sequence[Entry]
    """The entries of this page."""
    found: int
    """Entries on all pages."""
    total: int
    """Entries without a filter."""
    pages: int
    states: Mapping[AutoscalerState, int]
    """Autoscalers in each state, most urgent state first. One that fails and is paused counts in both."""
    adapters: Sequence[str]
    labelled: bool
    """True when any autoscaler has labels."""
    problem: str
    """What is wrong with the label selector, which then selects nothing; empty: it is valid."""

    @property
    def first(self) -> int:
        """Return the number of the page's first row, counted from 1."""
        return (self.wanted.page - 1) * PAGE_ROWS + 1


_KEYS: Final[Mapping[Order, Callable[[Entry], Any]]] = {
    Order.NAME: lambda entry: entry.name,
    Order.STATE: lambda entry: (URGENCY.index(entry.states[0]), entry.name),
    Order.SIZE: lambda entry: (-entry.size, entry.name),
    Order.LOAD: lambda entry: (-entry.load, entry.name),
}


def entries(
    scalers: Mapping[str, Autoscaler], latest: Mapping[str, Decision], steering: Mapping[str, ManualControls]
) -> Sequence[Entry]:
    """Return every configured or remembered autoscaler. `steering`: the active pauses and overrides."""
    found = []
    for name in scalers.keys() | latest.keys():
        scaler, decision = scalers.get(name), latest.get(name)
        given = steering.get(name, ManualControls())
        size, metrics = (None, ()) if decision is None else (decision.current, decision.metrics)
        entry = Entry(
            name=name,
            target=latest[name].target if scaler is None else scaler.target,
            labels=() if scaler is None else scaler.labels,
            states=states(decision, given),
            size=-1 if size is None else size,
            load=max((metric.ratio for metric in metrics if metric.ratio is not None), default=-1.0),
        )
        found.append(entry)
    return found


def listing(known: Sequence[Entry], wanted: ListQuery) -> Listing:
    """Return the requested page, or the last page."""
    counted = Counter(state for entry in known for state in entry.states)
    selector, problem = _selector(wanted.labels)
    fitting = [] if problem else [entry for entry in known if _fits(entry, wanted, selector)]
    found = sorted(fitting, key=_KEYS[wanted.sort])
    pages = max(1, -(-len(found) // PAGE_ROWS))
    page = min(wanted.page, pages)
    return Listing(
        wanted=wanted.model_copy(update={"page": page}),
        entries=found[(page - 1) * PAGE_ROWS : page * PAGE_ROWS],
        found=len(found),
        total=len(known),
        pages=pages,
        states={state: counted[state] for state in URGENCY if counted[state]},
        adapters=sorted({entry.target.adapter for entry in known}),
        labelled=any(entry.labels for entry in known),
        problem=problem,
    )


def _selector(text: str) -> tuple[Selector | None, str]:
    """Return the typed selector, if any, and what is wrong with it."""
    try:
        return (Selector.parse(text) if text else None), ""
    except SelectorError as error:
        return None, str(error)


def _fits(entry: Entry, wanted: ListQuery, selector: Selector | None) -> bool:
    text = wanted.q.lower()
    return (
        (wanted.state is None or wanted.state in entry.states)
        and (not wanted.adapter or entry.target.adapter == wanted.adapter)
        and (not text or text in entry.name.lower() or text in str(entry.target).lower())
        and (selector is None or selector.matches(dict(entry.labels)))
    )
