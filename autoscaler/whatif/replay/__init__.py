"""Replays of a past: decisions, courses of sizes, and the demand."""
