"""Hostile matrices: at the ends of the range, nearly singular, badly scaled, not SPD, not even arrays."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

from fuzz import draws
from fuzz.campaign import clearly_refused, expect, was_refused
from fuzz.formulas import divergences
from spdatoms import check_spd, mean, nearest_spd, pairwise_divergence
from spdatoms.divergences import get_divergence
from spdatoms.geometry import expm, geodesic, logm, powm, regularise, shrink, sqrtm, vech


def hostile_stack(rng: np.random.Generator) -> Any:
    """Return a stack of matrices with something odd about it, or something that is not a stack."""
    m, n = int(rng.integers(1, 9)), int(rng.integers(1, 9))
    X: Any = draws.spd(rng, m, n, 10.0 ** rng.uniform(0, 16))
    X = X * 10.0 ** rng.choice([0.0, rng.uniform(-300, 300)])
    if rng.random() < 0.3:
        scales = 10.0 ** rng.uniform(-8, 8, n)
        X = X * scales[:, None] * scales
    i, a, b = rng.integers(m), *rng.integers(n, size=2)
    faults: list[Callable[[Any], Any]] = [
        lambda X: X,
        lambda X: X,
        lambda X: X.astype(np.float32),
        lambda X: np.asfortranarray(X),
        lambda X: X[::-1],
        lambda X: np.repeat(X, 3, axis=0)[::2],
        lambda X: X.astype(">f8"),
        lambda X: X.astype(np.float16),
        lambda X: X.astype(np.longdouble),
        lambda X: (1000 * X / np.abs(X).max()).astype(int),
        lambda X: X.tolist(),
        lambda X: X.astype(object),
        lambda X: list(X),
        lambda X: X + 1j,
        lambda X: X.astype(str),
        lambda X: X[0],
        lambda X: X[None],
        lambda X: X[:0],
        lambda X: X[:, :-1],
        lambda X: np.zeros_like(X),
        lambda X: -X,
        lambda X: X == X,
        lambda X: None,
        lambda X: "X",
        lambda X: {"X": X},
        lambda X: [X[0], X[0][:1]],
        lambda X: np.ma.masked_array(X),
        lambda X: _with(X, i, a, b, rng.choice([np.nan, np.inf, -np.inf, 0.0, 1e308, 5e-324])),
        lambda X: _with(X, i, a, b, float(X[i, a, b]) * (1.0 + 10.0 ** rng.uniform(-17, 0))),
        lambda X: _with(X, i, a, a, -float(X[i, a, a])),
        lambda X: _without_least(X, rng.choice([1.0, 1.0 + 1e-9])),
    ]
    return faults[rng.integers(len(faults))](X)


def _with(X: np.ndarray, i: int, a: int, b: int, value: float) -> np.ndarray:
    X = X.copy()
    X[i, a, b] = value
    return X


def _without_least(X: np.ndarray, share: float) -> np.ndarray:
    """Return X − share·λ_min·I: nearly singular, on either side."""
    scale = np.abs(X).max()
    if not 0.0 < scale < np.inf:
        return X
    least = scale * np.linalg.eigvalsh(X / scale)[:, :1, None]
    return X - share * least * np.eye(X.shape[-1])


def semidefinite(X: np.ndarray) -> bool:
    """Return whether no eigenvalue is negative beyond rounding."""
    X = np.asarray(X)
    rounding = 100.0 * X.shape[-1] * np.finfo(X.dtype if X.dtype.kind in "fc" else float).eps
    units = np.abs(X).max(axis=(-2, -1), keepdims=True)
    eigenvalues = np.linalg.eigvalsh((X / np.where(units > 0, units, 1.0)).astype(complex))
    return bool((eigenvalues >= -rounding).all())


def hostile_pairs(rng: np.random.Generator) -> str:
    """Divergences, means and checks of anything: right for what is SPD, a clear error for the rest."""
    X, metric = hostile_stack(rng), draws.pick(rng, draws.metrics())
    checked = clearly_refused(lambda: check_spd(X))
    if was_refused(checked):
        for function in (lambda: pairwise_divergence(X, metric=metric), lambda: mean(X, metric)):
            if not was_refused(clearly_refused(function)):
                defined = get_divergence(metric).semidefinite and semidefinite(X)
                expect(defined, f"{metric} takes what check_spd refuses")
        return "refused"
    D = clearly_refused(lambda: pairwise_divergence(X, metric=metric))
    C = clearly_refused(lambda: mean(X, metric))
    if was_refused(D) or was_refused(C):
        return "refused"
    expect(np.isfinite(D) & (D >= 0), f"{metric} is negative or not finite")
    expect(np.diagonal(D) == 0, f"{metric}(X, X) is not zero")
    expect(np.isfinite(C) & (C == C.conj().T), "the mean is not finite or not symmetric")
    return "answered"


def right_pairs(rng: np.random.Generator) -> Counter[str]:
    """Divergences of matrices of moderate condition, of any size and type, against formulas of NumPy."""
    metric, kind = draws.pick(rng, draws.metrics()), draws.dtype(rng)
    n, single = int(rng.integers(1, 12)), np.finfo(kind).eps > 1e-10
    condition = 10.0 ** rng.uniform(0, 1.5 if single else 5)
    X, Y = (draws.spd(rng, 4, n, condition, kind) for _ in range(2))
    D = np.diagonal(pairwise_divergence(*(draws.same_laid_out(rng, Z) for Z in (X, Y)), metric))
    expected = np.diagonal(divergences(metric, X, Y))
    # The size of a divergence that knows units: that of two matrices that are twice as large as the others.
    size = 1.0 + np.abs(expected).max() + np.abs(divergences(metric, X, 2.0 * X).diagonal()).max()
    allowed = 500.0 * np.finfo(kind).eps * condition * n * size
    expect(np.abs(D - expected) <= allowed, f"{metric} of {kind} differs from its formula")
    return Counter(oracle=len(X))


def hostile_functions(rng: np.random.Generator) -> str:
    """Functions of matrices of anything: finite, or refused with a clear error."""
    X = hostile_stack(rng)
    amount = rng.choice([0.0, 0.5, 1.0, -1.0, 2.0, np.nan, np.inf, 1e300])
    functions: dict[str, Callable[[], Any]] = {
        "nearest_spd": lambda: nearest_spd(X),
        "regularise": lambda: regularise(X, amount),
        "shrink": lambda: shrink(X, amount),
        "sqrtm": lambda: sqrtm(X),
        "logm": lambda: logm(X),
        "expm": lambda: expm(X),
        "powm": lambda: powm(X, amount),
        "vech": lambda: vech(X),
        "geodesic": lambda: geodesic(X, X, amount),
    }
    name = str(rng.choice(list(functions)))
    result = clearly_refused(functions[name])
    if was_refused(result):
        return "refused"
    expect(np.isfinite(np.asarray(result)), f"{name} is not finite")
    return "answered"
