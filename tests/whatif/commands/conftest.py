from tests.cli.conftest import offline, online

__all__ = ["offline", "online"]
