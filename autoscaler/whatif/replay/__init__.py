"""The decisions of the past made again, as they were or by a candidate's configuration."""
