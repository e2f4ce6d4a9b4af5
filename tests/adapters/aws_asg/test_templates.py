"""Templates that set a group's size: what its tags tell.

Sources: CloudFormation User Guide, "Resource tag" (aws:cloudformation:stack-name) and "UpdatePolicy attribute"
(IgnoreUnmodifiedGroupSizeProperties). Terraform sets no tag by itself; many teams do.
"""

import pytest

from tests.adapters.aws_asg.conftest import Cloud, LiveAdapter

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("key", "value", "remedy"),
    [
        ("aws:cloudformation:stack-name", "shop", "IgnoreUnmodifiedGroupSizeProperties"),
        ("ManagedBy", "Terraform", "ignore_changes"),
        ("team", "shop", ""),
    ],
)
def test_a_template_that_resets_the_size_is_named_with_the_remedy(
    cloud: Cloud, connection: LiveAdapter, key: str, value: str, remedy: str
) -> None:
    """`check --live` says so before the first deployment takes the size back to the template's."""
    tag = {"Key": key, "Value": value, "PropagateAtLaunch": False, "ResourceType": "auto-scaling-group"}
    cloud.create("web", Tags=[{**tag, "ResourceId": "web"}])
    found = connection.state("web").reset_by
    assert remedy in found
    assert bool(found) is bool(remedy)
