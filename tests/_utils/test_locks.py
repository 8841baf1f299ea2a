"""Locks: one holder at a time, known by its number; they end with the process that holds them."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from spdatoms._utils import locks
from spdatoms._utils.locks import locked

posix = pytest.mark.skipif(os.name != "posix", reason="a matter of POSIX")
# A process that holds a lock until its input ends.
HOLD = """
import os, sys
from pathlib import Path
from spdatoms._utils.locks import locked
with locked(Path(sys.argv[1]), "waits"):
    {then}
    print("held", flush=True)
    sys.stdin.read()
"""


@contextmanager
def holder(path: Path, then: str = "pass") -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, "-c", HOLD.format(then=then), str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        yield process


def is_free(path: Path) -> bool:
    try:
        with locked(path, "waits"):
            return True
    except BlockingIOError:
        return False


def test_another_process_is_named_and_leaves_nothing(tmp_path) -> None:
    path = tmp_path / "file"
    with holder(path) as process:
        with pytest.raises(BlockingIOError) as raised, locked(path, "waits"):
            pass
        assert str(raised.value) == (
            f"{str(path)!r} is in use: the process {process.pid} waits. Wait until it has ended, or give "
            "another name."
        )
    assert not list(tmp_path.iterdir())
    assert is_free(path)
    assert not list(tmp_path.iterdir())


@posix
def test_the_lock_of_a_killed_process_is_free(tmp_path) -> None:
    with holder(tmp_path / "file") as process:
        process.send_signal(signal.SIGKILL)
    assert [path.name for path in tmp_path.iterdir()] == ["file.lock"]
    assert is_free(tmp_path / "file")
    assert not list(tmp_path.iterdir())


def test_another_thread_is_refused(tmp_path) -> None:
    said: list[str] = []

    def take() -> None:
        try:
            with locked(tmp_path / "file", "waits"):
                pass
        except BlockingIOError as error:
            said.append(str(error))

    with locked(tmp_path / "file", "waits"):
        thread = threading.Thread(target=take)
        thread.start()
        thread.join()
    assert "another thread of this process waits" in said[0]
    assert is_free(tmp_path / "file")


@posix
def test_a_forked_child_does_not_keep_the_lock_of_a_killed_parent(tmp_path) -> None:
    # The child tells that it runs, and waits for input, as its parent does.
    fork = (
        "told, tell = os.pipe()\n"
        "    os.fork() or (os.write(tell, b'!'), sys.stdin.read(), os._exit(0))\n"
        "    os.read(told, 1)"
    )
    with holder(tmp_path / "file", fork) as process:
        assert not is_free(tmp_path / "file")
        process.kill()
        process.wait()
        assert is_free(tmp_path / "file")


@posix
def test_a_forked_child_does_not_release_the_lock_of_its_parent(tmp_path) -> None:
    leave = "child = os.fork(); child or sys.exit(); os.waitpid(child, 0)"  # through 'finally'
    with holder(tmp_path / "file", leave):
        assert not is_free(tmp_path / "file")
        assert [path.name for path in tmp_path.iterdir()] == ["file.lock"]
    assert is_free(tmp_path / "file")


@posix
def test_a_lock_that_was_removed_before_it_was_taken_is_made_again(tmp_path, monkeypatch) -> None:
    take, lock, taken = locks._take, tmp_path / "file.lock", []

    def after_its_removal(file) -> None:
        if not taken:
            lock.unlink()
        take(file)
        taken.append(file)

    monkeypatch.setattr(locks, "_take", after_its_removal)
    with locked(tmp_path / "file", "waits"):
        assert len(taken) == 2
        assert taken[0].closed
        assert not is_free(tmp_path / "file")


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP])
def test_where_there_are_no_locks_it_goes_on(tmp_path, monkeypatch, number) -> None:
    def none(file) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(locks, "_take", none)
    assert is_free(tmp_path / "file")
    assert not list(tmp_path.iterdir())


def test_a_file_that_is_not_a_lock_stays(tmp_path) -> None:
    (tmp_path / "file.lock").write_bytes(b"mine")
    with pytest.raises(
        FileExistsError, match=r"file.lock' is not a lock of spdatoms: move it away"
    ):
        is_free(tmp_path / "file")
    assert (tmp_path / "file.lock").read_bytes() == b"mine"


@posix
def test_a_planted_link_is_not_followed(tmp_path) -> None:
    (tmp_path / "file.lock").symlink_to(tmp_path / "target")
    with pytest.raises(FileExistsError, match=r"file.lock' cannot be written: it is a link"):
        is_free(tmp_path / "file")
    assert not (tmp_path / "target").exists()
