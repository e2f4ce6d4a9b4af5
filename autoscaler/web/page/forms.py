"""The forms of an autoscaler's page, which pause, override and resume it."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from starlette.requests import Request

from autoscaler.logger import Logger
from autoscaler.view.parameters import BadRequest, validated
from autoscaler.web.api.answers import refusal_of
from autoscaler.web.api.parameters import ChangeBody, OverrideBody, PauseBody, ResumeBody
from autoscaler.web.api.requests import fields_of
from autoscaler.web.api.steering import SteeringChanges
from autoscaler.web.sources import Sources


@dataclass(frozen=True, slots=True)
class _Action:
    """What a button of a form does, by an operation of the API."""

    model: type[ChangeBody]
    change: Callable[..., object]
    given: dict[str, Any] = field(default_factory=dict)
    """Keys of the body that no field has."""


class Forms:
    """Does what the forms ask for."""

    def __init__(self, sources: Sources, logger: Logger) -> None:
        self._logger, self._work = logger, sources.work
        changes = SteeringChanges(sources, logger)
        self._actions = {
            "pause": _Action(PauseBody, changes.pause_autoscaler),
            "override": _Action(OverrideBody, changes.override_autoscaler),
            "resume": _Action(ResumeBody, changes.resume_autoscaler, {"override": False}),
            "end-override": _Action(ResumeBody, changes.resume_autoscaler, {"pause": False}),
        }

    async def submitted(self, request: Request) -> str:
        """Make the change. Returns why it was not made; empty: it was."""
        try:
            fields = await fields_of(request)
            action = self._action(fields.get("action", ""))
            known = {each.alias or key for key, each in action.model.model_fields.items()}
            given = {name: _value(name, text) for name, text in fields.items() if name in known} | action.given
            body = validated(action.model, given, "field")
            name, by = request.path_params["name"], request.scope["user"] or ""
            await self._work.run(partial(action.change, name, body, by))
        except Exception as error:  # noqa: BLE001 - see `refusal_of`
            return f"Not done: {refusal_of(error, request.url.path, self._logger)}."
        return ""

    def _action(self, name: str) -> _Action:
        if name not in self._actions:
            raise BadRequest("the form has no known action; reload the page")
        return self._actions[name]


def _value(name: str, text: str) -> str | int:
    return int(text) if name in ("minimum", "maximum") and text.isdecimal() and len(text) < 20 else text
