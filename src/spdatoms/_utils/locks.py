"""Locks of files that one process at a time may go on with.

A lock is a file beside the one that it is about, ``<name>.lock``, with the number of the process that holds it. The
system releases it when that process ends, however it ends: the file of a process that was killed is used again. On
network file systems it keeps other machines out as far as they share locks. Where there are none, nothing is locked.
"""

from __future__ import annotations

import errno
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from spdatoms._utils.writing import open_carefully, quoted

if sys.platform == "win32":
    import msvcrt

    def _take(file: IO[bytes]) -> None:
        file.seek(1 << 20)  # what is locked cannot be read there: the number of the process must be
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def _take(file: IO[bytes]) -> None:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


_TAKEN = (errno.EAGAIN, errno.EACCES, errno.EDEADLK)
_NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)
#: What a lock holds: nothing yet, or the number of a process, always of this width.
_CONTENT, _NUMBER = re.compile(rb"(?: *\d+\n)?"), b"%20d\n"

_held: set[IO[bytes]] = set()


@contextmanager
def locked(path: Path, doing: str) -> Iterator[None]:
    """Hold the lock of a file, or raise BlockingIOError, which says what the process that holds it is doing.

    A forked child does not hold the locks of its parent, nor does it keep them from others when the parent has ended.
    """
    lock = path.with_name(f"{path.name}.lock")
    file = _taken(lock, path, doing)
    _held.add(file)
    try:
        file.seek(0)
        file.write(_NUMBER % os.getpid())
        yield
    finally:
        if file in _held:  # not in a forked child
            _held.remove(file)
            _release(lock, file)


def _taken(lock: Path, path: Path, doing: str) -> IO[bytes]:
    """Return the file of a lock, which this process holds now; one with other content is of somebody else."""
    while True:
        file = open_carefully(lock, os.O_RDWR | os.O_CREAT)
        if not _CONTENT.fullmatch(file.read(64)):
            file.close()
            raise FileExistsError(
                f"{quoted(lock)} is not a lock of spdatoms: move it away, or give another name."
            )
        try:
            _take(file)
            if _is_at(lock, file):  # who held it before may have removed it
                return file
        except OSError as error:
            if error.errno in _NO_LOCKS:
                return file
            with file:
                if error.errno not in _TAKEN:
                    raise
                raise BlockingIOError(
                    f"{quoted(path)} is in use: {_process(file)} {doing}. Wait until it has ended, or give another "
                    "name."
                ) from None
        file.close()


def _process(file: IO[bytes]) -> str:
    """Return who holds a lock, in words."""
    file.seek(0)
    number = int(file.read(64) or 0)
    if number == os.getpid():
        return "another thread of this process"
    return f"the process {number}" if number else "another process"


def _is_at(lock: Path, file: IO[bytes]) -> bool:
    try:
        return os.path.samestat(os.lstat(lock), os.fstat(file.fileno()))
    except FileNotFoundError:
        return False


def _release(lock: Path, file: IO[bytes]) -> None:
    """Remove the file while it is held, so that nobody takes it who does not notice; Windows removes no open file."""
    if os.name == "nt":
        file.close()
    with suppress(OSError):
        if os.name == "nt" or _is_at(lock, file):
            lock.unlink()
    file.close()


def _let_go_in_child() -> None:
    """Close the files of a forked process: the parent holds its locks alone, and nobody when it has ended."""
    for file in _held:
        file.close()
    _held.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_let_go_in_child)
