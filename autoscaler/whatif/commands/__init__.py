"""The commands that look at the past and at candidates: replay and diff."""
