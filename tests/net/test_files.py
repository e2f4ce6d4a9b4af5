"""A file is replaced in one step, whatever exists at its path and whatever fails."""

import os
import resource
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from autoscaler.net.files import (
    MAX_SECRET_BYTES,
    closed_folder,
    read_bounded,
    read_secret,
    unreadable_for_others,
    unwritable,
    write_atomically,
)


def names(folder: Path) -> set[str]:
    return {entry.name for entry in folder.iterdir()}


def test_the_file_has_the_content_and_no_temporary_file_remains(tmp_path: Path) -> None:
    """Text is UTF-8, bytes are unchanged."""
    file = tmp_path / "file"
    write_atomically(file, "größer")
    assert file.read_bytes() == "größer".encode()
    write_atomically(file, b"\xff")
    assert file.read_bytes() == b"\xff"
    assert names(tmp_path) == {"file"}


@pytest.mark.parametrize("umask", [0o000, 0o077])
@pytest.mark.parametrize("mode", [0o600, 0o644])
def test_the_mode_does_not_depend_on_the_umask(tmp_path: Path, mode: int, umask: int) -> None:
    """Prometheus reads as another user, and records are private. The service manager sets the umask."""
    file = tmp_path / "file"
    file.write_text("old")
    file.chmod(0o666)
    before = os.umask(umask)
    try:
        write_atomically(file, "new", mode=mode)
    finally:
        os.umask(before)
    assert file.stat().st_mode & 0o7777 == mode


def test_a_link_in_its_place_is_replaced_and_not_followed(tmp_path: Path) -> None:
    """A user who can write to the folder must not choose which of our files is overwritten."""
    victim, file = tmp_path / "victim", tmp_path / "file"
    victim.write_text("precious")
    file.symlink_to(victim)
    write_atomically(file, "new")
    assert victim.read_text() == "precious"
    assert not file.is_symlink()
    assert file.read_text() == "new"


def test_a_pipe_in_its_place_is_replaced(tmp_path: Path) -> None:
    """Opening a pipe for writing waits for a reader without end."""
    file = tmp_path / "file"
    os.mkfifo(file)
    writer = threading.Thread(target=write_atomically, args=(file, "new"), daemon=True)
    writer.start()
    writer.join(60)
    assert file.read_text() == "new"


def test_an_existing_temporary_file_is_not_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its name is random, and a link there is not followed."""
    victim = tmp_path / "victim"
    victim.write_text("precious")
    monkeypatch.setattr("secrets.token_hex", lambda _: "foreseen")
    (tmp_path / ".file.foreseen.new").symlink_to(victim)
    with pytest.raises(FileExistsError):
        write_atomically(tmp_path / "file", "new")
    assert victim.read_text() == "precious"
    assert names(tmp_path) == {"victim", ".file.foreseen.new"}


def test_temporary_files_have_unpredictable_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are in the same folder, because a rename works only within a file system."""
    drafts: list[Path] = []
    real = Path.replace

    def note(self: Path, target: Path) -> Path:
        drafts.append(self)
        return real(self, target)

    monkeypatch.setattr(Path, "replace", note)
    for _ in range(2):
        write_atomically(tmp_path / "file", "new")
    assert len(set(drafts)) == 2
    assert {draft.parent for draft in drafts} == {tmp_path}


@contextmanager
def disk_of(size: int) -> Iterator[None]:
    """Limit the size of this process's files until the block ends."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


def test_a_full_disk_leaves_the_old_content(tmp_path: Path) -> None:
    """The temporary file is removed."""
    file = tmp_path / "file"
    write_atomically(file, "old")
    with disk_of(2**16), pytest.raises(OSError, match="File too large"):
        write_atomically(file, b"x" * 2**17)
    assert file.read_text() == "old"
    assert names(tmp_path) == {"file"}


@pytest.mark.parametrize("call", ["os.fsync", "os.fchmod", "pathlib.Path.replace"])
@pytest.mark.parametrize("error", [OSError(5, "Input/output error"), KeyboardInterrupt()])
def test_a_failing_step_leaves_the_old_content(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str, error: BaseException
) -> None:
    """A disk may report a failed write only at the sync."""
    file = tmp_path / "file"
    write_atomically(file, "old")

    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(call, fail)
    with pytest.raises(type(error)):
        write_atomically(file, "new")
    monkeypatch.undo()
    assert file.read_text() == "old"
    assert names(tmp_path) == {"file"}


def test_a_folder_in_its_place_is_an_error(tmp_path: Path) -> None:
    """The folder is not emptied."""
    (tmp_path / "file").mkdir()
    with pytest.raises(IsADirectoryError):
        write_atomically(tmp_path / "file", "new")
    assert names(tmp_path) == {"file"}


def test_a_file_is_synced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file is synced before the rename, the folder after it."""
    synced: list[str] = []
    monkeypatch.setattr("os.fsync", lambda handle: synced.append(Path(f"/proc/self/fd/{handle}").readlink().name))
    write_atomically(tmp_path / "file", "new")
    draft, folder = synced
    assert draft.startswith(".file.")
    assert folder == tmp_path.name


def test_readers_find_the_old_or_the_new_content(tmp_path: Path) -> None:
    """Prometheus reads the targets file at any time."""
    file, ended = tmp_path / "file", threading.Event()
    write_atomically(file, "a" * 100_000)

    def write() -> None:
        for number in range(200):
            write_atomically(file, "ab"[number % 2] * 100_000)
        ended.set()

    writer = threading.Thread(target=write)
    writer.start()
    seen = set()
    while not ended.is_set():
        seen.add(file.read_text())
    writer.join()
    assert seen <= {"a" * 100_000, "b" * 100_000}


def test_a_secret_may_be_a_link(tmp_path: Path) -> None:
    """Credentials of Kubernetes and systemd are links; a rotation changes the link."""
    (tmp_path / "data").write_text(" hunter2\n")
    (tmp_path / "token").symlink_to("data")
    assert read_secret(tmp_path / "token") == "hunter2"


def test_a_pipe_in_place_of_a_secret_is_an_error(tmp_path: Path) -> None:
    """The secret is read at each use, and reading a pipe would block the cycle."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "token").symlink_to("pipe")
    with pytest.raises(OSError, match="it is not a regular file"):
        read_secret(tmp_path / "token")
    with pytest.raises(IsADirectoryError):
        read_secret(tmp_path)
    with pytest.raises(OSError, match="it is not a regular file"):
        read_secret(Path("/dev/zero"))


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    """A disk image instead of a password would fill the memory. A file of exactly the limit is read."""
    file = tmp_path / "token"
    file.write_bytes(b"x" * MAX_SECRET_BYTES)
    assert len(read_bounded(file)) == MAX_SECRET_BYTES
    file.write_bytes(b"x" * (MAX_SECRET_BYTES + 1))
    with pytest.raises(OSError, match="it is larger than 65,536 bytes"):
        read_bounded(file)


def test_a_missing_folder_is_reported_before_the_daemon_runs(tmp_path: Path) -> None:
    """This includes a file in the folder's place."""
    assert unwritable(tmp_path / "file") is None
    assert unwritable(tmp_path / "none/file") == (
        f"the folder {tmp_path}/none does not exist; create it, writable for the daemon"
    )
    (tmp_path / "plain").touch()
    assert unwritable(tmp_path / "plain/file") == f"{tmp_path}/plain is not a folder; correct the path"
    assert unwritable(tmp_path / "plain/x/file") == f"{tmp_path}/plain/x is not a folder; correct the path"
    assert unwritable(Path("/", "x" * 300, "file")) is None, "the kernel will not say"


def test_the_services_runtime_folder_may_be_missing() -> None:
    """The service manager creates it at the start (RuntimeDirectory=)."""
    assert unwritable(Path("/run/autoscaler/web.json")) is None


def test_a_folder_that_other_users_cannot_enter_is_reported(tmp_path: Path) -> None:
    """This holds for a file deep below it, and through a link, as systemd creates for its dynamic users."""
    closed = tmp_path / "closed"
    (closed / "open").mkdir(parents=True)
    closed.chmod(0o750)
    (tmp_path / "link").symlink_to(closed / "open")
    outer = closed_folder(tmp_path / "file")  # a temporary folder is usually closed itself
    found, mode = outer or (closed, 0o750)
    assert closed_folder(tmp_path / "link/file") == (found, mode)
    assert unreadable_for_others(closed / "open/file") == (
        f"{found} lets no other user in (mode {mode:04o}), so a Prometheus that runs as "
        f"another user cannot read {closed}/open/file; write it elsewhere, as in /run/autoscaler"
    )


def test_a_missing_folder_is_not_reported_as_closed(tmp_path: Path) -> None:
    """Another message already says that it is missing."""
    assert closed_folder(tmp_path / "none/file") is None
    assert unreadable_for_others(Path("/etc/file")) is None


def test_circular_links_are_not_reported_as_closed(tmp_path: Path) -> None:
    """Such links must not end `check`, nor stop the keeping of other pools."""
    (tmp_path / "there").symlink_to(tmp_path / "back")
    (tmp_path / "back").symlink_to(tmp_path / "there")
    assert closed_folder(tmp_path / "there/file") is None
    assert unreadable_for_others(tmp_path / "there/file") is None


def test_a_folder_in_the_place_of_a_file_is_named_as_one(tmp_path: Path) -> None:
    """Docker makes one for a missing mount. It is read in each cycle, and must cost no descriptor."""
    with pytest.raises(IsADirectoryError, match="Is a directory"):
        read_bounded(tmp_path)
    assert [one for one in Path("/proc/self/fd").iterdir() if one.resolve() == tmp_path.resolve()] == []
