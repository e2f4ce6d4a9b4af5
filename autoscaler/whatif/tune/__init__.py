"""The search for better values."""
