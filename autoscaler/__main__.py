"""The console script `autoscaler`, and `python -m autoscaler`."""

import os

from typer.completion import completion_init  # type: ignore[attr-defined]  # there, and not in its __all__

from autoscaler.cli.app import COMPLETION_VARIABLE, app


def main() -> None:
    """Run the command line; exits with its code."""
    if COMPLETION_VARIABLE in os.environ:  # else typer knows no shell: its own options for completion are switched off
        completion_init()
    app(prog_name="autoscaler")


if __name__ == "__main__":
    main()
