"""Rehearsals of three daemons that share a PostgreSQL."""
