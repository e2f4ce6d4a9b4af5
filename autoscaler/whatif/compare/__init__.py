"""Measures and differences of candidates over one past."""
