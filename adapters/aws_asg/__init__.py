"""Sizes AWS Auto Scaling groups: type `aws-asg`. docs/aws-asg.md tells an operator's story."""

from adapters.aws_asg.adapter import AwsAsg

__all__ = ["AwsAsg"]
