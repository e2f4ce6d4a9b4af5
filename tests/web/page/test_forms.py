"""The forms of an autoscaler's page, as htmx sends them."""

from collections.abc import Mapping

import pytest

from autoscaler.model import Direction, ManualControls
from tests.web.serving import Served
from tests.web.unix import THIS_USER

PAGE = "/autoscalers/web"
HTMX = {"HX-Request": "true"}
PAUSE = {"action": "pause"}


def submit(served: Served, fields: Mapping[str, str], headers: Mapping[str, str] = HTMX) -> str:
    """Why the change was not made, as the page answers."""
    answer = served.control.post(f"http://localhost{PAGE}", data=dict(fields), headers=dict(headers), timeout=30)
    assert answer.status_code == 200
    said = answer.text.partition('<p id="answer" role="alert" hx-swap-oob="innerHTML">')[2]
    return said.partition("</p>")[0]


def kept(served: Served) -> ManualControls:
    return served.daemon.state.archive.steering().get("web", ManualControls())


def test_each_action_takes_its_fields_of_the_one_form(served: Served) -> None:
    """An empty field counts as not given."""
    form = {"reason": "sale", "for": "2h", "direction": "in", "minimum": "", "maximum": "9"}

    assert submit(served, form | {"action": "pause"}) == ""
    assert submit(served, form | {"action": "override", "for": ""}) == ""

    pause, override = kept(served).pause, kept(served).override
    assert pause is not None
    assert override is not None
    assert (pause.direction, pause.by, pause.reason) == (Direction.IN, THIS_USER, "sale")
    assert (override.minimum, override.maximum, override.until) == (None, 9, None)
    assert submit(served, {"action": "resume"}) == ""
    assert (kept(served).pause, kept(served).override) == (None, override)
    assert submit(served, {"action": "end-override"}) == ""
    assert kept(served) == ManualControls()


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"action": "override"}, "neither minimum nor maximum is given; give one, or resume"),
        ({"action": "override", "minimum": "many"}, "minimum: input should be a valid integer"),
        ({"action": "pause", "for": "2 hours"}, "for: 2 hours is not accepted; use 90s, 1h30m or 2d"),
        ({"action": "pause", "reason": "a\nb"}, "reason: string should match pattern"),
        ({"action": "<b>"}, "the form has no known action; reload the page"),
        ({}, "the form has no known action; reload the page"),
        ({"action": "pause", "reason": "x" * 70_000}, "the body is longer than 65536 bytes; shorten it"),
        ({f"field{number}": "x" for number in range(40)}, "the body is not a valid form"),
    ],
)
def test_a_change_that_is_refused_is_explained(served: Served, fields: dict[str, str], said: str) -> None:
    assert submit(served, fields).startswith(f"Not done: {said}")
    assert kept(served) == ManualControls()


def test_only_the_page_s_script_sends_its_forms(served: Served) -> None:
    """CSRF: a browser sends another site's form without the header, and asks before a script may add it."""
    assert submit(served, PAUSE, {}).startswith("Not done: the page&#39;s script did not send the form")
    assert submit(served, PAUSE, HTMX | {"Content-Type": "text/plain"}).startswith("Not done: the body is of")
    assert kept(served) == ManualControls()
