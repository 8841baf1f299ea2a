"""Sparse codes of hostile Gram matrices, judged by the conditions of optimality."""

from __future__ import annotations

from typing import Any

import numpy as np

from _hostile import HOSTILE
from fuzz.campaign import clearly_refused, expect, was_refused
from spdatoms import sparse_code


def problem(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return a Gram matrix, perhaps singular, at any scale, and cross values in its range."""
    N, rank, m = (int(rng.integers(1, k)) for k in (20, 25, 6))
    P = rng.standard_normal((N, rank)) * 10.0 ** rng.choice([0.0, rng.uniform(-60, 60)])
    if rng.random() < 0.3:
        P[rng.integers(N)] = P[rng.integers(N)]
    if rng.random() < 0.3:
        P *= 10.0 ** rng.uniform(-3, 3, (N, 1))
    queries = rng.standard_normal((m, rank)) * np.abs(P).max()
    return P @ P.T, queries @ P.T


def optimal_codes(rng: np.random.Generator) -> str:
    """Codes satisfy 2(Ky − k) ∈ −α ∂‖y‖₁, in the units of every query."""
    K, k = problem(rng)
    positive = bool(rng.random() < 0.3)
    alpha = float(rng.choice([1e-4, 0.01, 0.3, 1.0, 3.0])) * np.abs(k).max()
    options: dict[str, Any] = {"positive": positive}
    if rng.random() < 0.3:
        options["init"] = rng.standard_normal(k.shape)
    codes = clearly_refused(lambda: sparse_code(K, k, alpha, **options))
    if was_refused(codes):
        return "refused"
    expect(np.isfinite(codes), "a code is not finite")
    expect((codes >= 0) | (not positive), "a code is negative")
    gradient, size = 2.0 * (codes @ K - k), np.abs(k).max(axis=1, keepdims=True)
    active = codes != 0
    violation = np.where(
        active,
        np.abs(gradient + alpha * np.sign(codes)),
        np.maximum((-gradient if positive else np.abs(gradient)) - alpha, 0.0),
    )
    expect(violation <= 1e-6 * size, "a code is not optimal")
    alone = sparse_code(K, k[:1], alpha, **{n: v[:1] for n, v in options.items() if n == "init"},
                        positive=positive)  # fmt: skip
    expect(alone == codes[:1], "a code depends on the other queries")
    return "agreed"


def hostile_arguments(rng: np.random.Generator) -> str:
    """Arguments that nobody means are refused with a sentence."""
    K, k = problem(rng)
    names = ["gram", "cross", "alpha", "ridge", "query_norm", "positive", "init", "exclude", "tol"]
    names += ["max_rounds", "check_gram", "sparse", "n_jobs", "return_certificate"]
    arguments: dict[str, Any] = {"gram": K, "cross": k, "alpha": 0.1 * np.abs(k).max()}
    values = [*HOSTILE, True, -1, 0, 1.5, None, K[:0], k * np.nan, -K, 1e308 * k, k.astype(object)]
    for name in rng.choice(names, size=int(rng.integers(1, 3)), replace=False):
        arguments[str(name)] = values[rng.integers(len(values))]
    result = clearly_refused(lambda: sparse_code(**arguments))
    return "refused" if was_refused(result) else "answered"
