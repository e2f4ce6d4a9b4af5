"""Builds everything that a configuration asks for, and makes it follow the next configuration."""
