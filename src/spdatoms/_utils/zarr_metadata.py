"""Check the metadata of a Zarr folder before Zarr sees them: codecs, types and sizes, in version 2 and 3.

Zarr makes every codec that the metadata of an array name, and one of them, pickle, runs code of the file. It does
so for chunks, and in version 2 even for the fill value, when it opens the array.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from spdatoms._utils.untrusted_files import (
    NUMCODECS,
    PLAIN_TYPE,
    ZARR_CODECS,
    ZARR_TYPES,
    RefusedError,
    check_links,
    check_memory,
    check_size,
)

_CURE = "Write it anew, with numbers or text and a codec such as blosc or gzip"
#: Parameters of codecs that are types.
_TYPES = ("dtype", "astype")


def check_zarr(folder: str) -> None:
    """Refuse a folder that leads out of itself, or one of whose arrays is not allowed."""
    if not os.path.isdir(folder):
        raise RefusedError(
            "is no folder, and a Zarr array or group is one. Unpack it, if it is an archive"
        )
    check_links(folder)
    stored = stored_bytes(folder)
    for place, _, _ in os.walk(folder):
        for name, check in (
            (".zarray", _check_array_2),
            (".zmetadata", _check_consolidated_2),
            ("zarr.json", _check_node_3),
        ):
            # By its name and not from a list of files: systems differ in what is the same name.
            path = os.path.join(place, name)
            if os.path.exists(path):
                with open(path, encoding="utf-8") as file:
                    check(json.load(file), stored)


def stored_bytes(folder: str) -> int:
    """Return the bytes of all files in a folder."""
    return sum(
        os.lstat(os.path.join(place, name)).st_size
        for place, _, names in os.walk(folder)
        for name in names
    )


def _check_consolidated_2(document: Any, stored: int) -> None:
    for key, metadata in document["metadata"].items():
        if key.rpartition("/")[2] == ".zarray":
            _check_array_2(metadata, stored)


def _check_array_2(metadata: Any, stored: int) -> None:
    codecs = [metadata.get("compressor"), *(metadata.get("filters") or [])]
    names = [codec["id"] for codec in codecs if codec is not None]
    _refuse_others(names, NUMCODECS)
    _check_parameters(codecs)
    dtype = metadata["dtype"]
    is_text = dtype == "|O" and "vlen-utf8" in names
    if not is_text:
        _check_type(dtype)
    itemsize = np.dtype(dtype).itemsize
    check_size(metadata["shape"], itemsize, stored)
    check_memory(metadata["chunks"], itemsize)


def _check_node_3(metadata: Any, stored: int) -> None:
    if "consolidated_metadata" in metadata:
        members = (metadata["consolidated_metadata"] or {}).get("metadata", {})
        for member in members.values():
            _check_node_3(member, stored)
    if metadata.get("node_type") == "group":
        return
    if metadata.get("zarr_format") == 2:  # as a member of a group
        if "shape" in metadata:
            _check_array_2(metadata, stored)
        return
    codecs = list(_codecs_3(metadata["codecs"]))
    _refuse_others([name for name, _ in codecs], ZARR_CODECS)
    _check_parameters([parameters for _, parameters in codecs])
    if metadata.get("storage_transformers"):
        raise RefusedError(f"an array has storage transformers, which are not read. {_CURE}")
    kind, parameters = _named(metadata["data_type"])
    if kind not in ZARR_TYPES:
        raise RefusedError(f"an array has the type {kind!r}, which is not read. {_CURE}")
    itemsize = ZARR_TYPES[kind] or parameters["length_bytes"]
    check_size(metadata["shape"], itemsize, stored)
    check_memory(metadata["chunk_grid"]["configuration"]["chunk_shape"], itemsize)


def _codecs_3(codecs: Any) -> Iterator[tuple[str, Any]]:
    """Yield the names and parameters of codecs, and of those inside a shard."""
    for codec in codecs:
        name, parameters = _named(codec)
        yield name, parameters
        for inner in ("codecs", "index_codecs"):
            yield from _codecs_3(parameters.get(inner, []))


def _named(extension: Any) -> tuple[str, Any]:
    """Return the name and the parameters of what version 3 writes as a name or as an object."""
    if isinstance(extension, str):
        return extension, {}
    return extension["name"], extension.get("configuration") or {}


def _refuse_others(names: list[str], allowed: set[str]) -> None:
    for name in names:
        if name not in allowed:
            raise RefusedError(
                f"an array is packed by {name!r}, which is not among the codecs that are read: it may run "
                f"code of the file. {_CURE}"
            )


def _check_parameters(codecs: list[Any]) -> None:
    for codec in codecs:
        for parameter in _TYPES:
            if codec is not None and codec.get(parameter) is not None:
                _check_type(codec[parameter])


def _check_type(dtype: Any) -> None:
    if not (isinstance(dtype, str) and PLAIN_TYPE.fullmatch(dtype)):
        raise RefusedError(
            f"an array has the type {dtype!r}, which is not read: it may hold objects. {_CURE}"
        )
