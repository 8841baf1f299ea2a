"""What the other channels, and similar matrices, say of a channel: three residuals, and how large they usually are.

With P = X⁻¹, for channel k of X:

- e₁, the residual of log x_kk, the variance;
- e₂, the residual of −log p_kk, the conditional variance, which the other channels do not explain;
- e₃, the log of what k adds to the mean Stein divergence to the nearest training matrices.

e₁ and e₂ are from a ridge regression on the log variances and log conditional variances of the other channels, computed
without k. All matrices "without k" come from one inverse: ``S(X, A) − S(X₋ₖ, A₋ₖ) = ½ log (X⁻¹)ₖₖ + ½ log (A⁻¹)ₖₖ −
log (((X + A)/2)⁻¹)ₖₖ``, and p_jj without k is ``p_jj − |p_jk|²/p_kk``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spdatoms._utils.sampling import evenly_spaced
from spdatoms._utils.threads import block_slices
from spdatoms._utils.typing import FloatArray, Floats, Indices
from spdatoms.divergences import pairwise_divergence
from spdatoms.geometry.hermitian import as_double

#: The nearest training matrices whose mean divergence counts, and those among which they are looked for.
NEAREST, CANDIDATES = 3, 20
#: The number of training matrices that are left out in turn for e₃.
_LEFT_OUT = 300
#: Penalties of the regression, relative to the mean eigenvalue of its predictors.
_PENALTIES = np.geomspace(1e-3, 1e2, 11)
#: Predictors farther from their mean than this many deviations count as if they were there.
_REACH = 3.0
_BLOCK_BYTES = 16 << 20
_TINY = 1e-12


def own_values(X: FloatArray) -> tuple[Floats, Floats]:
    """Return log x_kk and −log p_kk, shape (m, n, 2), and for every k those of the others, (n, m, 2n − 2)."""
    m, n, _ = X.shape
    variances, C, _ = scaled(X)
    P = np.linalg.inv(C)
    p = np.einsum("mii->mi", P).real
    without = np.maximum(p[:, None] - abs(P) ** 2 / p[:, :, None], _TINY)  # [., k, j]
    conditional = variances[:, None] - np.log(without)
    predictors = np.empty((n, m, 2 * n - 2))
    for k in range(n):
        others = np.delete(np.arange(n), k)
        predictors[k, :, : n - 1] = variances[:, others]
        predictors[k, :, n - 1 :] = conditional[:, k, others]
    return np.stack([variances, variances - np.log(p)], axis=2), predictors


def scaled(X: FloatArray) -> tuple[Floats, Floats, Floats]:
    """Return the log variances, the matrices with a unit diagonal, and the square roots of the variances."""
    X = as_double(X)
    variances = np.einsum("mii->mi", X).real
    root = np.sqrt(variances)
    return np.log(variances), (X / root[:, :, None]) / root[:, None], root


@dataclass(frozen=True)
class Regression:
    """Ridge regressions of two values of every channel on those of the others, fitted to the training matrices."""

    centre: Floats
    reach: Floats
    offset: Floats
    weights: Floats
    left_out: Floats

    @classmethod
    def fit(cls, values: Floats, predictors: Floats) -> Regression:
        """Fit; the penalty of a channel is that with the least left-out error, in closed form."""
        n, m, _ = predictors.shape
        Y = values.swapaxes(0, 1)  # (n, m, 2)
        centre, offset = predictors.mean(axis=1, keepdims=True), Y.mean(axis=1, keepdims=True)
        V, Y = predictors - centre, Y - offset
        squares, Q = np.linalg.eigh(V.swapaxes(1, 2) @ V)
        squares = np.maximum(squares, 0.0)
        B = V @ Q
        products = B.swapaxes(1, 2) @ Y
        unit = squares.sum(axis=1) / m
        best = np.full(n, np.inf)
        weights, left_out = np.empty((n, V.shape[2], 2)), np.empty_like(Y)
        for penalty in _PENALTIES:
            inverse = 1.0 / (squares + (penalty * unit)[:, None])
            leverage = 1.0 / m + (B**2 @ inverse[:, :, None])
            error = (Y - B @ (inverse[:, :, None] * products)) / np.maximum(1.0 - leverage, _TINY)
            loss = np.log(np.maximum((error**2).mean(axis=1), _TINY)).sum(axis=1)
            better = loss < best
            best[better], left_out[better] = loss[better], error[better]
            weights[better] = (Q @ (inverse[:, :, None] * products))[better]
        reach = _REACH * V.std(axis=1, keepdims=True)
        return cls(centre, reach, offset, weights, left_out.swapaxes(0, 1))

    def residuals(self, values: Floats, predictors: Floats) -> Floats:
        """Return what the others do not predict of the values, (m, n, 2)."""
        # A channel that is off by much must not make the others look so.
        V = np.clip(predictors - self.centre, -self.reach, self.reach)
        predicted = self.offset + V @ self.weights
        return values - predicted.swapaxes(0, 1)


@dataclass(frozen=True)
class Statistics:
    """The three residuals of every channel, and their usual size, among matrices with the same channels.

    Attributes
    ----------
    matrices : ndarray of shape (N, n, n)
        The training matrices.
    log_determinants : ndarray of shape (N,)
        Theirs.
    log_precisions : ndarray of shape (N, n)
        The logarithms of the diagonals of their inverses.
    regression : Regression
        That of e₁ and e₂.
    mean : ndarray of shape (n,)
        The mean of e₃ before it is subtracted.
    deviations : ndarray of shape (n, 3)
        The standard deviations of left-out residuals.
    precision : ndarray of shape (3, 3)
        The inverse of their correlation, over all channels.
    location, spread : float
        Of the Gumbel distribution with mean and variance of log max_k T_k of left-out training matrices.
    robust : ndarray of shape (2, 3)
        The `robust_size` of left-out residuals in units of their deviations.
    """

    matrices: Floats
    log_determinants: Floats
    log_precisions: Floats
    regression: Regression
    mean: Floats
    deviations: Floats
    precision: Floats
    location: float
    spread: float
    robust: Floats

    @classmethod
    def fit(cls, X: Floats, n_jobs: int | None = None) -> Statistics:
        """Fit to training matrices."""
        divergences = pairwise_divergence(X, metric="stein", n_jobs=n_jobs)
        np.fill_diagonal(divergences, np.inf)
        near = _nearest(divergences)[:, : len(X) - 1]
        regression = Regression.fit(*own_values(X))
        variances, C, _ = scaled(X)
        determinants = np.linalg.slogdet(C)[1] + variances.sum(axis=1)
        precisions = np.log(np.einsum("mii->mi", np.linalg.inv(C)).real) - variances
        some = evenly_spaced(len(X), _LEFT_OUT)
        added = _added(X[some], X, near[some], determinants, precisions)
        mean = added.mean(axis=0)
        F = np.concatenate([regression.left_out[some], (added - mean)[:, :, None]], axis=2)
        count = len(F)
        total = (F**2).sum(axis=0)
        deviations = np.sqrt(np.maximum(total / count, _TINY))
        Z = F / deviations
        precision = np.linalg.pinv(np.einsum("mkp,mkq->pq", Z, Z) / Z[..., 0].size, hermitian=True)
        left_out = np.sqrt(np.maximum(total - F**2, _TINY) / max(count - 1, 1))
        scores = np.log(_score(F, left_out, precision).max(axis=1))
        # Moments of the logarithm, not a fit of the tail: light tails get a threshold that is higher than need be, and
        # so there is something left for queries that differ a little from training matrices.
        spread = max(float(scores.std(ddof=1)) * 6**0.5 / np.pi, _TINY)
        location = float(scores.mean()) - np.euler_gamma * spread
        return cls(
            X,
            determinants,
            precisions,
            regression,
            mean,
            deviations,
            precision,
            location,
            spread,
            robust_size(F / left_out),
        )

    def residuals(self, X: Floats, n_jobs: int | None = None) -> Floats:
        """Return (e₁, e₂, e₃) in units of their deviations, (m, n, 3)."""
        near = _nearest(pairwise_divergence(X, self.matrices, metric="stein", n_jobs=n_jobs))
        e = self.regression.residuals(*own_values(X))
        added = _added(X, self.matrices, near, self.log_determinants, self.log_precisions)
        F: Floats = np.concatenate([e, (added - self.mean)[:, :, None]], axis=2) / self.deviations
        return F

    def log_scores(self, Z: Floats) -> Floats:
        """Return log T_k of standardised residuals, (m, n)."""
        return np.log(_score(Z, np.ones(3), self.precision))

    def threshold(self, false_alarms: float) -> float:
        """Return what log max_k T_k of a clean matrix exceeds with this probability."""
        return self.location - self.spread * float(np.log(-np.log1p(-false_alarms)))

    def p_value(self, log_score: Floats) -> Floats:
        """Return the probability that the greatest log score of a clean matrix is as large as this."""
        p: Floats = -np.expm1(-np.exp(-(log_score - self.location) / self.spread))
        return p


def _score(F: Floats, deviations: Floats, precision: Floats) -> Floats:
    """Return T_k = zᵀC⁻¹z; a channel that adds little to divergences is no worse for it."""
    Z = F / deviations
    Z[..., 2] = np.maximum(Z[..., 2], 0.0)
    T: Floats = np.einsum("mkp,pq,mkq->mk", Z, precision, Z)
    return np.maximum(T, _TINY)


def _added(
    X: Floats, A: Floats, near: Indices, log_determinants: Floats, log_precisions: Floats
) -> Floats:
    """Return the log of what every channel adds to the mean divergence to the nearest of the candidates."""
    m, n, _ = X.shape
    out = np.empty((m, n))
    for rows in block_slices(m, max(1, _BLOCK_BYTES // (16 * near.shape[1] * n * n))):
        variances, C, root = scaled(X[rows])
        j = near[rows]
        # In units in which X has a unit diagonal: divergences do not know units.
        M = 0.5 * (C[:, None] + A[j] / root[:, None, :, None] / root[:, None, None, :])
        own = np.log(np.einsum("mii->mi", np.linalg.inv(C)).real)
        between = np.log(np.einsum("mjii->mji", np.linalg.inv(M)).real)
        S = (
            np.linalg.slogdet(M)[1]
            - 0.5 * np.linalg.slogdet(C)[1][:, None]
            - 0.5 * (log_determinants[j] - variances.sum(axis=1)[:, None])
        )
        of_k = 0.5 * (own[:, None] + log_precisions[j] + variances[:, None]) - between
        without = np.sort(S[:, :, None] - of_k, axis=1)[:, :NEAREST].mean(axis=1)
        out[rows] = np.sort(S, axis=1)[:, :NEAREST].mean(axis=1)[:, None] - without
    return np.log(np.maximum(out, _TINY))


def _nearest(divergences: Floats) -> Indices:
    """Return the columns of the least divergences of each row."""
    return np.argsort(divergences, axis=1, kind="stable")[:, :CANDIDATES]


def robust_size(Z: Floats) -> Floats:
    """Return the median and the median absolute deviation of each statistic over all matrices and channels, (2, 3)."""
    location = np.median(Z, axis=(0, 1))
    return np.stack([location, np.median(abs(Z - location), axis=(0, 1))])
