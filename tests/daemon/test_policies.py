"""A policy is let go only when the back end says of its target that it, or its policy, is gone."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import pytest

from autoscaler.config.origins import Key, Origins
from autoscaler.config.settings import Settings
from autoscaler.convert.discovered import Policy
from autoscaler.errors import TargetError, TargetForbidden, TargetNotFound, TargetUnavailable
from autoscaler.model import TargetRef
from autoscaler.runtime import policies as looks
from autoscaler.runtime.discovered_list import connection_row
from autoscaler.runtime.policies import Finding
from autoscaler.target import AutoscalerBody, Discovery

NOW: Final = datetime(2026, 1, 1, tzinfo=UTC)
WEB: Final = TargetRef("nomad", "web/web", "shop")
API: Final = TargetRef("nomad", "api/api", "shop")
BOTH: Final = looks.after(
    Origins(Settings(Path("autoscaler.yaml"), {}, {}, ())),
    Discovery({WEB: {"Max": 3}, API: {"Max": 5}}, {}),
    ["shop"],
    NOW - timedelta(minutes=1),
    "nomad",
).origins


def after(policies: Mapping[TargetRef, Any], failures: Mapping[str, TargetError] | None = None) -> Finding:
    """Return what is known after an answer for the namespace of BOTH."""
    return looks.after(BOTH, Discovery(policies, failures or {}), ["shop"], NOW, "nomad")


def policies(known: Finding) -> Mapping[Key, Policy]:
    """Return the newest policies."""
    return {target: origin.newest.policy for target, origin in known.origins.table.items()}


def test_a_new_and_a_changed_policy_are_taken_up() -> None:
    """Each as it was answered."""
    new = TargetRef("nomad", "new/new", "shop")
    found = after({WEB: {"Max": 4}, API: {"Max": 5}, new: {"Max": 1}})
    assert policies(found) == {WEB: {"Max": 4}, API: {"Max": 5}, new: {"Max": 1}}
    assert (found.failures, found.at) == ({}, NOW)


def test_an_equal_policy_stays_the_same_object() -> None:
    """It is not read again, nor followed as a change."""
    assert after({WEB: {"Max": 3}, API: {"Max": 5}}).origins.table[WEB] is BOTH.table[WEB]


def test_a_target_that_is_gone_is_let_go() -> None:
    """The others stay."""
    assert policies(after({WEB: TargetNotFound("job not found"), API: {"Max": 5}})) == {API: {"Max": 5}}


@pytest.mark.parametrize("error", [TargetForbidden("403"), TargetUnavailable("500"), TargetError("what")])
def test_another_error_of_a_target_keeps_its_policy(error: TargetError) -> None:
    """And says why nothing new is known."""
    found = after({WEB: error, API: {"Max": 6}})
    assert policies(found) == {WEB: {"Max": 3}, API: {"Max": 6}}
    assert found.failures == {"shop/web/web": str(error)}


def test_an_empty_answer_lets_nothing_go() -> None:
    """An adapter that says nothing of a known target says not that it is gone."""
    assert after({}).origins == BOTH


def test_a_namespace_that_fails_keeps_its_policies() -> None:
    """A lost right is not a deleted job."""
    found = after({}, {"shop": TargetForbidden("403")})
    assert (found.origins, found.failures) == (BOTH, {"shop": "403"})


def test_a_failed_call_keeps_everything() -> None:
    """There is no new time of an answer."""
    found = looks.after(BOTH, TargetUnavailable("down"), ["shop"], NOW, "nomad")
    assert found == Finding(BOTH, {"shop": "down"})


def test_targets_without_namespaces_are_kept_while_their_back_end_is_silent() -> None:
    """It is named by its connection, and a target by its name."""
    service = TargetRef("swarm", "web")
    main = Origins(Settings(Path("autoscaler.yaml"), {}, {}, ()))
    known = looks.after(main, Discovery({service: AutoscalerBody("{}")}, {}), [], NOW, "swarm").origins
    silent = looks.after(known, TargetUnavailable("no answer"), [], NOW, "swarm")
    assert silent == Finding(known, {"swarm": "no answer"})
    refused = looks.after(known, Discovery({service: TargetForbidden("403")}, {}), [], NOW, "swarm")
    assert (refused.origins, refused.failures) == (known, {"web": "403"})
    gone = looks.after(known, Discovery({service: TargetNotFound("gone")}, {}), [], NOW, "swarm")
    assert gone.origins.table == {}


def test_a_failure_of_a_connection_names_it_once() -> None:
    """Its row and its problem begin with the name."""
    row = connection_row("swarm", None, {"swarm": "no answer", "web": "403"}, ())
    assert (row.failures, row.failing) == (("no answer", "web: 403"), 2)


def test_the_policies_of_a_namespace_that_is_not_granted_are_let_go() -> None:
    """Also while the back end does not answer: the operator has taken the grant back."""
    assert looks.after(BOTH, TargetUnavailable("down"), ["pay"], NOW, "nomad").origins.table == {}
