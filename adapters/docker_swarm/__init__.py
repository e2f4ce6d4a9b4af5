"""Sizes Docker Swarm services: type `docker-swarm`. docs/docker-swarm.md tells an operator's story."""

from adapters.docker_swarm.adapter import DockerSwarm

__all__ = ["DockerSwarm"]
