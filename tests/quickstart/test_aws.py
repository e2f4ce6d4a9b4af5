"""The quickstarts on AWS: a real Prometheus and the real aws command, against the tests' server.

The server stands for Auto Scaling, ECS and EC2 as AWS documents them (tests/servers/aws). Its instances and tasks are
network namespaces with the private addresses that it reports, and run their user data or command. The address of
that server is substituted, because Prometheus reads it from its configuration, and the folder of the package's example.
"""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import pytest

from tests.quickstart.machine import running_machine
from tests.quickstart.page import DOCS, WEB_SERVER, follow
from tests.servers.required import require

pytestmark = pytest.mark.slow

ROOT: Final = Path(__file__).resolve().parents[2]
PORT: Final = 5000
SERVER: Final = f"http://127.0.0.1:{PORT}"
PAGES: Final[Mapping[str, Mapping[str, str]]] = {
    "quickstart-aws.md": {"- region: eu-west-1\n": f"- region: eu-west-1\n        endpoint: {SERVER}\n"},
    "quickstart-aws-ecs.md": {},
}
"""Page -> text of it -> its replacement."""
CREDENTIALS: Final = {"AWS_ACCESS_KEY_ID": "ours", "AWS_SECRET_ACCESS_KEY": "ours"}
"""Credentials of all programs, as a machine's role provides them."""


@pytest.mark.parametrize("page", PAGES)
def test_the_page_scales_from_one_instance_to_four_and_back(tmp_path: Path, page: str) -> None:
    aws = shutil.which("aws") or require("aws is not on PATH; install awscli")
    variables = {"AWS_CLI": aws, "AWS_ENDPOINT_URL": SERVER, "MOTO_EC2_LOAD_DEFAULT_AMIS": "false", **CREDENTIALS}
    with running_machine(tmp_path, environment=variables) as machine:
        machine.run(f"cd {ROOT} && python -m tests.quickstart.cloud {PORT} {tmp_path / 'tmp'} >$LOGS/cloud.log 2>&1 &")
        machine.run(f"until curl -s -o /dev/null {SERVER}; do sleep 0.2; done")
        follow(DOCS / page, machine, {**PAGES[page], **WEB_SERVER})
