"""`python -m tests.quickstart.cloud PORT FOLDER` serves AWS on a quickstart's machine until it is ended."""

import base64
import subprocess
import sys
import threading
from pathlib import Path
from typing import Final

from moto.ec2.models import ec2_backends

from tests.servers.aws import running_aws
from tests.servers.aws.server import ACCOUNT, REGION
from tests.servers.aws.world import World

_INSTANCE: Final = Path(__file__).resolve().parent / "instance.sh"


def _name(instance_id: str) -> str:
    """Return a name that is short enough for a network interface."""
    return instance_id[-12:]


def main(port: int, folder: Path) -> None:
    """Serve without end."""

    def launch(instance_id: str) -> None:
        instance = ec2_backends[ACCOUNT][REGION].get_instance(instance_id)
        user_data = folder / instance_id
        user_data.write_bytes(base64.b64decode(str(instance.user_data)))
        arguments = [_name(instance_id), str(instance.private_ip), str(user_data)]
        subprocess.run([_INSTANCE, "launch", *arguments], check=True, stdin=subprocess.DEVNULL)

    def end(instance_id: str) -> None:
        subprocess.run([_INSTANCE, "end", _name(instance_id)], check=True)

    with running_aws(World(on_launch=launch, on_end=end), port=port):
        threading.Event().wait()


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]))
