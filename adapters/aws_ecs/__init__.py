"""The adapter of type `aws-ecs`: it sizes services of Amazon ECS. docs/aws-ecs.md describes its use."""

from adapters.aws_ecs.adapter import AwsEcs

__all__ = ["AwsEcs"]
