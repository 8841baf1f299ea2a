"""The data of `same_results.py`, and how everything an estimator has learned and says gets a name."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from numbers import Number
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse
from numpy.typing import DTypeLike, NDArray

from spdatoms.datasets import load_textures
from spdatoms.descriptors import TextureCovariance

Array: TypeAlias = NDArray[Any]
#: Names and what was computed, an array or what makes one.
Results: TypeAlias = Iterator[tuple[str, Any]]

METRICS = ("stein", "jeffrey", "burg", "riemann", "logeuclid", "euclid")
SYMMETRIC = tuple(metric for metric in METRICS if metric != "burg")
#: Those that dictionaries are learned with.
LEARNED = ("stein", "jeffrey", "logeuclid")
SIZES = (1, 3, 5, 12, 22, 43)
DTYPES = (np.float64, np.float32)

_METHODS = ("transform", "predict", "predict_proba", "decision_function")


def wishart(m: int, n: int, seed: int, dtype: DTypeLike = np.float64) -> Array:
    """Return m covariances of 2n + 2 Gaussian samples, exactly symmetric."""
    samples = np.random.default_rng([seed, m, n]).standard_normal((m, n, 2 * n + 2))
    X = samples @ samples.swapaxes(1, 2) / (2 * n + 2)
    return np.asarray(0.5 * (X + X.swapaxes(1, 2)), dtype)


def classes(
    m: int, n: int, seed: int, n_classes: int = 3, dtype: DTypeLike = np.float64
) -> tuple[Array, Array]:
    """Return matrices of classes that overlap a little, and their labels."""
    labels = np.arange(m) % n_classes
    scales = np.ones((m, n))
    scales[np.arange(m), labels % n] = 1.8
    scales *= 1.0 + 0.2 * labels[:, None]
    X = wishart(m, n, seed) * scales[:, :, None] * scales[:, None, :]
    return X.astype(dtype), np.array(["ash", "elm", "oak", "yew"])[labels]


@cache
def textures() -> tuple[Array, Array, Array]:
    """Return covariances of blocks of photographs, their labels and groups."""
    photographs = load_textures(per_class=12)
    X = TextureCovariance(block=None).transform(photographs.data)
    return X, photographs.labels, photographs.groups


def inputs() -> Results:
    """Give the data themselves: where they differ, everything else will."""
    for n in SIZES:
        yield f"wishart n={n}", wishart(5, n, 0)
    yield "classes", classes(30, 4, 0)[0]
    for name, part in zip(("matrices", "labels", "groups"), textures(), strict=True):
        yield f"textures {name}", part


def named(prefix: str, results: Any) -> Results:
    """Put a prefix before the names."""
    for name, value in results:
        yield f"{prefix} {name}", value


def learned(model: Any) -> Results:
    """Give the numbers and arrays among the public attributes of a fitted estimator."""
    for name, value in sorted(vars(model).items()):
        if name.startswith("_") or not name.endswith("_"):
            continue
        if isinstance(value, np.ndarray | Number):
            yield name, value
        elif hasattr(value, "gram_"):
            yield from named(name, learned(value))


def said(model: Any, X: Any) -> Results:
    """Give what a fitted estimator says about X, by all of its methods."""
    for method in _METHODS:
        if hasattr(model, method):
            yield method, getattr(model, method)(X)


def everything(model: Any, X: Any) -> Results:
    """Give what a fitted estimator has learned, and what it says about X."""
    yield from learned(model)
    yield from said(model, X)


def as_array(value: Any) -> Array:
    """Return an array with the same content: of a Dask array, a sparse one or a list of arrays, too."""
    if hasattr(value, "compute"):
        value = value.compute()
    if scipy.sparse.issparse(value):
        value = value.toarray()
    if isinstance(value, list) and value and isinstance(value[0], np.ndarray):
        value = np.concatenate(value)
    return np.asarray(value)
