"""`python -m tests.quickstart.cloud PORT FOLDER` serves AWS on a quickstart's machine until it is ended."""

import base64
import shlex
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, Final, cast

from moto.ec2.models import ec2_backends
from moto.ecs.models import ecs_backends

from tests.servers.aws import running_aws
from tests.servers.aws.ecs import EcsBackend
from tests.servers.aws.server import ACCOUNT, REGION
from tests.servers.aws.world import World

_SCRIPT: Final = Path(__file__).resolve().parent / "instance.sh"


def _name(instance_id: str) -> str:
    """Return a name that is short enough for a network interface."""
    return instance_id[-12:]


def _instance(instance_id: str) -> tuple[str, bytes]:
    """Return an EC2 instance's address and what it runs."""
    instance = ec2_backends[ACCOUNT][REGION].get_instance(instance_id)
    return str(instance.private_ip), base64.b64decode(str(instance.user_data))


def _task(arn: str) -> tuple[str, bytes]:
    """Return an ECS task's address and what it runs: its container's command, without the image."""
    backend = cast("EcsBackend", ecs_backends[ACCOUNT][REGION])
    task = next(each for service in backend.running.values() for each in service.tasks if each.arn == arn)
    container: dict[str, Any] = task.definition.container_definitions[0]
    command = shlex.join(container["command"])
    return task.address, f"nohup {command} >/dev/null 2>&1 </dev/null &\n".encode()


def main(port: int, folder: Path) -> None:
    """Serve without end."""

    def launch(instance_id: str) -> None:
        address, program = _task(instance_id) if instance_id.startswith("arn:") else _instance(instance_id)
        user_data = folder / _name(instance_id)
        user_data.write_bytes(program)
        arguments = [_name(instance_id), address, str(user_data)]
        subprocess.run([_SCRIPT, "launch", *arguments], check=True, stdin=subprocess.DEVNULL)

    def end(instance_id: str) -> None:
        subprocess.run([_SCRIPT, "end", _name(instance_id)], check=True)

    with running_aws(World(on_launch=launch, on_end=end), port=port):
        threading.Event().wait()


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]))
