"""Credentials, permissions and secrets."""

from pathlib import Path

import pytest

from autoscaler.errors import AdapterError, TargetForbidden, TargetNotFound, TargetUnavailable
from autoscaler.model import Held, TargetRef, Written
from tests.adapters.aws.connecting import least_policy
from tests.adapters.aws_asg.conftest import KEYS, Cloud, Connect
from tests.servers.certificates import Authority
from tests.servers.scripted import answering, scripted

pytestmark = pytest.mark.slow
_ROLE = "arn:aws:iam::123456789012:role/autoscaler"


def test_nothing_outside_the_documented_policy_is_called(cloud: Cloud, connect: Connect) -> None:
    """Every permission of the policy is needed: a least-privilege policy has no other."""
    connection = connect({"all": None}, endpointUrl=cloud.server.url)
    cloud.create("all", 6)
    assert connection.scale("all", connection.state("all"), 7) == Written(7)
    cloud.hook("all", "leave")
    state = connection.state("all")
    ids = tuple(one.name for one in state.instances)
    assert connection.scale("all", state, 6, victims=ids) == Written(6)
    (leaving,) = connection.state("all").awaiting_drain or ()
    connection.adapter.extend(TargetRef("test", "all"), leaving.instance, connection.call())
    connection.adapter.release(TargetRef("test", "all"), leaving.instance, connection.call())
    cloud.autoscaling.start_instance_refresh(AutoScalingGroupName="all")
    assert isinstance(connection.scale("all", connection.state("all"), 4), Held)
    cloud.world.launch_seconds = 3600
    cloud.set("all", 10)
    connection.state("all")
    called = {one.action for one in cloud.server.requests if one.access_key != "somebody"}
    assert called == least_policy("aws-asg.md")


def test_credentials_come_from_a_profile(
    cloud: Cloud, connect: Connect, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The profile's region applies without a configured one. A configured profile precedes the environment's keys."""
    profile = "[profile night]\nregion = eu-west-1\naws_access_key_id = by-profile\naws_secret_access_key = x\n"
    (tmp_path / "AWS_CONFIG_FILE").write_text(profile)
    cloud.create("profiled", 1)
    connect(endpointUrl=cloud.server.url, profile="night", region=None).state("profiled")
    assert {one.access_key for one in cloud.server.requests} - {"somebody"} == {"by-profile"}


def test_a_role_is_assumed_with_its_external_id(cloud: Cloud, connect: Connect) -> None:
    """STS is asked once; all other requests use the role's credentials."""
    cloud.create("assumed", 1)
    cloud.server.roles[_ROLE] = "customer-7"
    connection = connect(endpointUrl=cloud.server.url, roleArn=_ROLE, externalId="customer-7")
    assert connection.scale("assumed", connection.state("assumed"), 2) == Written(2)
    by_key = {(one.action.split(":")[0], one.access_key) for one in cloud.server.requests} - {
        ("autoscaling", "somebody")
    }
    assert ("sts", "ours") in by_key
    assert "ours" not in {key for service, key in by_key if service != "sts"}
    assert cloud.server.count("AssumeRole") == 1


def test_a_role_is_assumed_anew_before_its_credentials_expire(cloud: Cloud, connect: Connect) -> None:
    """STS credentials last an hour."""
    cloud.create("renewed", 1)
    connection = connect(endpointUrl=cloud.server.url, roleArn=_ROLE)
    connection.state("renewed")
    connection.state("renewed")
    assert cloud.server.count("AssumeRole") == 1
    cloud.world.advance(3400)
    connection.state("renewed")
    assert cloud.server.count("AssumeRole") > 1


@pytest.mark.parametrize("external", [{}, {"externalId": "customer-8"}])
def test_the_wrong_external_id_is_forbidden(cloud: Cloud, connect: Connect, external: dict[str, str]) -> None:
    """The message names the role, whose trust policy must be changed."""
    cloud.server.roles[_ROLE] = "customer-7"
    found = connect(endpointUrl=cloud.server.url, roleArn=_ROLE, **external).look("any")
    assert isinstance(found, TargetForbidden)
    assert _ROLE in str(found)


def test_no_credentials_are_forbidden(cloud: Cloud, connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    """An operator must act; a retry does not help."""
    for name in KEYS:
        monkeypatch.delenv(name)
    found = connect(endpointUrl=cloud.server.url).look("any")
    assert isinstance(found, TargetForbidden)
    assert "credentials" in str(found)


def test_a_profile_that_does_not_exist_stops_the_start(connect: Connect) -> None:
    """A retry does not help."""
    with pytest.raises(AdapterError, match=r"profile 'nobody' is in no AWS configuration file"):
        connect(profile="nobody")


def test_no_region_stops_the_start(connect: Connect) -> None:
    """AWS has no default region."""
    with pytest.raises(AdapterError, match=r"no region is known; set `region`"):
        connect(region=None)


def test_no_secret_is_told(cloud: Cloud, connect: Connect) -> None:
    """When AWS refuses a signature, it repeats the signed request with its session token."""
    told = (
        "The request signature we calculated does not match.\n\nThe Canonical String for this request should have been"
        "\nx-amz-security-token:the-session-token"
    )
    cloud.server.refuse("autoscaling", "SignatureDoesNotMatch", told, 403)
    connection = connect(endpointUrl=cloud.server.url, roleArn=_ROLE, externalId="customer-7")
    found = connection.look("any")
    assert isinstance(found, TargetForbidden)
    everything = str(found) + repr(connection.logger.lines)
    for secret in ("the-session-token", KEYS["AWS_SECRET_ACCESS_KEY"], "customer-7"):
        assert secret not in everything


def test_a_ca_bundle_of_ones_own_is_trusted_and_no_other(
    connect: Connect, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """AWS_CA_BUNDLE applies as for every AWS tool, for a private endpoint or an inspecting proxy."""
    authority = Authority(tmp_path)
    result = "<DescribeAutoScalingGroupsResult><AutoScalingGroups/></DescribeAutoScalingGroupsResult>"
    empty = answering(f"<DescribeAutoScalingGroupsResponse>{result}</DescribeAutoScalingGroupsResponse>".encode())
    with scripted(empty, authority.sign("server", "127.0.0.1").server_context()) as region:
        url = f"https://127.0.0.1:{region.port}"
        stranger = connect(endpointUrl=url).look("any")
        monkeypatch.setenv("AWS_CA_BUNDLE", str(authority.ca))
        trusted = connect(endpointUrl=url).look("any")
    assert isinstance(stranger, TargetUnavailable)
    assert "certificate" in str(stranger)
    assert isinstance(trusted, TargetNotFound)
