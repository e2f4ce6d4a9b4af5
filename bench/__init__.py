"""Measurements against the project's aims. `make bench` prints them."""
