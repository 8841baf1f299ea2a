"""Means of matrices that lack channels: the C that minimises Σ_i w_i d(X_i, C_oo), o being the channels of X_i."""

from __future__ import annotations

import numpy as np

from spdatoms._utils.typing import FloatArray, Floats
from spdatoms.divergences.base import Divergence
from spdatoms.divergences.hermitian import over
from spdatoms.divergences.jeffrey import Jeffrey
from spdatoms.geometry.channels import Mask, cut, patterns, regressed
from spdatoms.geometry.functions import geometric_mean
from spdatoms.geometry.geodesics import AffineGeodesics
from spdatoms.geometry.spectral import adjoint, cholesky

#: Rounds of regression that the first mean takes.
_ROUNDS = 15
#: Steps that are tried, as shares of the one that the last two suggest; and what a step must fall at least.
_TRIALS, _LEAST_FALL = 0.5 ** np.arange(20), 1e-4


def completed(X: FloatArray, known: Mask, models: FloatArray) -> FloatArray:
    """Return matrices (m, n, n) completed by regression on a model (n, n), or on one for each."""
    found = np.array(X, np.result_type(X, models))
    for mask, rows in patterns(known):
        if not mask.all():
            own = models[rows] if models.ndim == 3 else models
            found[rows] = regressed(X[rows], mask, own)
    return found


def between(A: Floats, B: Floats, share: Floats) -> Floats:
    """Return the means, by Jeffrey's divergence, of matrices A_i with the weight 1 − s_i and B_i with the weight s_i.

    They are Q # P⁻¹ with Q = (1 − s)A + sB and P = (1 − s)A⁻¹ + sB⁻¹.
    """
    Q = (1.0 - share) * A + share * B
    P = (1.0 - share) * np.linalg.inv(A) + share * np.linalg.inv(B)
    return np.asarray(geometric_mean(Q, np.linalg.inv(P)))


def regression_mean(X: Floats, known: Mask, weights: Floats) -> Floats:
    """Return a model S that is the mean, by Jeffrey's divergence, of the matrices completed by regression on S.

    It is found in a few rounds, beginning with the variances alone.
    """
    if not known.any(axis=0).all():
        raise ValueError(
            f"No matrix has the channel {int(known.any(axis=0).argmin())}: leave it out of all matrices."
        )
    variances = np.where(known, X.diagonal(axis1=1, axis2=2).real, 1.0)
    shares = weights[:, None] * known
    logs = (shares * np.log(variances)).sum(axis=0) / shares.sum(axis=0)
    S = np.diag(np.exp(logs)).astype(X.dtype)
    jeffrey = over(Jeffrey(), X)
    for _ in range(_ROUNDS):
        S = jeffrey.centre(jeffrey.prepare(completed(X, known, S)), weights, S)
    return S


def incomplete_mean(
    divergence: Divergence, X: Floats, known: Mask, weights: Floats, tol: float, max_iter: int
) -> tuple[Floats, float]:
    """Return the mean, and the size of the last step to it.

    F(C) = Σ_i w_i d(X_i, C_oo) falls along geodesics of the cone in the direction of its gradient, that of d with zeros
    for the channels that X_i lacks. Of a pair of channels that no matrix has both, it says nothing.
    """
    C = regression_mean(X, known, weights)
    divergence = over(divergence, X)
    groups = []
    for mask, rows in patterns(known):
        own = divergence.prepare(cut(X[rows], mask))
        groups.append((np.ix_(mask, mask), own, weights[rows], mask))

    def value(C: Floats) -> float:
        return sum(
            float(w @ divergence.to_centres(own, cut(C[None], mask))[0])
            for _, own, w, mask in groups
        )

    def gradient(C: Floats) -> Floats:
        found = np.zeros_like(C)
        for at, own, w, mask in groups:
            here = divergence.prepare(cut(C[None], mask))
            found[at] += divergence.vjp(here, own, w[None], both=False)[0][0]
        return found

    here, last_change, length = value(C), np.inf, 1.0
    before: tuple[Floats, float] | None = None
    for _ in range(max_iter):
        L = cholesky(C)
        V = -adjoint(L) @ gradient(C) @ L
        slope = float(np.linalg.norm(V) ** 2)
        if before is not None:
            # The length of Barzilai and Borwein, in the frames of the two points.
            moved, by = before
            bend = float(np.vdot(moved, moved - V).real)
            length = by * float(np.linalg.norm(moved) ** 2) / bend if bend > 0 else 2.0 * by
        last_change = length * np.sqrt(slope / len(C))
        if last_change <= tol:
            break
        geodesic = AffineGeodesics.whitened(L[None], V[None])
        for t in length * _TRIALS:
            trial = geodesic.points(t)[0]
            reached = value(trial)
            if reached <= here - _LEAST_FALL * t * slope:
                break
        else:
            return C, 0.0  # as low as rounding lets it be
        before, C, here = (V, float(t)), trial, reached
    return C, last_change
