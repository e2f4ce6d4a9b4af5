"""The HTTP API under /api/v1: its endpoints, their parameters, and what they answer."""
