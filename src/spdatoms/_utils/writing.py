"""The one writer of the package: every file that it leaves behind is written here.

- A file is replaced all at once: its new content goes to a part beside it, is flushed to the disk and renamed. At every
  moment, also after ``kill -9``, the path holds the old content or the new.
- A part is ``<name>.<16 hexadecimal digits>.part``, a new file that nobody else has. It is removed on errors and
  interrupts. Only that of a process that was killed stays, and may be deleted.
- What is replaced is a regular file that its owner may write to, and keeps its permissions. Links are not followed.
- Errors name the file, not its part, and say what to do.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, BinaryIO

#: No link is followed and no terminal or FIFO waited for, where the system can promise that.
_CAREFULLY = sum(getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY"))
_FOLDER = "it is a folder; give the name of a file"
_LINK = "it is a link, and links are not followed; give the name of the file that it points to, or remove it"
_SPECIAL = "it is a device, a FIFO or a socket; give the name of a regular file"
_OTHER_DISK = "free some space, or give a path on another disk"
_OTHER_FOLDER = "give a path in a folder that you may write to"
#: What to do, by the name of the error: not every system has all of them.
_ADVICE = {
    getattr(errno, name): advice
    for name, advice in {
        "ENOSPC": _OTHER_DISK,
        "EDQUOT": _OTHER_DISK,
        "EFBIG": "raise the limit on the size of files, or give a path on another disk",
        "EACCES": _OTHER_FOLDER,
        "EPERM": _OTHER_FOLDER,
        "EROFS": _OTHER_FOLDER,
        "ENAMETOOLONG": "give a shorter name",
    }.items()
    if hasattr(errno, name)
}


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Yield a file to write to and read from, which takes the place of the path once it is whole and on the disk."""
    path = Path(path)
    before, part = check_target(path), _part(path)
    with errors_about(path, part):
        try:
            with open(part, "x+b", opener=_opener(before)) as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            os.replace(part, path)
        except BaseException:
            with suppress(OSError):
                part.unlink()
            raise
        _sync_directory(path.parent)


def replace_file(path: Path, content: bytes | memoryview) -> None:
    """Write a file so that at every moment the path holds the old content or the new."""
    with replacing(path) as file:
        file.write(content)


def append_line(path: Path, line: bytes) -> None:
    """Add a line to a file that exists; when this returns it is on the disk.

    It is one write, so that several processes may append. The line of one that is killed there may lack its end.
    """
    with open_carefully(path, os.O_WRONLY | os.O_APPEND) as file, errors_about(path):
        written = file.write(line)
        while written < len(line):  # the disk is full, which the next write will say
            written += file.write(line[written:])
        os.fsync(file.fileno())


@contextmanager
def scratch_file(folder: str | None) -> Iterator[tuple[BinaryIO, Path]]:
    """Yield a new file with a name of its own, for this process alone, and its path; it is removed if writing fails."""
    handle, name = tempfile.mkstemp(prefix="spdatoms-", dir=folder)
    path = Path(name)
    try:
        with errors_about(path), open(handle, "wb") as file:
            yield file, path
    except BaseException:
        with suppress(OSError):
            path.unlink()
        raise


# --- what may be written -----------------------------------------------------------------------------


def check_target(path: Path) -> os.stat_result | None:
    """Return what is known of the file at a path, None if there is none; refuse what must not be replaced."""
    try:
        with errors_about(path):
            found = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        if not path.parent.is_dir():
            raise _refusal(
                FileNotFoundError, path, "its folder does not exist; make it first"
            ) from None
        return None
    _check_regular(path, found)
    if not found.st_mode & stat.S_IWUSR or not os.access(path, os.W_OK):
        why = "it is read-only; let its owner write to it, or give another name"
        raise _refusal(PermissionError, path, why)
    return found


def try_place(path: Path) -> None:
    """Refuse a path beside which no part can be made: tried, because permissions do not tell the whole story."""
    part = _part(path)
    with errors_about(path, part):
        open(part, "xb", opener=_opener(None)).close()
        part.unlink()


def open_carefully(path: Path, flags: int) -> IO[bytes]:
    """Return a regular file, opened with these flags and without a buffer; refuse links and whatever is not a file."""
    check_target(path)
    with errors_about(path):
        handle = os.open(path, flags | _CAREFULLY, 0o666)
        try:
            _check_regular(path, os.fstat(handle))  # it may have been exchanged meanwhile
        except BaseException:
            os.close(handle)
            raise
        return open(handle, "ab" if flags & os.O_APPEND else "r+b", buffering=0)


def _check_regular(path: Path, found: os.stat_result) -> None:
    if stat.S_ISDIR(found.st_mode):
        raise _refusal(IsADirectoryError, path, _FOLDER)
    if not stat.S_ISREG(found.st_mode):
        raise _refusal(FileExistsError, path, _LINK if stat.S_ISLNK(found.st_mode) else _SPECIAL)


# --- parts -------------------------------------------------------------------------------------------


def remove_parts(path: Path) -> None:
    """Remove what killed processes left beside a file: for the one process that may write to it now."""
    own = re.compile(rf"{re.escape(path.name)}\.[0-9a-f]{{16}}\.part")
    for neighbour in path.parent.iterdir():
        if own.fullmatch(neighbour.name):
            with suppress(OSError):
                neighbour.unlink()


def _part(path: Path) -> Path:
    return path.with_name(f"{path.name}.{secrets.token_hex(8)}.part")


def _opener(before: os.stat_result | None) -> Callable[[str, int], int]:
    """Return what opens a part: with the permissions of the file that it replaces, or those of any new file."""

    def opened(part: str, flags: int) -> int:
        if before is None:
            return os.open(part, flags | _CAREFULLY, 0o666)
        permissions = before.st_mode & 0o777
        handle = os.open(part, flags | _CAREFULLY, permissions & 0o700)
        if sys.platform != "win32":  # which knows no groups, and one permission
            with suppress(PermissionError):  # a new file is of this user, whoever had the old one
                os.fchown(handle, before.st_uid, before.st_gid)
            os.fchmod(handle, permissions)
        return handle

    return opened


def _sync_directory(directory: Path) -> None:
    """Let the new name survive a power failure, too, where the system can do that: the file has it in any case."""
    with suppress(OSError):
        descriptor = os.open(directory, os.O_RDONLY)  # Windows opens no folders
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


# --- errors ------------------------------------------------------------------------------------------


@contextmanager
def errors_about(path: str | os.PathLike[str], *others: Path) -> Iterator[None]:
    """Let errors of the system about a file, or about others in its service, name that file and say what to do."""
    own = {str(name) for name in (None, path, *others)}
    try:
        yield
    except OSError as error:
        if error.strerror is None or str(error.filename) not in own:
            raise
        why = "; ".join(filter(None, (error.strerror, _ADVICE.get(error.errno or 0))))
        raise _refusal(type(error), path, why, error.errno) from error


def quoted(path: str | os.PathLike[str]) -> str:
    """Return a path as an error shows it."""
    return repr(os.fspath(path))


def _refusal(
    kind: type[OSError], path: str | os.PathLike[str], why: str, number: int | None = None
) -> OSError:
    refusal = kind(f"{quoted(path)} cannot be written: {why}.")
    refusal.errno = number
    return refusal
