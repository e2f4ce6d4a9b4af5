"""Skips a test without a required server."""

import os
from typing import NoReturn

import pytest


def require(reason: str) -> NoReturn:
    """Skip the test for `reason`. With REQUIRE_SERVERS=1 fail it, so that a whole suite cannot be skipped unnoticed."""
    if os.environ.get("REQUIRE_SERVERS") == "1":
        pytest.fail(f"REQUIRE_SERVERS=1, and {reason}")
    pytest.skip(reason)
