"""What cases are made of: matrices, and the types, layouts, metrics and estimators of the registries."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
from sklearn.base import clone

from conformance.estimators import ESTIMATORS
from conformance.layouts import LAYOUTS, plain
from spdatoms.divergences import Divergence, get_divergence
from spdatoms.divergences.registry import divergence_classes

Thing = TypeVar("Thing")
DTYPES = (np.float32, np.float64, np.complex64, np.complex128)


def pick(rng: np.random.Generator, things: Sequence[Thing]) -> Thing:
    """Return one of some things."""
    return things[int(rng.integers(len(things)))]


def metrics(*, symmetric: bool = False) -> list[str]:
    """Return the names of the divergences of the package; other tests may have registered more."""
    classes = [c for c in divergence_classes() if c.__module__.startswith("spdatoms.")]
    return [c.name for c in classes if c.symmetric or not symmetric]


def dtype(rng: np.random.Generator) -> np.dtype[Any]:
    """Return single or double precision, real or complex."""
    return np.dtype(pick(rng, DTYPES))


def precision(*arrays: np.ndarray) -> float:
    """Return the rounding error of the type that arrays have together."""
    return float(np.finfo(np.result_type(*arrays)).eps)


def laid_out(rng: np.random.Generator, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return X in some layout, and a plain copy of what that holds."""
    other = LAYOUTS[pick(rng, list(LAYOUTS))](X)
    return other, plain(other)


def same_laid_out(rng: np.random.Generator, X: np.ndarray) -> np.ndarray:
    """Return X in some layout that does not repeat one of its rows."""
    other, same = laid_out(rng, X)
    return other if np.array_equal(same, X) else X


# --- estimators -----------------------------------------------------------------------------------------


def estimator(rng: np.random.Generator) -> Any:
    """Return an estimator of the conformance suite, with any metric that its parameter allows."""
    model: Any = clone(pick(rng, ESTIMATORS))
    allowed = type(model)._parameters
    for name in inspect.signature(type(model)).parameters:
        if name in ("metric", "cluster_metric") and rng.random() < 0.7:
            setattr(model, name, pick(rng, [m for m in metrics() if _allows(allowed[name], m)]))
    return model


def _allows(parameter: Any, value: Any) -> bool:
    try:
        parameter.check("metric", value)
    except ValueError:
        return False
    return True


def has_mean(metric: str | Divergence) -> bool:
    """Return whether a metric has means."""
    measure = get_divergence(metric)
    try:
        measure.centre(measure.prepare(np.eye(2)[None]), np.ones(1), np.eye(2))
    except ValueError:
        return False
    return True


# --- matrices -------------------------------------------------------------------------------------------


def unitary(rng: np.random.Generator, m: int, n: int, kind: Any) -> np.ndarray:
    """Return (m, n, n) orthogonal matrices, or unitary ones of a complex type."""
    G = rng.standard_normal((m, n, n))
    if np.dtype(kind).kind == "c":
        G = G + 1j * rng.standard_normal((m, n, n))
    return np.linalg.qr(G)[0]


def spd(
    rng: np.random.Generator, m: int, n: int, condition: float = 1e4, kind: Any = np.float64
) -> np.ndarray:
    """Return m positive definite matrices of about this condition number."""
    return with_spectrum(unitary(rng, m, n, kind), condition ** -rng.random((m, n))).astype(kind)


def with_spectrum(U: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return the Hermitian matrices U diag(values) Uᴴ."""
    return hermitian((U * values[:, None, :]) @ U.conj().swapaxes(1, 2))


def hermitian(X: np.ndarray) -> np.ndarray:
    """Return the Hermitian parts."""
    return np.asarray(0.5 * (X + X.conj().swapaxes(-1, -2)))


def tangents(rng: np.random.Generator, X: np.ndarray) -> np.ndarray:
    """Return Hermitian matrices of the size of X, in the units of its variables."""
    G = rng.standard_normal(X.shape)
    if X.dtype.kind == "c":
        G = G + 1j * rng.standard_normal(X.shape)
    units = np.sqrt(np.einsum("mii->mi", X).real)
    return hermitian(G) * units[:, :, None] * units[:, None, :]


def limits(kind: np.dtype[Any]) -> tuple[float, float]:
    """Return the decimal logarithms of condition numbers and scales at which a type is at home."""
    return (3.0, 30.0) if np.finfo(kind).eps > 1e-10 else (10.0, 290.0)


def pairs(
    rng: np.random.Generator, m: int, n: int, kind: Any, scale: float | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return m independent pairs of positive definite matrices that are hostile, each in a way of its own.

    Their sizes are between 10^-scale and 10^scale, by default at the ends of the range of the type.
    """
    kind = np.dtype(kind)
    condition, ends = limits(kind)
    scale = ends if scale is None else scale
    A, B = (
        spd(rng, m, n, 10.0 ** rng.uniform(0.0, 3.0), kind).astype(np.result_type(kind, float))
        for _ in range(2)
    )
    for i in range(m):
        way = rng.integers(6)
        if way == 1:  # badly conditioned
            A[i], B[i] = spd(rng, 2, n, 10.0 ** rng.uniform(3.0, condition), A.dtype)
        elif way == 2:  # in units of their own
            units = 10.0 ** rng.uniform(-condition, condition, n)
            A[i], B[i] = A[i] * units[:, None] * units, B[i] * units[:, None] * units
        elif way == 3:  # close to each other
            L = np.linalg.cholesky(A[i])
            T = tangents(rng, np.eye(n, dtype=A.dtype)[None])[0]
            size = 10.0 ** rng.uniform(-condition, -1.0) / np.linalg.norm(T)
            B[i] = L @ (np.eye(n) + size * T) @ L.conj().T
        elif way == 4:  # diagonal, and far apart
            A[i], B[i] = (np.diag(10.0 ** rng.uniform(-condition, condition, n)) for _ in range(2))
        elif way == 5:  # at the ends of the range
            A[i], B[i] = (Z * 10.0 ** rng.uniform(-scale, scale) for Z in (A[i], B[i]))
    return hermitian(A).astype(kind), hermitian(B).astype(kind)


def near(rng: np.random.Generator, X: np.ndarray, size: float, *, graded: bool) -> np.ndarray:
    """Return a matrix that differs from X by this share: of its norm, or in the units of its variables."""
    E = size * tangents(rng, X[None])[0]
    if not graded:
        E = size * np.abs(X).max() * tangents(rng, np.eye(len(X), dtype=X.dtype)[None])[0]
    return np.asarray(X + E)
