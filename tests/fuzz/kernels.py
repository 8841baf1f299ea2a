"""Kernels, their corrections, and landmarks, by their definitions."""

from __future__ import annotations

import numpy as np

from fuzz import draws
from fuzz.campaign import expect
from fuzz.formulas import divergences
from spdatoms import DivergenceKernel, SPDNystroem
from spdatoms.kernels import correct_gram

CORRECTIONS = ("clip", "flip", "shift")


def data(rng: np.random.Generator, m: int, queries: int) -> tuple[str, np.ndarray, np.ndarray]:
    """Return a symmetric metric, and matrices of moderate condition in two sets that do not lie far apart."""
    metric, kind = draws.pick(rng, draws.metrics(symmetric=True)), draws.dtype(rng)
    n = int(rng.integers(1, 5))
    condition = 10.0 ** rng.uniform(0.3, 1.5 if np.finfo(kind).eps > 1e-10 else 2.5)
    X = draws.spd(rng, m + queries, n, condition, kind)
    return metric, X[:m], X[m:]


def slack(X: np.ndarray) -> float:
    """Return the relative error that divergences of such matrices may have."""
    return 1e-9 if draws.precision(X) < 1e-10 else 2e-3


def automatic_beta(D: np.ndarray) -> float:
    """Return the reciprocal of the median divergence of two matrices."""
    apart = D[~np.eye(len(D), dtype=bool)]
    return float(1.0 / np.median(apart[apart > 0])) if (apart > 0).any() else 1.0


def corrected(
    K: np.ndarray, k: np.ndarray, correction: str, tolerance: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return a Gram matrix and cross values (m, N), both corrected if the Gram matrix is indefinite."""
    values, U = np.linalg.eigh(K)
    if values[0] >= -tolerance * values[-1]:
        return K, k
    if correction == "shift":
        return K + (1e-6 * np.abs(K).max() - values[0]) * np.eye(len(K)), k
    kept = np.where(values > 0, 1.0, 0.0 if correction == "clip" else -1.0)
    return (U * (kept * values)) @ U.T, k @ (U * kept) @ U.T


def kernel_by_definition(
    metric: str, D: np.ndarray, X: np.ndarray, beta: float | str, correction: str
) -> tuple[float, np.ndarray, np.ndarray]:
    """Return β, the Gram matrix of D, and the cross values of X."""
    among = divergences(metric, D, D)
    np.fill_diagonal(among, 0.0)
    beta = automatic_beta(among) if isinstance(beta, str) else beta
    K, k = np.exp(-beta * among), np.exp(-beta * divergences(metric, X, D))
    return beta, *corrected(K, k, correction, 8.0 * len(D) * 2.3e-16)


def close(found: np.ndarray, expected: np.ndarray, allowed: float) -> np.ndarray:
    """Return where two arrays differ by no more than this share of their size."""
    return np.abs(found - expected) <= allowed * np.maximum(np.abs(expected).max(), 1e-300)


def defined_kernels(rng: np.random.Generator) -> str:
    """Gram matrices and cross values of every symmetric metric, type, layout and correction."""
    metric, D, X = data(rng, int(rng.integers(2, 9)), 4)
    correction = draws.pick(rng, CORRECTIONS)
    beta = draws.pick(rng, ["auto", float(10.0 ** rng.uniform(-1, 1))])
    kernel = DivergenceKernel(metric, beta, correction).fit(D)
    cross = kernel.cross(draws.same_laid_out(rng, X))
    expected, K, k = kernel_by_definition(metric, D, X, beta, correction)
    allowed = slack(X) * (1.0 + (0.0 if isinstance(beta, str) else beta))
    expect(close(np.array(kernel.beta_), np.array(expected), allowed), f"β of {metric} is off")
    sharp = abs(kernel.min_eigenvalue_) > 1e-6 * kernel.max_eigenvalue_ or not kernel.corrected_
    if sharp:  # else rounding decides which eigenvalues are negative
        expect(close(kernel.gram_, K, 10.0 * allowed), f"the Gram matrix of {metric} is off")
        expect(close(cross, k, 10.0 * allowed), f"cross values of {metric} are off")
    expect(np.linalg.eigvalsh(kernel.gram_) >= -1e-12 * len(D), "the Gram matrix is indefinite")
    return "oracle"


def defined_corrections(rng: np.random.Generator) -> str:
    """Corrections of Gram matrices with a known spectrum, at any scale, and of their cross values."""
    N, correction = int(rng.integers(1, 9)), draws.pick(rng, CORRECTIONS)
    scale = 10.0 ** rng.uniform(-100, 100)
    values = scale * rng.choice([-1.0, 1.0, 1.0], N) * rng.uniform(0.1, 1.0, N)
    values[rng.integers(N)] = scale
    K = draws.with_spectrum(draws.unitary(rng, 1, N, np.float64), values[None])[0]
    k = scale * rng.standard_normal((3, N))
    found = correct_gram(draws.same_laid_out(rng, K), correction)
    gram, cross = corrected(K, k, correction, 1e-12)
    expect(close(found.gram, gram, 1e-11), f"{correction} of a Gram matrix is off")
    expect(close(found.transform(k), cross, 1e-11), f"{correction} of cross values is off")
    expect(found.indefinite == bool((values < 0).any()), "it is called indefinite, or is not")
    return "oracle"


def defined_landmarks(rng: np.random.Generator) -> str:
    """Inner products of landmark features are κᵀ K₊⁻¹ κ, whatever signs eigenvectors have."""
    metric, Z, X = data(rng, int(rng.integers(1, 8)), 4)
    tol = float(rng.choice([1e-3, 1e-6]))
    model = SPDNystroem(metric, landmarks=Z, tol=tol).fit(X)
    features = model.transform(X).astype(np.float64)
    among = divergences(metric, Z, Z)
    np.fill_diagonal(among, 0.0)
    beta = automatic_beta(among)
    values, U = np.linalg.eigh(np.exp(-beta * among))
    kept = values > tol * values[-1]
    if (np.abs(values - tol * values[-1]) < 1e-2 * tol * values[-1]).any():
        return "answered"  # rounding decides which directions are kept
    kappa = np.exp(-beta * divergences(metric, X, Z)) @ U[:, kept]
    expected = (kappa / values[kept]) @ kappa.T
    allowed = 100.0 * slack(X) / tol
    expect(features.shape[1] == kept.sum(), "there are more or fewer features than directions")
    expect(close(features @ features.T, expected, allowed), f"features of {metric} are off")
    return "oracle"


def kernel_cases(rng: np.random.Generator) -> str:
    """Kernels, corrections and landmarks in turn."""
    cases = (defined_kernels, defined_corrections, defined_landmarks)
    return draws.pick(rng, cases)(rng)
