"""Each test restores the log."""

import logging
from collections.abc import Iterator

import pytest
import structlog


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    """Restore the logging of pytest."""
    root = logging.getLogger()
    named = [logging.getLogger(name) for name in ("apscheduler.scheduler", "urllib3")]
    before = list(root.handlers), [logger.level for logger in (root, *named)]
    yield
    logging.captureWarnings(capture=False)
    root.handlers[:] = before[0]
    for logger, level in zip((root, *named), before[1], strict=True):
        logger.setLevel(level)
    structlog.reset_defaults()
