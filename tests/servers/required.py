"""What a test does where a server cannot be had."""

import os
from typing import NoReturn

import pytest


def require(reason: str) -> NoReturn:
    """Skip the test for `reason`; with REQUIRE_SERVERS=1 fail it, so that a whole suite cannot vanish unseen."""
    if os.environ.get("REQUIRE_SERVERS") == "1":
        pytest.fail(f"REQUIRE_SERVERS=1, and {reason}")
    pytest.skip(reason)
