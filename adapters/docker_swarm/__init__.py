"""The adapter of type `docker-swarm`: it sizes Docker Swarm services. docs/docker-swarm.md describes its use."""

from adapters.docker_swarm.adapter import DockerSwarm

__all__ = ["DockerSwarm"]
