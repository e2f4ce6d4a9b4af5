"""`make test-aws` passes on the imitation of AWS, and can fail."""

import pytest

from tests.adapters.aws import account
from tests.adapters.aws.account import READS, WRITES
from tests.adapters.aws.connecting import least_policy
from tests.adapters.aws_asg.conftest import Cloud
from tests.servers.aws.server import REGION

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def environment(cloud: Cloud, own_environment: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment names the imitation, and a group of two."""
    cloud.world.launch_seconds = cloud.world.terminate_seconds = 0.2
    cloud.create("web", 2)
    for name, value in {
        "AWS_DEFAULT_REGION": REGION,
        "AWS_ENDPOINT_URL": cloud.server.url,
        "AWS_TEST_GROUP": "web",
    }.items():
        monkeypatch.setenv(name, value)
    for name in ("AWS_TEST_SERVICE", "WRITE"):
        monkeypatch.delenv(name, raising=False)


def test_a_run_without_a_group_sends_nothing(
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("AWS_TEST_GROUP")
    monkeypatch.setenv("WRITE", "1")
    cloud.server.allowed = frozenset()
    assert account.main() == 2
    assert "AWS_TEST_GROUP is not set" in capsys.readouterr().out


def test_checks_only_read_unless_they_are_told_to_write(cloud: Cloud, capsys: pytest.CaptureFixture[str]) -> None:
    cloud.server.allowed = frozenset(one for one in least_policy("aws-asg.md") if ":Describe" in one)
    assert account.main() == 0
    out = capsys.readouterr().out
    assert out.count("ok    web: ") == len(READS)
    assert out.endswith("Sizes were only read; WRITE=1 also changes each by one and sets it back.\n")


def test_checks_that_write_leave_the_size_as_it_was(
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("WRITE", "1")
    assert account.main() == 0
    out = capsys.readouterr().out
    assert out.count("ok    web: ") == len(READS) + len(WRITES)
    assert out.endswith("web: set back to 2\n")
    assert cloud.desired("web") == 2


def test_a_failed_check_is_named_and_fails_the_run(cloud: Cloud, capsys: pytest.CaptureFixture[str]) -> None:
    cloud.server.refuse("DescribeAutoScalingGroups", "AccessDenied", status=403)
    assert account.main() == 1
    assert capsys.readouterr().out.startswith("FAIL  web: the target is read: TargetForbidden: ")
