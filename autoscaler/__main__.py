"""The console script `autoscaler`, and `python -m autoscaler`."""

from autoscaler.cli.app import app


def main() -> None:
    """Run the command line; exits with its code."""
    app(prog_name="autoscaler")


if __name__ == "__main__":
    main()
