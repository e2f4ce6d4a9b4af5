"""A machine with systemd on which the Debian package is installed."""

from collections.abc import Iterator

import pytest

from tests.packaging.artefacts import debian_package
from tests.systemd.machine import Machine, booted

CREDENTIAL = "[Service]\nLoadCredential=token:/etc/hostname\n"


@pytest.fixture(scope="package")
def booted_machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    package = debian_package(tmp_path_factory)
    with booted(tmp_path_factory.mktemp("machine")) as machine:
        machine.install(package)
        yield machine


@pytest.fixture
def machine(booted_machine: Machine) -> Machine:
    """The machine without a running service, with only the drop-in of the credential `token`."""
    booted_machine.reset()
    booted_machine.drop_in("credential.conf", CREDENTIAL)
    return booted_machine
