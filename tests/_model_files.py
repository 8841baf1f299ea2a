"""Files of models for the tests of storage: written and read by hand, see docs/guide/storage.md."""

from __future__ import annotations

import dataclasses
import hashlib
import io
import json
import tempfile
import zipfile
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from _matrices import random_spd
from spdatoms import load, save
from spdatoms.storage import StorageError

X = random_spd(24, 3, seed=1) * (1.0 + np.arange(24) % 3)[:, None, None] ** 2
LABELS = np.array(["ash", "oak", "elm"])[np.arange(24) % 3]


def round_trip(model: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        save(model, Path(folder, "model"))
        return load(Path(folder, "model"))


def assert_equal(a: Any, b: Any) -> None:
    """Compare types, values to the last bit, and what objects consist of."""
    assert type(a) is type(b)
    if isinstance(a, np.ndarray):
        assert (a.dtype, a.shape, a.flags.fnc) == (b.dtype, b.shape, b.flags.fnc)
        assert a.tolist() == b.tolist() if a.dtype == object else a.tobytes() == b.tobytes()
    elif isinstance(a, list | tuple):
        assert len(a) == len(b)
        for x, y in zip(a, b, strict=True):
            assert_equal(x, y)
    elif isinstance(a, dict):
        assert_equal(list(a.items()), list(b.items()))
    elif isinstance(a, float):
        assert np.float64(a).tobytes() == np.float64(b).tobytes()
    elif hasattr(a, "__dict__") and not isinstance(a, type):
        assert_equal(attributes(a), attributes(b))
    else:
        assert a == b


def attributes(value: Any) -> dict[str, Any]:
    """Return attributes in the order of their names, without those that are computed when they are needed."""
    kept = {k: v for k, v in vars(value).items() if not is_cached(type(value), k)}
    return dict(sorted(kept.items()))


def is_cached(cls: type, name: str) -> bool:
    if isinstance(getattr(cls, name, None), cached_property):
        return True
    fields = dataclasses.fields(cls) if dataclasses.is_dataclass(cls) else ()
    return any(field.name == name and not field.compare for field in fields)


# --- the format, by hand ------------------------------------------------------------------------------


def seal(content: bytes) -> bytes:
    """Put the digest of all that comes before it at the end of a file."""
    return content[:-64] + hashlib.sha256(content[:-64]).hexdigest().encode()


def pack(metadata: Any, arrays: dict[str, Any], compression: int = zipfile.ZIP_STORED) -> bytes:
    buffer = io.BytesIO()
    text = metadata if isinstance(metadata, bytes) else json.dumps(metadata).encode()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        archive.comment = b"spdatoms sha256:" + b"0" * 64
        for name, array in {"metadata": np.frombuffer(text, np.uint8), **arrays}.items():
            if not isinstance(array, bytes):
                member = io.BytesIO()
                np.save(member, array)
                array = member.getvalue()
            archive.writestr(f"{name}.npy", array)
    return seal(buffer.getvalue())


def unpack(content: bytes) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    with np.load(io.BytesIO(content), allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    return json.loads(arrays.pop("metadata").tobytes()), arrays


def saved(model: Any, folder: Path) -> bytes:
    save(model, folder / "saved")
    return (folder / "saved").read_bytes()


def load_bytes(content: bytes, folder: Path) -> Any:
    (folder / "content").write_bytes(content)
    return load(folder / "content")


def refused(content: bytes, folder: Path, match: str) -> None:
    with pytest.raises(StorageError, match=match):
        load_bytes(content, folder)


def with_object(cls: str, parameters: Any = None, attributes: Any = None) -> bytes:
    content = {"class": cls, "parameters": parameters or {}, "attributes": attributes or {}}
    metadata = {"format": "spdatoms model", "version": 1, "spdatoms": "0", "scikit-learn": None}
    return pack({**metadata, "estimator": {"object": content}}, {"X": X})
