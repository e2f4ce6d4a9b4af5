"""The adapter of type `aws-asg`: it sizes AWS Auto Scaling groups. docs/aws-asg.md describes its use."""

from adapters.aws_asg.adapter import AwsAsg

__all__ = ["AwsAsg"]
