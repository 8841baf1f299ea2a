"""Altered files of models, checkpoints and matrices."""

from __future__ import annotations

import copy
import multiprocessing
import tempfile
import time
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

from _matrices import three_classes
from _model_files import pack, saved, seal, unpack
from conformance.estimators import ESTIMATORS, outputs, targets
from fuzz.campaign import clearly_refused, expect, was_refused
from spdatoms import SPDDictionaryLearning, check_spd, load

VALUES = [None, True, -1, 0, 1e308, "nan", "stein", [], {}, [1, 2], 10**30, "\x00", "[red]", 0.5]


@cache
def model_files() -> list[bytes]:
    X, y = three_classes()
    with tempfile.TemporaryDirectory() as folder:
        return [saved(clone(e).fit(X, targets(e, y)), Path(folder)) for e in ESTIMATORS]


def altered_bytes(rng: np.random.Generator, content: bytes) -> bytes:
    """Return the file with bytes changed, cut out, doubled or cut off."""
    data = bytearray(content)
    for _ in range(int(rng.integers(1, 5))):
        if not data:
            break
        at, length = int(rng.integers(len(data))), int(rng.integers(1, 40))
        kind = rng.integers(4)
        if kind == 0:
            data[at] ^= 1 << int(rng.integers(8))
        elif kind == 1:
            del data[at : at + length]
        elif kind == 2:
            data[at:at] = data[at : at + length]
        else:
            del data[max(at, 8) :]
    return bytes(data)


def altered_metadata(rng: np.random.Generator, value: Any) -> Any:
    """Return a tree of JSON with one of its leaves or branches replaced."""
    if isinstance(value, dict) and value and rng.random() < 0.9:
        key = str(rng.choice(list(value)))
        if rng.random() < 0.1:
            return {k: v for k, v in value.items() if k != key}
        return {**value, key: altered_metadata(rng, value[key])}
    if isinstance(value, list) and value and rng.random() < 0.8:
        at = int(rng.integers(len(value)))
        return [*value[:at], altered_metadata(rng, value[at]), *value[at + 1 :]]
    return copy.deepcopy(VALUES[rng.integers(len(VALUES))])


def altered_array(rng: np.random.Generator, array: np.ndarray) -> np.ndarray:
    """Return an array of another shape, type, or with other numbers."""
    kinds = [
        lambda: array[:-1] if array.ndim else array,
        lambda: array.astype(np.float32, copy=True) if array.dtype.kind == "f" else array,
        lambda: array.astype("i8") if array.dtype.kind == "f" else array.astype("f8", copy=True)
        if array.dtype.kind in "iu" else array,
        lambda: -array if array.dtype.kind in "fi" else array,
        lambda: array * rng.choice([np.nan, np.inf, 0.0, 1e300, 1e-300])
        if array.dtype.kind == "f" else array,
        lambda: np.roll(array, 1),
        lambda: array.ravel(),
        lambda: array[..., None],
        lambda: np.concatenate([array, array]) if array.ndim else array,
    ]  # fmt: skip
    return np.asarray(kinds[rng.integers(len(kinds))]())


def altered_models(rng: np.random.Generator) -> str:
    """An altered model is refused with a sentence about the file, or what it says is finite or refused."""
    X, _ = three_classes()
    content = model_files()[rng.integers(len(ESTIMATORS))]
    if rng.random() < 0.2:
        content = altered_bytes(rng, content)
        content = seal(content) if rng.random() < 0.5 and len(content) > 64 else content
    else:
        metadata, arrays = unpack(content)
        if rng.random() < 0.5 or not arrays:
            metadata = altered_metadata(rng, metadata)
        else:
            name = str(rng.choice(list(arrays)))
            arrays[name] = altered_array(rng, arrays[name])
        content = pack(metadata, arrays)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model")
        path.write_bytes(content)
        model = clearly_refused(lambda: load(path))
    if was_refused(model):
        expect(str(path) in str(model), f"the refusal does not name the file: {model}")
        return "refused"
    found = clearly_refused(lambda: outputs(model, X))
    if was_refused(found):
        return "refused later"
    for values in found:
        expect(values.dtype.kind != "f" or np.isfinite(values).all(), "a result is not finite")
    return "answered"


@cache
def checkpoint() -> tuple[np.ndarray, bytes, np.ndarray]:
    """Return matrices, the checkpoint of two iterations, and the atoms of four."""
    X = three_classes()[0]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "checkpoint")
        learner(path, 2).fit(X)
        content = path.read_bytes()
        return X, content, learner(path, 4).fit(X).atoms_


def learner(path: Path, max_iter: int) -> SPDDictionaryLearning:
    return SPDDictionaryLearning(
        4, init="random", max_iter=max_iter, tol=0.0, random_state=0, checkpoint=path
    )


def altered_checkpoints(rng: np.random.Generator) -> str:
    """Learning from an altered checkpoint is refused, or ends with the same bits.

    If the altered file has a checksum of its own, it ends with SPD matrices.
    """
    X, content, atoms = checkpoint()
    sealed = rng.random() < 0.5
    if sealed:
        metadata, arrays = unpack(content)
        if rng.random() < 0.3:
            metadata = altered_metadata(rng, metadata)
        else:
            name = str(rng.choice(list(arrays)))
            arrays[name] = altered_array(rng, arrays[name])
        content = pack(metadata, arrays)
    else:
        content = altered_bytes(rng, content)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "checkpoint")
        path.write_bytes(content)
        result = clearly_refused(lambda: learner(path, 4).fit(X).atoms_)
        if was_refused(result):
            expect(path.read_bytes() == content, "a checkpoint that was refused has changed")
            expect(str(path) in str(result), f"the refusal does not name the file: {result}")
            return "refused"
    if sealed:
        check_spd(result)
        return "answered"
    expect(result == atoms, "the atoms are not those of the checkpoint")
    return "agreed"


def killed_learning(rng: np.random.Generator) -> str:
    """A process that is killed while it learns leaves a checkpoint from which the same bits are learned."""
    X, _, atoms = checkpoint()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "checkpoint")
        for _ in range(int(rng.integers(1, 4))):
            process = multiprocessing.get_context("fork").Process(
                target=learner(path, 4).fit, args=(X,)
            )
            process.start()
            time.sleep(float(rng.uniform(0.0, 0.1)))
            process.kill()
            process.join()
            process.close()
        result = learner(path, 4).fit(X).atoms_
        expect(result == atoms, "the atoms are others after a kill")
    return "agreed"
