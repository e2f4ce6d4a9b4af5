"""How an exception that nobody expected is named."""

import traceback


def named(error: BaseException) -> str:
    """`KeyError at /path/file.py:12`: enough to find it, on one line.

    Its message stays out: what a client library writes there may hold a credential.
    """
    frames = traceback.extract_tb(error.__traceback__)
    return type(error).__name__ + (f" at {frames[-1].filename}:{frames[-1].lineno}" if frames else "")
