"""AWS refuses, fails, or answers with invalid data, in JSON.

What the requests of all services of AWS share is tested with Auto Scaling groups.
"""

import json

import pytest

from autoscaler.errors import TargetError, TargetForbidden, TargetNotWritten, TargetUnavailable
from autoscaler.model import TargetRef
from tests.adapters.aws_ecs.conftest import Cloud, LiveAdapter
from tests.servers.faults import Fault

pytestmark = pytest.mark.slow
_JSON = "application/x-amz-json-1.1"


def _error(code: str, message: str) -> str:
    return json.dumps({"__type": f"com.amazonaws.ecs#{code}", "message": message})


_FAULTS = {
    "forbidden": (
        Fault("", 400, _error("AccessDeniedException", "not authorized"), _JSON),
        TargetForbidden,
        "aws-ecs.md",
    ),
    "bad gateway": (Fault("", 502, "<html>bad gateway</html>"), TargetUnavailable, "502"),
    "not JSON": (Fault("", 200, "welcome"), TargetUnavailable, "endpointUrl"),
    "another object": (Fault("", 200, '{"groups": []}', _JSON), TargetUnavailable, "endpointUrl"),
    "cut off": (Fault("", 200, '{"services": [{"serviceName": "we', _JSON), TargetUnavailable, "not JSON"),
    "null": (Fault("", 200, '{"services": null}', _JSON), TargetUnavailable, "endpointUrl"),
    "numbers": (Fault("", 200, '{"services": [1, 2]}', _JSON), TargetUnavailable, "endpointUrl"),
}
_NO_ANSWERS = ("bad gateway", "not JSON", "another object", "cut off")


@pytest.mark.parametrize("name", _FAULTS)
def test_a_fault_of_a_read_is_reported_as_what_it_is(cloud: Cloud, connection: LiveAdapter, name: str) -> None:
    """The message has AWS's words or the likely cause."""
    cloud.create("shop/web", 2)
    fault, error, said = _FAULTS[name]
    cloud.server.faults.faults.append(fault)
    found = connection.look("shop/web")
    assert isinstance(found, error)
    assert said in str(found)


@pytest.mark.parametrize("name", _NO_ANSWERS)
def test_a_write_without_an_answer_of_aws_may_have_been_done(cloud: Cloud, connection: LiveAdapter, name: str) -> None:
    """A proxy's page with the status 200 is no success, neither of a write nor of a write test."""
    cloud.create("shop/web", 2)
    seen = connection.state("shop/web")
    fault = _FAULTS[name][0]
    cloud.server.faults.faults.append(Fault("ecs:UpdateService", fault.status, fault.body, fault.content_type))
    found = connection.scale("shop/web", seen, 3)
    assert isinstance(found, TargetUnavailable)
    assert not isinstance(found, TargetNotWritten)
    with pytest.raises(TargetError):
        connection.adapter.try_write(TargetRef("test", "shop/web"), connection.call())
    assert connection.state("shop/web").replicas == 2
