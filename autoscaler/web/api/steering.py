"""Operators' pauses, resumes and overrides, checked against the configuration and saved."""

from collections.abc import Callable, Collection, Mapping
from datetime import datetime
from typing import Final

from msgspec.structs import replace

from autoscaler.fields.types import suggest
from autoscaler.logger import Logger
from autoscaler.model import Autoscaler, Event, ManualControls, Override, Pause
from autoscaler.rules.manual import overridden, paused, resumed
from autoscaler.text import count
from autoscaler.view.steering import PauseDocument, SteeringDocument
from autoscaler.view.summary import SteeredList
from autoscaler.web.api.answers import ErrorType, RequestError
from autoscaler.web.api.parameters import (
    ManyBody,
    OverrideBody,
    PauseBody,
    PauseManyBody,
    ResumeBody,
    ResumeManyBody,
)
from autoscaler.web.sources import Sources

_NOTHING: Final = ManualControls()


class SteeringChanges:
    """Changes pauses and overrides, from any thread. Every method raises RequestError and StateError."""

    def __init__(self, sources: Sources, logger: Logger) -> None:
        self._sources = sources
        self._logger = logger

    def pause_autoscaler(self, name: str, body: PauseBody, by: str) -> SteeringDocument:
        """Write no size in a direction.

        It replaces an earlier pause.
        """
        self._configured(name)
        _, kept = self._pause([name], body, by, {"autoscaler": name})
        return SteeringDocument.of(kept[name])

    def pause_autoscalers(self, body: PauseManyBody, by: str) -> SteeredList:
        """Write no size in a direction, for all autoscalers or those whose labels match.

        All of them are paused in one transaction.
        """
        names, which = self._chosen(body)
        pause, _ = self._pause(names, body, by, _several(names, which))
        return SteeredList(autoscalers=names, total=len(names), pause=PauseDocument.of(pause))

    def override_autoscaler(self, name: str, body: OverrideBody, by: str) -> SteeringDocument:
        """Set temporary bounds.

        They replace an earlier override.
        """
        now = self._sources.clock.now()
        _check_bounds(self._configured(name), body)
        grant = self._sources.settings().grant_of(name)
        if grant is not None and max(body.minimum or 0, body.maximum or 0) > grant.max_replicas:
            most = count(grant.max_replicas, "replica")
            message = f"the autoscaler's grant allows at most {most}; give no more, or raise that"
            raise RequestError(ErrorType.CONFLICT, message)
        override = Override(body.minimum, body.maximum, by, body.reason, now, body.end(now))
        kept = self._change([name], lambda before: replace(before, override=override), overridden(override), now)
        self._logger.info("overridden", autoscaler=name, minimum=body.minimum, maximum=body.maximum, **_asked(override))
        return SteeringDocument.of(kept[name])

    def resume_autoscaler(self, name: str, body: ResumeBody, by: str) -> SteeringDocument:
        """Remove a pause and an override.

        Neither need exist.
        """
        self._configured(name)
        self._resume([name], body, by)
        self._logger.info("resumed", autoscaler=name, **_resumption(body, by))
        left = self._sources.state.archive.steering().get(name, _NOTHING)
        return SteeringDocument.of(left.at(self._sources.clock.now()))

    def resume_autoscalers(self, body: ResumeManyBody, by: str) -> SteeredList:
        """Remove the pauses and overrides of all autoscalers, or of those whose labels match.

        This is one transaction. All includes autoscalers that left the configuration, so that one that returns is not
        paused.
        """
        names, which = self._chosen(body)
        changed = self._resume(None if body.all else names, body, by)
        self._logger.info("resumed", **_several(changed, which), **_resumption(body, by))
        return SteeredList(autoscalers=changed, total=len(changed), pause=None)

    def _pause(
        self, names: Collection[str], body: PauseBody, by: str, logged: Mapping[str, object]
    ) -> tuple[Pause, Mapping[str, ManualControls]]:
        now = self._sources.clock.now()
        pause = Pause(body.direction, by, body.reason, now, body.end(now))
        kept = self._change(names, lambda before: replace(before, pause=pause), paused(pause), now)
        self._logger.info("paused", **logged, direction=pause.direction.value, **_asked(pause))
        return pause, kept

    def _resume(self, names: Collection[str] | None, body: ResumeBody, by: str) -> tuple[str, ...]:
        """Return which of these names had something to remove; None: of all that are steered."""
        now = self._sources.clock.now()

        def changes(known: Mapping[str, ManualControls]) -> Mapping[str, ManualControls]:
            before = {
                name: known[name].at(now) for name in sorted(known.keys() if names is None else known.keys() & names)
            }
            after = {
                name: ManualControls(None if body.pause else one.pause, None if body.override else one.override)
                for name, one in before.items()
            }
            return {name: one for name, one in after.items() if one != before[name]}

        def event(before: ManualControls, after: ManualControls) -> Event | None:
            return resumed(before.at(now), after, by, body.reason)

        return tuple(self._sources.state.change_steering(changes, event, now))

    def _chosen(self, body: ManyBody) -> tuple[tuple[str, ...], str]:
        """Return the names, sorted, and a description of the selection."""
        selector, scalers = body.label_selector, self._sources.settings().autoscalers
        if body.all is (selector is not None and bool(selector.requirements)):
            raise RequestError(
                ErrorType.CONFLICT, "give either all (true), or a labelSelector with a term such as team=shop"
            )
        names = [one.name for one in scalers if selector is None or selector.matches(dict(one.labels))]
        if not names:
            raise RequestError(
                ErrorType.NOT_FOUND,
                "no autoscaler is configured"
                if selector is None
                else f"no autoscaler's labels match {selector.text[:200]!r}; `autoscaler get -o json` shows them",
            )
        return tuple(sorted(names)), "all" if selector is None else selector.text

    def _configured(self, name: str) -> Autoscaler:
        known = {scaler.name: scaler for scaler in self._sources.settings().autoscalers}
        if name not in known:
            message = f"no autoscaler {name[:64]!r} is configured; {suggest(name, known)}"
            raise RequestError(ErrorType.NOT_FOUND, message)
        return known[name]

    def _change(
        self, names: Collection[str], change: Callable[[ManualControls], ManualControls], event: Event, now: datetime
    ) -> Mapping[str, ManualControls]:
        """Change what is in force now for each name. Returns what is kept."""
        return self._sources.state.change_steering(
            lambda known: {name: change(known.get(name, _NOTHING).at(now)) for name in names},
            lambda _before, _after: event,
            now,
        )


def _several(names: Collection[str], which: str) -> dict[str, object]:
    """Return the log's keys of selected autoscalers."""
    return {"autoscalers": len(names), "which": which, "names": tuple(names)}


def _resumption(body: ResumeBody, by: str) -> dict[str, object]:
    return {"pause": body.pause, "override": body.override, "by": by, "reason": body.reason}


def _asked(given: Pause | Override) -> dict[str, str | None]:
    """Return the log's keys about who asked, why and until when."""
    until = None if given.until is None else given.until.isoformat(timespec="seconds")
    return {"by": given.by, "reason": given.reason, "until": until}


def _check_bounds(scaler: Autoscaler, body: OverrideBody) -> None:
    if body.minimum is None and body.maximum is None:
        raise RequestError(ErrorType.CONFLICT, "neither minimum nor maximum is given; give one, or resume")
    minimum = scaler.min_replicas if body.minimum is None else body.minimum
    maximum = scaler.max_replicas if body.maximum is None else body.maximum
    if minimum > maximum:
        low = "the configured minReplicas" if body.minimum is None else "the minimum"
        high = "the configured maxReplicas" if body.maximum is None else "the maximum"
        raise RequestError(
            ErrorType.CONFLICT,
            f"{low} {minimum} is above {high} {maximum}; lower the minimum, or raise the maximum",
        )
    if minimum == 0 and all(metric.type.per_instance for metric in scaler.metrics):
        raise RequestError(
            ErrorType.CONFLICT, "a minimum of 0 needs an Object or External metric to scale out again; give 1 or more"
        )
