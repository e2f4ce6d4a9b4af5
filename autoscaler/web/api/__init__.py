"""The HTTP API under /api/v1: endpoints, parameters and answers."""
