"""Auto Scaling, ECS, EC2 and STS for tests: moto's server, extended to do what AWS documents and moto does not.

Each added rule cites its page: UG is the Amazon EC2 Auto Scaling User Guide
(docs.aws.amazon.com/autoscaling/ec2/userguide), API its API Reference (…/autoscaling/ec2/APIReference). Those of
ECS cite its Developer Guide (DG) and API Reference.
"""

from tests.servers.aws.server import AwsServer, running_aws

__all__ = ["AwsServer", "running_aws"]
