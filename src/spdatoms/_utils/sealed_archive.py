"""One file of arrays and JSON: a zip of uncompressed ``.npy`` members, sealed by a checksum.

`docs/guide/storage.md` describes the layout. Models and checkpoints of dictionary learning are such
files. Nothing is trusted when a file is read: the checksum of all bytes is compared first, and memory is
allocated only for bytes that are there.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import accumulate
from typing import IO, Any

import numpy as np

from spdatoms._utils.typing import Array
from spdatoms._utils.writing import quoted, replacing

Metadata = dict[str, Any]

#: The member that holds the JSON.
METADATA = "metadata"
#: Numbers, truth values and strings of a fixed width, little-endian; nothing that could hold an object.
DTYPES = re.compile(r"\|b1|[|<](?:[iu][1248]|f[248]|c8|c16)|<U[1-9]\d*|\|S[1-9]\d*")
#: How much JSON there may be: parsed it takes far more memory than its bytes. Real metadata have some thousand.
_MOST_BYTES, _MOST_VALUES, _MOST_DEPTH = 1 << 22, 1 << 16, 100
#: The file ends with this, the comment of the zip, and the digest of all that comes before the digest.
_SEAL = b"spdatoms sha256:"
_DIGEST_LENGTH = 2 * hashlib.sha256().digest_size
_CHUNK = 1 << 20


class StorageError(ValueError):
    """A file that cannot be read as what it should be, or a value that no file can hold."""


def write_container(
    path: str | os.PathLike[str], metadata: Metadata, arrays: Mapping[str, Array]
) -> None:
    """Replace the file by one with this content, all at once."""
    text = json.dumps(metadata, allow_nan=False).encode("ascii")
    try:
        _check_extent(text)
    except ValueError as error:
        raise StorageError(f"{quoted(path)} cannot be written: {error}.") from error
    with replacing(path) as file:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
            archive.comment = _SEAL + b"0" * _DIGEST_LENGTH
            _write_array(archive, METADATA, np.frombuffer(text, np.uint8))
            for name, array in arrays.items():
                _write_array(archive, name, array)
        digest = _digest(file)
        file.seek(-_DIGEST_LENGTH, os.SEEK_END)
        file.write(digest)


def read_container(
    path: str | os.PathLike[str], check: Callable[[Metadata], Any]
) -> tuple[Metadata, dict[str, Array]]:
    """Return metadata and arrays; StorageError if the file is not whole.

    ``check`` sees the metadata first, and may refuse them before the arrays are read.
    """
    with open(path, "rb") as file:
        _check_seal(file, path)
        with _refusing_malformed(path):
            archive = zipfile.ZipFile(file)
            members = _members(archive, os.fstat(file.fileno()).st_size)
            metadata = _parse(_read_array(archive, members.pop(METADATA)))
        check(metadata)
        with _refusing_malformed(path):
            return metadata, {name: _read_array(archive, info) for name, info in members.items()}


@contextmanager
def _refusing_malformed(path: str | os.PathLike[str]) -> Iterator[None]:
    """Turn whatever zipfile, NumPy and json raise for a file that was made to mislead them into one error."""
    try:
        yield
    except MemoryError:
        raise
    except Exception as error:
        raise StorageError(f"{quoted(path)} is malformed: {error}.") from error


# --- the checksum ------------------------------------------------------------------------------------


def _digest(file: IO[bytes]) -> bytes:
    """Return the SHA-256 of all bytes of the file but the digest at its end, in hexadecimal."""
    left = file.seek(0, os.SEEK_END) - _DIGEST_LENGTH
    file.seek(0)
    digest = hashlib.sha256()
    while left > 0 and (chunk := file.read(min(left, _CHUNK))):
        digest.update(chunk)
        left -= len(chunk)
    return digest.hexdigest().encode()


def _check_seal(file: IO[bytes], path: str | os.PathLike[str]) -> None:
    length = len(_SEAL) + _DIGEST_LENGTH
    file.seek(max(0, file.seek(0, os.SEEK_END) - length))
    tail = file.read(length)
    if not tail.startswith(_SEAL) or len(tail) < length:
        raise StorageError(f"{quoted(path)} is not a file of spdatoms, or was cut short.")
    if tail[len(_SEAL) :] != _digest(file):
        raise StorageError(
            f"{quoted(path)} has been altered or damaged: its checksum does not match."
        )


# --- members -----------------------------------------------------------------------------------------


def _members(archive: zipfile.ZipFile, file_size: int) -> dict[str, zipfile.ZipInfo]:
    """Return the members by name, none of which is larger than what is stored of it."""
    members: dict[str, zipfile.ZipInfo] = {}
    for info in archive.infolist():
        name = info.filename.removesuffix(".npy")
        stored = info.compress_type == zipfile.ZIP_STORED and info.compress_size == info.file_size
        if not stored or name == info.filename or name in members:
            raise ValueError(f"{info.filename!r} is not an uncompressed array, or there twice")
        members[name] = info
    if METADATA not in members:
        raise ValueError("it has no metadata")
    # Members that overlap could hold more than the file does.
    if sum(info.file_size for info in members.values()) > file_size:
        raise ValueError("its members are larger than the file")
    return members


def _write_array(archive: zipfile.ZipFile, name: str, array: Array) -> None:
    info = zipfile.ZipInfo(f"{name}.npy")
    info.create_system = 3  # the same bytes on every system
    little = array.astype(array.dtype.newbyteorder("<"), copy=False)
    with archive.open(info, "w", force_zip64=True) as stream:
        np.lib.format.write_array(stream, little, version=(1, 0), allow_pickle=False)


def _read_array(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Array:
    """Return an array of the machine's byte order, after a look at what there is to be read."""
    with archive.open(info) as stream:
        if np.lib.format.read_magic(stream) != (1, 0):
            raise ValueError(f"{info.filename!r} is not of version 1.0 of the .npy format")
        shape, fortran, dtype = np.lib.format.read_array_header_1_0(stream)
        nbytes = math.prod(shape) * dtype.itemsize
        if not DTYPES.fullmatch(dtype.str) or min(shape, default=0) < 0:
            raise ValueError(f"{info.filename!r} has the type {dtype.str} and shape {shape}")
        if nbytes != info.file_size - stream.tell():
            raise ValueError(f"{info.filename!r} has not as many bytes as its shape {shape} needs")
        content, start = np.empty(nbytes, np.uint8), 0
        while start < nbytes:
            chunk = stream.read(min(_CHUNK, nbytes - start))
            if not chunk:
                raise ValueError("a member ends early")
            content[start : start + len(chunk)] = np.frombuffer(chunk, np.uint8)
            start += len(chunk)
        stream.read(1)  # at its end the stream compares the checksum of the zip
    array = content.view(dtype).reshape(shape, order="F" if fortran else "C")
    return array.astype(dtype.newbyteorder("="), copy=False)


def _parse(content: Array) -> Metadata:
    text = content.tobytes()
    _check_extent(text)
    metadata = json.loads(text.decode("ascii"), parse_constant=_refuse_constant)
    if not isinstance(metadata, dict):
        raise ValueError("its metadata are not a JSON object")
    return metadata


def _check_extent(text: bytes) -> None:
    """Refuse too much JSON, or too deep, by a look at its outline.

    What is wrong after the first error of a text that is not JSON does not matter: nobody parses it.
    """
    # Without what could be mistaken for the end of a string; an entry has two strings at most.
    plain = text[: _MOST_BYTES + 1].replace(b"\\\\", b"").replace(b'\\"', b"")
    parts = plain.split(b'"', 4 * _MOST_VALUES + 1)
    outline = b"".join(parts[::2])
    values = max(sum(map(outline.count, (b",", b"[", b"{"))), len(parts) // 4)
    if len(text) > _MOST_BYTES or values > _MOST_VALUES:
        raise ValueError(
            f"its metadata hold more than {_MOST_VALUES} values or {_MOST_BYTES} bytes; long lists should be "
            "arrays, and labels an array of strings"
        )
    steps = (1 if bracket in b"[{" else -1 for bracket in outline if bracket in b"[]{}")
    if max(accumulate(steps), default=0) > _MOST_DEPTH:
        raise ValueError(f"its metadata are more than {_MOST_DEPTH} levels deep")


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")
