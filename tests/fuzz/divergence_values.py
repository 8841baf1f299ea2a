"""Divergences and their gradients against their definitions in 50 digits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

import mpmath
import numpy as np

from _divergence_oracles import exact_derivative, exact_value
from fuzz import draws
from fuzz.campaign import clearly_refused, expect, was_refused
from spdatoms import divergence, pairwise_divergence
from spdatoms.divergences import get_divergence
from spdatoms.divergences.hermitian import over

#: How many times the error may be that of a small change of the matrices, and how small the change is.
_FACTOR, _CHANGE = 100.0, 4.0
#: What of the terms of a derivative may be lost: one that is found by differences has ten digits.
_DIFFERENCES = 1e-9


def in_range(number: Any, kind: np.dtype[Any]) -> bool:
    """Return whether a number of mpmath is a normal number of this type, or zero."""
    return not number or bool(np.finfo(kind).tiny <= abs(number) <= np.finfo(kind).max)


def change(
    rng: np.random.Generator,
    number: Callable[..., Any],
    matrices: tuple[np.ndarray, ...],
    metric: str,
    exact: Any,
) -> float:
    """Return how much a number changes if matrices are known to a few roundings only.

    A divergence that is invariant under congruence does not depend on the units of the variables, and neither do
    the changes. Matrices that a small change makes indefinite have no limit.
    """
    graded, size = get_divergence(metric).congruence_invariant, _CHANGE * draws.precision(*matrices)
    found = 0.0
    for _ in range(3):
        moved = (
            draws.near(rng, Z.astype(np.result_type(Z, np.float64)), size, graded=graded)
            for Z in matrices
        )
        try:
            found = max(found, float(abs(number(*moved) - exact)))
        except (ValueError, TypeError, AttributeError, ZeroDivisionError):
            return np.inf
    return found


def exact_pairs(rng: np.random.Generator) -> Counter[str]:
    """Divergences of hostile pairs, of every metric, type and layout: as their definition has them."""
    metric, kind = draws.pick(rng, draws.metrics()), draws.dtype(rng)
    A, B = draws.pairs(rng, 4, int(rng.integers(1, 5)), kind)
    (first, A), (second, B) = draws.laid_out(rng, A), draws.laid_out(rng, B)
    found: Counter[str] = Counter()
    for i in range(len(A)):
        exact = exact_value(metric, A[i], B[i])
        if isinstance(exact, mpmath.mpc):
            continue  # with all its digits the matrix is indefinite
        one = clearly_refused(
            lambda i=i: pairwise_divergence(first[i : i + 1], second[i : i + 1], metric)
        )
        if was_refused(one):
            # That of real forms is twice as large, and there is no type wider than double precision.
            largest = 2 * exact if kind == np.complex128 else exact
            regular = in_range(largest, kind) and well_conditioned(A[i], B[i])
            expect(not regular, f"{metric} refuses {float(exact):.3g}: {one}")
            found["refused"] += 1
            continue
        expect(one[0, 0] > 0.0 or in_range(exact, kind), f"{metric} is zero, not {exact}")
        moved = change(rng, partial(exact_value, metric), (A[i], B[i]), metric, exact)
        # Without a unit, and of close matrices what is left of sums of ones.
        floor = len(A[i]) if get_divergence(metric).congruence_invariant else 0.0
        allowed = _FACTOR * (moved + draws.precision(A) * (abs(exact) + floor))
        allowed += np.finfo(kind).smallest_subnormal
        error = abs(exact - float(one[0, 0]))
        expect(error <= allowed, f"{metric} of {kind} is {one[0, 0]!r}, not {float(exact)!r}")
        paired = divergence(first[i], second[i], metric)
        expect(abs(exact - float(paired)) <= allowed, f"{metric}: divergence() is {paired!r}")
        found["oracle"] += 1
    return found


def well_conditioned(*matrices: np.ndarray) -> bool:
    """Return whether matrices are positive definite, far from being singular in the units of their variables."""
    for X in matrices:
        roots = np.sqrt(np.diagonal(X).real.astype(np.float64))
        correlations = (X / roots / roots[:, None]).astype(np.result_type(X, np.float64))
        if np.linalg.eigvalsh(correlations)[0] < 100.0 * len(X) * draws.precision(X):
            return False
    return True


def exact_gradients(rng: np.random.Generator) -> Counter[str]:
    """Derivatives of d(A, B) by A, along one direction of each pair."""
    metric = draws.pick(rng, draws.metrics())
    kind = draws.pick(rng, [np.float64, np.complex128])
    A, B = draws.pairs(rng, 3, int(rng.integers(1, 4)), kind, scale=50.0)
    H = draws.tangents(rng, A)
    measure = over(get_divergence(metric), A)
    found: Counter[str] = Counter()
    for a, b, h in zip(A, B, H, strict=True):
        exact = exact_derivative(metric, a, b, h)
        G = clearly_refused(lambda a=a, b=b: measure.gradient(a[None], b[None])[0])
        if was_refused(G):
            found["refused"] += 1
            continue
        expect(np.isfinite(G), f"the gradient of {metric} is not finite")
        terms = (G * h.conj()).real
        # Both matrices: that of Burg's divergence has the inverse of b, which may be the worse conditioned.
        moved = change(
            rng, lambda Y, Z, h=h: exact_derivative(metric, Y, Z, h), (a, b), metric, exact
        )
        allowed = _FACTOR * moved + _DIFFERENCES * float(np.abs(terms).sum())
        expect(
            abs(terms.sum() - exact) <= allowed,
            f"the gradient of {metric} gives {terms.sum()!r}, not {float(exact)!r}",
        )
        found["oracle"] += 1
    return found
