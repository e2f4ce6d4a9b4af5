"""The disk of the state is full, read-only, or hangs. Each disk is a file system of its own."""

import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from rehearse.filesystems import filled, in_memory, run
from rehearse.machine.scene import Scene
from tests.waiting import until

_BYTES: Final = 48 * 2**20
_READ_ONLY: Final = "remount,abort"
"""The option by which ext4 becomes read-only at an error (ext4(5))."""
_WAITS: Final = "another write has taken more than 10 s; check its disk"
"""The message of a cycle that only waits for another cycle's commit."""
_MISSED: Final = 5
_SHARDS: Final = ("local", "other")
_FULL: Final = "the disk is full; free some space"


@contextmanager
def _on_a_disk(scene: Scene) -> Iterator[Path]:
    """Mount an ext4 file system in a file as the state's folder. Yields the file."""
    image = scene.folder / "disk"
    with image.open("wb") as file:
        file.truncate(_BYTES)
    run("mkfs.ext4", "-q", str(image))
    scene.state.mkdir(mode=0o700)
    _mount(image, scene.state)
    try:
        yield image
    finally:
        run("umount", "--lazy", str(scene.state))


def _mount(image: Path, folder: Path) -> None:
    run("mount", "-o", "loop,errors=remount-ro", str(image), str(folder))


def it_fills_up(scene: Scene, _: int) -> None:
    """Fill the disk while the daemon runs, then free space."""
    with in_memory(scene.state, _BYTES), scene.settled() as daemon:
        with filled(scene.state):
            scene.nobody_is_scaled(daemon, "cycle_failed", _FULL, adapter="other")
        scene.follows_again(daemon)
        assert daemon.stop() == 0
        scene.remembered()


def it_is_full_at_the_start(scene: Scene, _: int) -> None:
    """Start a daemon on a full disk: it exits. The next start, as the unit's, finds room."""
    with in_memory(scene.state, _BYTES):
        with scene.settled():
            pass
        with filled(scene.state):
            scene.ask_for_more()
            scene.does_not_start(_FULL)
        with scene.daemon() as daemon:
            scene.follows_again(daemon)
        scene.remembered()


def it_is_read_only_at_the_start(scene: Scene, _: int) -> None:
    """Start a daemon on a read-only disk, as after an error. The disk is repaired, and the machine reboots."""
    with _on_a_disk(scene) as image:
        with scene.settled():
            pass
        run("mount", "-o", _READ_ONLY, str(scene.state))
        scene.ask_for_more()
        scene.does_not_start("Read-only file system; name a folder that this user may write to")
        _repair(scene, image)
        with scene.daemon() as daemon:
            scene.follows_again(daemon)
        scene.remembered()


def it_becomes_read_only(scene: Scene, _: int) -> None:
    """Make the disk read-only, as the kernel does after an error."""
    with _on_a_disk(scene) as image:
        with scene.settled() as daemon:
            run("mount", "-o", _READ_ONLY, str(scene.state))
            scene.nobody_is_scaled(daemon, "cycle_failed", "", adapter="other")
            told = {line["error"] for line in daemon.events("cycle_failed")}
            assert all("read-only" in each or "check the system's log" in each for each in told), told
        _repair(scene, image)
        with scene.daemon() as daemon:
            scene.follows_again(daemon)
        scene.remembered()


def it_hangs(scene: Scene, _: int) -> None:
    """Freeze the file system, so that writes wait as for absent storage, and thaw it.

    Every shard is reported as hanging, and no cycle ends: nothing is decided or written. If a shard waits for the disk
    and not for another shard's commit, the daemon cannot know more.
    """
    with _on_a_disk(scene), scene.settled() as daemon:
        hung, recovered = (
            {shard: len(daemon.events(event, adapter=shard)) for shard in _SHARDS}
            for event in ("shard_hung", "shard_recovered")
        )
        run("fsfreeze", "--freeze", str(scene.state))
        try:
            before, failed = scene.sizes(), len(daemon.events("cycle_failed"))
            scene.ask_for_more()
            for shard, count in hung.items():
                daemon.wait_for("shard_hung", count + 1, adapter=shard)
            decided = len(daemon.events("decision"))
            for shard in _SHARDS:
                daemon.wait_for(
                    "tick_missed", len(daemon.events("tick_missed", adapter=shard)) + _MISSED, adapter=shard
                )
            assert (scene.sizes(), len(daemon.events("decision"))) == (before, decided), "a cycle has ended"
            told = [line["error"] for line in daemon.events("cycle_failed")[failed:]]
            assert all(_WAITS in each for each in told), told
            scene.refused_cycles += len(_SHARDS)
        finally:
            run("fsfreeze", "--unfreeze", str(scene.state))
        scene.follows_again(daemon)
        for shard, count in recovered.items():
            daemon.wait_for("shard_recovered", count + 1, adapter=shard)
        assert daemon.stop() == 0
        scene.remembered()


def _repair(scene: Scene, image: Path) -> None:
    """Repair the disk. No process of the daemon runs meanwhile, nor a worker."""
    for pid in scene.workers("held") | scene.workers("web"):
        os.kill(pid, signal.SIGKILL)
    unmount = ["umount", str(scene.state)]
    until(
        lambda: subprocess.run(unmount, capture_output=True, check=False).returncode == 0,
        "the end of all processes with files open on the disk",
    )
    run("e2fsck", "-p", str(image), may_be=frozenset({0, 1}))
    _mount(image, scene.state)


CASES: Final[dict[str, Callable[[Scene, int], None]]] = {
    "the disk fills up while it runs": it_fills_up,
    "the disk is full at the start": it_is_full_at_the_start,
    "the disk is read-only at the start": it_is_read_only_at_the_start,
    "the disk becomes read-only while it runs": it_becomes_read_only,
    "the disk hangs": it_hangs,
}
