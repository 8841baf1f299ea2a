"""Sparse codes of hostile Gram matrices: by the conditions of optimality, all supports, and another solver."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from _hostile import HOSTILE
from _lasso_problems import interior_point, objective
from fuzz import draws
from fuzz.campaign import clearly_refused, expect, was_refused
from spdatoms import sparse_code, sparse_code_path
from spdatoms.paper.baselines import FrobeniusSparseCoder, TensorSparseCoder


def problem(
    rng: np.random.Generator, most: int = 20, queries: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return a Gram matrix, perhaps singular, at any scale, and cross values in its range."""
    N, rank, m = (int(rng.integers(1, k)) for k in (most, 25, 6))
    P = rng.standard_normal((N, rank)) * 10.0 ** rng.choice([0.0, rng.uniform(-60, 60)])
    if rng.random() < 0.3:
        P[rng.integers(N)] = P[rng.integers(N)] * (1.0 + rng.choice([0.0, 1e-15, 1e-9]))
    if rng.random() < 0.3:
        P *= 10.0 ** rng.uniform(-3, 3, (N, 1))
    Q = rng.standard_normal((queries or m, rank)) * np.abs(P).max()
    return P @ P.T, Q @ P.T


def options_of(rng: np.random.Generator, K: np.ndarray, k: np.ndarray) -> dict[str, Any]:
    """Return arguments of `sparse_code`, which change what the codes are or how they are found."""
    options: dict[str, Any] = {
        "alpha": float(rng.choice([1e-4, 0.01, 0.3, 1.0, 3.0])) * np.abs(k).max()
    }
    options["positive"] = bool(rng.random() < 0.3)
    if rng.random() < 0.3:
        options["ridge"] = float(10.0 ** rng.uniform(-6, 1) * np.abs(K).max())
    if rng.random() < 0.3:
        options["init"] = rng.standard_normal(k.shape)
    if rng.random() < 0.2:
        options["exclude"] = rng.integers(-1, len(K), len(k))
    return options


def violation(
    K: np.ndarray, k: np.ndarray, codes: np.ndarray, options: dict[str, Any]
) -> np.ndarray:
    """Return by how much codes violate 2((K + ρI)y − k) ∈ −α ∂‖y‖₁, entry by entry, in extended precision."""
    K, k, codes = (Z.astype(np.longdouble) for Z in (K, k, codes))
    alpha = options["alpha"]
    gradient = 2.0 * (codes @ K + options.get("ridge", 0.0) * codes - k)
    at_zero = -gradient if options["positive"] else np.abs(gradient)
    found = np.where(
        codes != 0, np.abs(gradient + alpha * np.sign(codes)), np.maximum(at_zero - alpha, 0.0)
    )
    excluded = np.asarray(options.get("exclude", np.full(len(k), -1)))
    for row, atom in enumerate(excluded):
        if atom >= 0:
            expect(codes[row, atom] == 0, "an excluded atom is used")
            found[row, atom] = 0.0
    return found


def optimal_codes(rng: np.random.Generator) -> str:
    """Codes satisfy the conditions of optimality, in the units of every query, and are the same in any company."""
    K, k = problem(rng)
    options = options_of(rng, K, k)
    codes = clearly_refused(lambda: sparse_code(K, k, **options))
    if was_refused(codes):
        return "refused"
    expect(np.isfinite(codes), "a code is not finite")
    expect((codes >= 0) | (not options["positive"]), "a code is negative")
    size = np.abs(k).max(axis=1, keepdims=True)
    expect(violation(K, k, codes, options) <= 1e-6 * size, "a code is not optimal")
    first = {name: v[:1] if isinstance(v, np.ndarray) else v for name, v in options.items()}
    expect(sparse_code(K, k[:1], **first) == codes[:1], "a code depends on the other queries")
    if "init" not in options and "exclude" not in options:
        alphas = [4.0 * options["alpha"], options["alpha"]]
        path = sparse_code_path(
            K, k, alphas, positive=options["positive"], ridge=options.get("ridge", 0.0)
        )
        expect(
            violation(K, k, np.asarray(path[-1]), options) <= 1e-6 * size, "a path is not optimal"
        )
    return "oracle"


def least_objective(K: np.ndarray, k: np.ndarray, alpha: float, positive: bool) -> float:
    """Return the least objective over all supports and signs: at one of them it is that of the code."""
    least = 0.0
    for signs in product((0, 1) if positive else (-1, 0, 1), repeat=len(K)):
        s = np.array(signs, float)
        used = np.flatnonzero(s)
        if len(used):
            y, *_ = np.linalg.lstsq(
                K[np.ix_(used, used)], k[used] - 0.5 * alpha * s[used], rcond=1e-12
            )
            if (y * s[used] >= 0).all():
                value = y @ K[np.ix_(used, used)] @ y - 2.0 * y @ k[used] + alpha * np.abs(y).sum()
                least = min(least, float(value))
    return least


def least_codes(rng: np.random.Generator) -> str:
    """The objective of codes over few atoms is the least of all supports; over more, that of a general solver."""
    few = rng.random() < 0.8
    N, rank = int(rng.integers(1, 5 if few else 15)), int(rng.integers(1, 12))
    P = rng.standard_normal((N, rank))
    if rng.random() < 0.3:
        P[rng.integers(N)] = P[rng.integers(N)]
    K, positive = P @ P.T, bool(rng.random() < 0.4)
    k = rng.standard_normal((1, rank)) @ P.T
    alpha = float(rng.choice([0.01, 0.1, 0.5, 1.5])) * np.abs(k).max()
    ridge = float(rng.choice([0.0, 0.1]))
    codes = sparse_code(K, k, alpha, positive=positive, ridge=ridge)
    K = K + ridge * np.eye(N)
    found = float(objective(K, k, alpha, codes, query_norm=0.0)[0])
    if few:
        least, allowed = least_objective(K, k[0], alpha, positive), 1e-9
    else:
        least, allowed = interior_point(K, k[0], alpha, positive)[1], 1e-6
    size = np.abs(k).max() * (np.abs(codes).sum() + 1.0)
    expect(abs(found - least) <= allowed * size, f"the objective is {found!r}, not {least!r}")
    return "oracle"


def matrices_of_atoms(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return atoms, some of them copies up to rounding, and a few queries."""
    n = int(rng.integers(1, 8))
    D = draws.spd(rng, int(rng.integers(1, 9)), n, 10.0 ** rng.uniform(0, 5))
    if rng.random() < 0.5:
        copies = D[rng.integers(len(D), size=int(rng.integers(1, 30)))]
        noise = 10.0 ** rng.uniform(-18, -8) * rng.standard_normal(copies.shape)
        D = np.concatenate([D, draws.hermitian(copies * (1.0 + noise))])
    X = draws.spd(rng, 3, n, 10.0 ** rng.uniform(0, 4))
    if rng.random() < 0.4:
        X[0] = D[rng.integers(len(D))]
    scale = 2.0 ** int(rng.integers(-100, 101))
    return draws.hermitian(D) * scale, X * scale


def tensor_codes(rng: np.random.Generator) -> str:
    """Codes of TensorSparseCoder: g = tr(X⁻¹D_j) + α − tr(S⁻¹D_j) is zero, or not negative where y_j is zero."""
    D, X = matrices_of_atoms(rng)
    alpha, bounded = float(rng.choice([0.0, 1e-3, 0.01, 1.0])), bool(rng.random() < 0.2)
    codes = TensorSparseCoder(alpha=alpha, bounded=bounded).fit(D).transform(X)
    expect(np.isfinite(codes) & (codes >= 0.0), "a code is negative or not finite")
    sums = np.tensordot(codes, D, 1)
    if bounded:
        room = np.linalg.eigvalsh((X - sums) / np.abs(X).max())
        expect(room >= -1e-7, "the sum of the atoms is beyond the matrix")
        return "law"
    for x, y, S in zip(X, codes, sums, strict=True):
        near, own = (np.einsum("ij,aji->a", np.linalg.inv(Z), D) for Z in (x, S))
        gradient = near + alpha - own
        size = near + alpha + own
        expect(gradient >= -1e-5 * size, "an atom that is left out would help")
        # How much the objective could fall: y·g is the duality gap of a function of degree one and a logarithm.
        expect(abs(float(y @ gradient)) <= 1e-5 * len(x), "an atom has too large a part")
    return "oracle"


def frobenius_codes(rng: np.random.Generator) -> str:
    """Codes of FrobeniusSparseCoder: the conditions of min ‖X − Σ y_j D_j‖² + α s² Σ y_j over y ≥ 0."""
    D, X = matrices_of_atoms(rng)
    coder = FrobeniusSparseCoder(alpha=float(rng.choice([0.0, 0.01, 0.5]))).fit(D)
    codes = coder.transform(X)
    unit = float(
        np.sqrt(np.mean(np.sum((D / np.abs(D).max()) ** 2, axis=(1, 2)))) * np.abs(D).max()
    )
    flat, queries = ((Z / unit).reshape(len(Z), -1).astype(np.longdouble) for Z in (D, X))
    options = {"alpha": coder.alpha_, "positive": True}
    size = np.abs(queries @ flat.T).max(axis=1, keepdims=True)
    wrong = violation(flat @ flat.T, queries @ flat.T, codes, options)
    expect(np.isfinite(codes) & (codes >= 0), "a code is negative or not finite")
    expect(wrong <= 1e-6 * size, f"a code is not optimal by {float(np.max(wrong / size)):.3g}")
    return "oracle"


def hostile_arguments(rng: np.random.Generator) -> str:
    """Arguments that nobody means are refused with a clear error."""
    K, k = problem(rng)
    names = ["gram", "cross", "alpha", "ridge", "query_norm", "positive", "init", "exclude", "tol"]
    names += ["max_rounds", "check_gram", "sparse", "n_jobs", "return_certificate"]
    arguments: dict[str, Any] = {"gram": K, "cross": k, "alpha": 0.1 * np.abs(k).max()}
    values = [*HOSTILE, True, -1, 0, 1.5, None, K[:0], k * np.nan, -K, 1e308 * k, k.astype(object)]
    for name in rng.choice(names, size=int(rng.integers(1, 3)), replace=False):
        arguments[str(name)] = values[rng.integers(len(values))]
    result = clearly_refused(lambda: sparse_code(**arguments))
    return "refused" if was_refused(result) else "answered"
