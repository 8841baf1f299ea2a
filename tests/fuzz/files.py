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
from spdatoms.divergences import divergence_names

VALUES = [
    None, True, -1, 0, 1, 1e308, 1e-308, 5e-324, "nan", "stein", "auto", [], {}, [1, 2], 10**30, "\x00", "[red]", 0.5,
    {"float": "inf"}, {"tuple": []}, {"dict": []}, {"object": {"class": "Stein", "parameters": {}, "attributes": {}}},
    {"objects": {"shape": [0], "items": []}},
]  # fmt: skip


@cache
def model_file(number: int, metric: str) -> bytes | None:
    """Return the file of an estimator, with this divergence if it takes one; None if it takes others only."""
    X, y = three_classes()
    estimator = clone(ESTIMATORS[number])
    if "metric" in estimator.get_params():
        estimator.set_params(metric=metric)
    if was_refused(clearly_refused(lambda: estimator.fit(X, targets(estimator, y)))):
        return None
    with tempfile.TemporaryDirectory() as folder:
        return saved(estimator, Path(folder))


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


def leaves(value: Any) -> list[Any]:
    """Return all values of a tree of JSON but the root, those within others included."""
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [found for item in items for found in (item, *leaves(item))]


def altered_metadata(rng: np.random.Generator, value: Any, others: list[Any]) -> Any:
    """Return a tree of JSON with one of its leaves or branches replaced, perhaps by another one of it."""
    if isinstance(value, dict) and value and rng.random() < 0.9:
        key = str(rng.choice(list(value)))
        if rng.random() < 0.1:
            return {k: v for k, v in value.items() if k != key}
        return {**value, key: altered_metadata(rng, value[key], others)}
    if isinstance(value, list) and value and rng.random() < 0.8:
        at = int(rng.integers(len(value)))
        return [*value[:at], altered_metadata(rng, value[at], others), *value[at + 1 :]]
    choice = VALUES if rng.random() < 0.6 else others
    return copy.deepcopy(choice[rng.integers(len(choice))])


def altered_array(rng: np.random.Generator, array: np.ndarray) -> np.ndarray:
    """Return an array of another shape, type, or with other numbers."""
    numbers = array.dtype.kind in "fc"
    factor = rng.choice([np.nan, np.inf, 0.0, -1.0, 1e300, 1e-300, 1e150, 1e-150, 1e20, 1e-20])
    kinds = [
        lambda: array[:-1] if array.ndim else array,
        lambda: array[..., :0] if array.ndim else array,
        lambda: array.astype(rng.choice(["f2", "f4", "f8", "c8", "c16", "i4", "i8", "u1", "b1"]))
        if array.dtype.kind in "fciub" else array,
        lambda: array * factor if numbers else -array if array.dtype.kind == "i" else array,
        lambda: one_entry(rng, array, factor if numbers else rng.choice([-1, 0, 1, 2, 100])),
        lambda: np.zeros_like(array),
        lambda: np.roll(array, 1),
        lambda: array.ravel(),
        lambda: array[..., None],
        lambda: np.concatenate([array, array]) if array.ndim else array,
        lambda: array.T,
    ]  # fmt: skip
    return np.asarray(kinds[rng.integers(len(kinds))]())


def one_entry(rng: np.random.Generator, array: np.ndarray, number: Any) -> np.ndarray:
    if not array.size or array.dtype.kind not in "fciu":
        return array
    changed = array.copy()
    changed.flat[rng.integers(array.size)] = np.asarray(number).astype(array.dtype)
    return changed


def altered_content(rng: np.random.Generator, content: bytes) -> bytes:
    """Return the file with other metadata or another array, under a checksum of its own."""
    metadata, arrays = unpack(content)
    if rng.random() < 0.5 or not arrays:
        metadata = altered_metadata(rng, metadata, leaves(metadata))
    else:
        name = str(rng.choice(list(arrays)))
        arrays[name] = altered_array(rng, arrays[name])
    return pack(metadata, arrays)


def altered_models(rng: np.random.Generator) -> str:
    """An altered model is refused with a clear error about the file, or what it says is finite or refused."""
    X, _ = three_classes()
    content = model_file(int(rng.integers(len(ESTIMATORS))), str(rng.choice(divergence_names())))
    if content is None:
        return "refused"
    if rng.random() < 0.2:
        content = altered_bytes(rng, content)
        content = seal(content) if rng.random() < 0.5 and len(content) > 64 else content
    else:
        content = altered_content(rng, content)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model")
        path.write_bytes(content)
        model = clearly_refused(lambda: load(path))
    if was_refused(model):
        expect(str(path) in str(model), f"the refusal does not name the file: {model}")
        return "refused"
    found = clearly_refused(lambda: outputs(model, X))
    if was_refused(found):
        return "refused"
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
    content = altered_content(rng, content) if sealed else altered_bytes(rng, content)
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
    return "law"


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
    return "law"
