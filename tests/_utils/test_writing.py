"""The one writer: files are replaced whole, links are not followed, permissions stay, errors say what to do."""

from __future__ import annotations

import ast
import errno
import os
import secrets
import socket
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import spdatoms
from spdatoms._utils import writing
from spdatoms._utils.sealed_archive import write_container
from spdatoms._utils.writing import (
    append_line,
    remove_parts,
    replace_file,
    replacing,
    scratch_file,
    try_place,
)

posix = pytest.mark.skipif(os.name != "posix", reason="a matter of POSIX")
#: What a name that is written to must not be.
KINDS = ("folder", "link", "dangling link", "FIFO", "socket", "device")


def permissions(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def make(kind: str, path: Path) -> None:
    """Put something at a path that is not a regular file."""
    match kind:
        case "folder":
            path.mkdir()
        case "link" | "dangling link":
            if kind == "link":
                path.with_name("target").write_bytes(b"old")
            path.symlink_to(path.with_name("target"))
        case "FIFO":
            os.mkfifo(path)
        case "socket":
            with socket.socket(socket.AF_UNIX) as made:
                made.bind(str(path))
        case "device":
            try:
                os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 3))
            except OSError:
                pytest.skip("only root makes devices")


@pytest.fixture
def umask():
    before = os.umask(0o027)
    yield 0o027
    os.umask(before)


def test_a_file_is_replaced_whole(tmp_path) -> None:
    path = tmp_path / "file"
    replace_file(path, b"first")
    with replacing(path) as file:
        file.write(b"second")
        assert path.read_bytes() == b"first"
    assert path.read_bytes() == b"second"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("error", [OSError("disk full"), KeyboardInterrupt(), MemoryError()])
def test_what_fails_or_is_interrupted_leaves_the_old_file_and_no_part(tmp_path, error) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")

    def write_half() -> None:
        with replacing(path) as file:
            file.write(b"half")
            raise error

    with pytest.raises(type(error)) as raised:
        write_half()
    assert raised.value is error
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_process_that_dies_leaves_the_old_file_and_a_part_that_can_be_told(tmp_path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    script = (
        "import os, sys; from pathlib import Path; from spdatoms._utils.writing import replace_file\n"
        "os.replace = lambda *_: os._exit(9)\n"
        "replace_file(Path(sys.argv[1]), b'new')"
    )
    assert subprocess.run([sys.executable, "-c", script, str(path)]).returncode == 9
    assert path.read_bytes() == b"old"
    (part,) = set(tmp_path.iterdir()) - {path}
    assert part.read_bytes() == b"new"
    others = [tmp_path / f"{name}.0123456789abcdef.part" for name in ("file2", "file.file")]
    for other in (*others, tmp_path / "file.part"):
        other.touch()
    remove_parts(path)
    assert set(tmp_path.iterdir()) == {path, *others, tmp_path / "file.part"}


# --- permissions -------------------------------------------------------------------------------------


@posix
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644, 0o666, 0o755])
@pytest.mark.parametrize("write", [replace_file, append_line])
def test_a_file_keeps_its_permissions(tmp_path, umask, write, mode) -> None:
    path = tmp_path / "file"
    path.touch()
    path.chmod(mode)
    write(path, b"new\n")
    assert permissions(path) == mode
    assert path.read_bytes() == b"new\n"


@posix
def test_a_new_file_has_the_permissions_of_any_new_file(tmp_path, umask) -> None:
    replace_file(tmp_path / "file", b"new")
    assert permissions(tmp_path / "file") == 0o666 & ~umask


@posix
def test_nobody_else_can_read_a_part_of_what_is_private(tmp_path, monkeypatch) -> None:
    path = tmp_path / "file"
    path.touch()
    path.chmod(0o600)
    monkeypatch.setattr(os, "fchmod", lambda *_: None)  # also before the permissions are set
    with replacing(path) as file:
        assert permissions(Path(file.name)) == 0o600


@pytest.mark.parametrize("write", [replace_file, append_line])
def test_a_read_only_file_stays(tmp_path, write) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    path.chmod(0o444)
    with pytest.raises(PermissionError, match=r"file' cannot be written: it is read-only; let its"):
        write(path, b"new\n")
    assert path.read_bytes() == b"old"
    path.chmod(0o644)
    assert list(tmp_path.iterdir()) == [path]


def test_permissions_where_the_system_has_none(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setattr(writing, "_CAREFULLY", getattr(os, "O_BINARY", 0))
    replace_file(tmp_path / "file", b"first\n")
    replace_file(tmp_path / "file", b"second\n")
    append_line(tmp_path / "file", b"third\n")
    assert (tmp_path / "file").read_bytes() == b"second\nthird\n"


# --- what is not a file ------------------------------------------------------------------------------


@posix
@pytest.mark.parametrize("careful", [writing._CAREFULLY, 0])  # some systems know no O_NOFOLLOW
@pytest.mark.parametrize("write", [replace_file, append_line])
@pytest.mark.parametrize("kind", KINDS)
def test_only_regular_files_are_written(tmp_path, monkeypatch, kind, write, careful) -> None:
    monkeypatch.chdir(tmp_path)  # the names of sockets must be short
    monkeypatch.setattr(writing, "_CAREFULLY", careful)
    path = Path("name")
    make(kind, path)
    before = path.lstat()
    said = "a device, a FIFO or a socket" if kind in KINDS[3:] else f"a {kind.split()[-1]}"
    with pytest.raises(OSError, match=f"'name' cannot be written: it is {said}.*; give the name"):
        write(path, b"new\n")
    after = path.lstat()
    assert (before.st_ino, before.st_mode) == (after.st_ino, after.st_mode)
    if kind == "link":
        assert Path("target").read_bytes() == b"old"
    assert len(list(tmp_path.iterdir())) == 1 + (kind == "link")


@posix
@pytest.mark.parametrize("kind", ["link", "FIFO"])
def test_a_file_that_is_exchanged_after_the_check_is_not_appended_to(
    tmp_path, monkeypatch, kind
) -> None:
    make(kind, tmp_path / "name")
    monkeypatch.setattr(writing, "check_target", lambda path: None)
    with pytest.raises(OSError, match="name' cannot be written"):
        append_line(tmp_path / "name", b"new\n")
    if kind == "link":
        assert (tmp_path / "target").read_bytes() == b"old"


@posix
@pytest.mark.parametrize("kind", ["link", "dangling link"])
def test_a_part_follows_no_link_even_if_its_name_was_guessed(tmp_path, monkeypatch, kind) -> None:
    monkeypatch.setattr(secrets, "token_hex", lambda n: "0" * 2 * n)
    make(kind, tmp_path / f"file.{'0' * 16}.part")
    with pytest.raises(FileExistsError, match=r"file' cannot be written: File exists"):
        replace_file(tmp_path / "file", b"new")
    assert not (tmp_path / "file").exists()
    assert (tmp_path / "target").exists() == (kind == "link")
    if kind == "link":
        assert (tmp_path / "target").read_bytes() == b"old"


# --- errors ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["nowhere/file", "file/file"])
def test_a_missing_folder_is_told(tmp_path, path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(FileNotFoundError, match="cannot be written: its folder does not exist"):
        replace_file(tmp_path / path, b"new")


@pytest.mark.parametrize("path", ["", ".", "/"])
def test_a_folder_without_a_name_is_told(path) -> None:
    with pytest.raises(IsADirectoryError, match="it is a folder; give the name of a file"):
        replace_file(Path(path), b"new")


@pytest.mark.parametrize("function", ["open", "fsync", "replace"])
@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("ENOSPC", "free some space, or give a path on another disk"),
        ("EDQUOT", "free some space"),
        ("EACCES", "give a path in a folder that you may write to"),
        ("EROFS", "give a path in a folder"),
    ],
)
def test_errors_of_the_system_name_the_file_and_what_to_do(
    tmp_path, monkeypatch, function, name, advice
) -> None:
    number = getattr(errno, name)
    path = tmp_path / "file"
    path.write_bytes(b"old")

    def failing(*arguments, **_):
        files = [f for f in arguments if isinstance(f, str | Path)]
        raise OSError(number, os.strerror(number), *map(str, files[:1]))

    with monkeypatch.context() as patch:
        patch.setattr(os, function, failing)
        with pytest.raises(OSError, match=advice) as raised:
            replace_file(path, b"new")
    assert str(raised.value).startswith(f"{str(path)!r} cannot be written: {os.strerror(number)}; ")
    assert ".part" not in str(raised.value)
    assert raised.value.errno == number
    assert type(raised.value) is type(OSError(number, ""))
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_errors_about_other_files_stay_as_they_are(tmp_path) -> None:
    def read_another() -> None:
        with replacing(tmp_path / "file"):
            (tmp_path / "absent").read_bytes()

    with pytest.raises(FileNotFoundError, match=r"\[Errno 2\].*absent"):
        read_another()
    assert not list(tmp_path.iterdir())


@pytest.fixture
def small_files():
    """No file may grow beyond a thousand bytes, as on a full disk."""
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


def _container(path: Path, content: bytes) -> None:
    write_container(path, {"format": "any"}, {"bytes": np.frombuffer(content, np.uint8)})


def _scratch(path: Path, content: bytes) -> None:
    with scratch_file(str(path.parent)) as (file, _):
        file.write(content)


def _savez(path: Path, content: bytes) -> None:
    with replacing(path) as file:
        np.savez(file, bytes=np.frombuffer(content, np.uint8))


@pytest.mark.filterwarnings("error::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("write", [replace_file, append_line, _container, _savez, _scratch])
def test_a_disk_that_is_full_leaves_the_old_file(tmp_path, small_files, write) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old\n")
    with pytest.raises(OSError, match="cannot be written: File too large; raise the limit"):
        write(path, bytes(5000))
    assert path.read_bytes()[:4] == b"old\n"
    assert write is append_line or path.stat().st_size == 4
    assert list(tmp_path.iterdir()) == [path]


@posix
def test_a_place_is_tried_without_a_trace(tmp_path, monkeypatch) -> None:
    try_place(tmp_path / "file")
    with pytest.raises(
        OSError, match=r"cannot be written: File name too long; give a shorter name"
    ):
        try_place(tmp_path / ("long" * 70))
    assert not list(tmp_path.iterdir())


# --- no other writer ---------------------------------------------------------------------------------

#: The program that reads MATLAB files writes to a folder of its own, and imports nothing of the package.
WRITERS = {"_utils/writing.py", "_utils/reading_child.py"}
#: These write what does not stay: a temporary copy of standard input, and to the null device.
WRITERS |= {"cli/options.py", "cli/show.py"}
WRITING = {"write_text", "write_bytes", "mkstemp", "fdopen", "tofile", "touch", "symlink_to"}


def writes(call: ast.Call) -> bool:
    """Return whether a call opens a file to write to it, or writes one at once."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    text = ast.unparse(call)
    if name == "open":
        literals = [node.value for node in ast.walk(call) if isinstance(node, ast.Constant)]
        modes = [
            x
            for x in literals
            if isinstance(x, str) and 0 < len(x) < 4 and set(x) <= set("rwxabt+")
        ]
        archive = text.startswith("archive.open(")  # a member of a zip file
        return text.startswith("os.open(") or (
            not archive and any(set(x) & set("wxa+") for x in modes)
        )
    return name in WRITING or text.startswith(("os.replace(", "os.rename(", "shutil."))


@pytest.mark.slow
def test_nothing_is_written_elsewhere() -> None:
    source = Path(spdatoms.__file__).parent
    found = {
        file.relative_to(source).as_posix()
        for file in source.rglob("*.py")
        if file.name != "_build.py"  # compiles the kernels, and is no part of an installation
        for node in ast.walk(ast.parse(file.read_text("utf-8")))
        if isinstance(node, ast.Call) and writes(node)
    }
    assert found == WRITERS
