"""d_w(X, Y) = ‖S_w^-½ (z_X − z_Y)‖²: a divergence whitened by how matrices vary within their classes.

Nothing is needed but the divergences d to some reference matrices. Classical scaling gives every matrix
coordinates z with ‖z_X − z_Y‖² ≈ d(X, Y). The residuals R of training matrices from the means of their
classes have the covariance RᵀR/f, shrunk to S_w = (1 − δ) RᵀR/f + δν I. Directions that vary within classes, and so
say nothing about them, then count less. Where d is not a squared distance, d_w still is one,
so exp(−β·d_w) is positive definite for every β.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Annotated, Self

import numpy as np
import scipy.linalg.lapack

from spdatoms._utils import parameters as allow
from spdatoms._utils.folds import class_folds
from spdatoms._utils.products import row_products, squared_distances
from spdatoms._utils.typing import FloatArray, Floats, Indices
from spdatoms._utils.weights import part_of
from spdatoms.divergences import Divergence
from spdatoms.divergences.registry import SYMMETRIC_METRIC
from spdatoms.geometry.hermitian import dimension
from spdatoms.kernels.bandwidth import kernel_values
from spdatoms.kernels.correction import semidefinite_gram
from spdatoms.kernels.kernel import ExponentialKernel
from spdatoms.layout import COUNT, SHARE, Gram, Numbers, Part, Value, part

#: Directions of less than this share of the greatest eigenvalue are rounding.
_NEGLIGIBLE = 1e-10
#: Distances of less than this share of the greatest are rounding.
_ROUNDING = 1e-12


def centred_gram(matrix: Floats) -> Floats:
    """Return HKH of a symmetric matrix K, with H = I − 11ᵀ/L."""
    means = matrix.mean(axis=0)
    return np.asarray(matrix - means - means[:, None] + means.mean())


@dataclass(frozen=True)
class ClassicalScaling:
    """Coordinates z of matrices, from their divergences to reference matrices.

    With H = I − 11ᵀ/L, the references have −½ H d H = U Λ Uᵀ and the coordinates U₊ Λ₊^½.

    Attributes
    ----------
    divergences : ndarray of shape (L, L)
        d between the references.
    coordinates : ndarray of shape (L, q)
        Those of the references.
    """

    divergences: Annotated[Floats, Numbers("L L")]
    coordinates: Annotated[Floats, Numbers("L q")] = field(init=False, repr=False, compare=False)
    _axes: Floats = field(init=False, repr=False, compare=False)
    _means: Floats = field(init=False, repr=False, compare=False)
    _stored = part()

    def __post_init__(self) -> None:
        d = np.asarray(self.divergences, np.float64)
        eigenvalues, U = np.linalg.eigh(-0.5 * centred_gram(d))
        kept = eigenvalues > _NEGLIGIBLE * max(eigenvalues[-1], 0.0)
        roots = np.sqrt(eigenvalues[kept])
        U = np.ascontiguousarray(U[:, kept])
        object.__setattr__(self, "coordinates", U * roots)
        object.__setattr__(self, "_axes", U / roots)
        object.__setattr__(self, "_means", d.mean(axis=0))

    def place(self, divergences: Floats) -> tuple[Floats, Floats]:
        """Return coordinates (m, q) from divergences (m, L), and what lies outside the span, squared."""
        d = np.ascontiguousarray(divergences, np.float64)
        rows, grand = d.mean(axis=1), self._means.mean()
        Z = row_products(-0.5 * (d - rows[:, None] - self._means + grand), self._axes)
        outside = rows - 0.5 * grand - np.einsum("ij,ij->i", Z, Z)
        return Z, np.maximum(outside, 0.0)

    def vjp(self, Z: Floats, outside: Floats, in_place: Floats, in_outside: Floats) -> Floats:
        """Return the gradient in divergences (m, L) of weighted sums of what `place` returns; zero where it was cut."""
        beyond = np.where(outside > 0, in_outside, 0.0)[:, None]
        slopes = -0.5 * ((in_place - 2.0 * beyond * Z) @ self._axes.T)
        return np.asarray(slopes - slopes.mean(axis=1, keepdims=True) + beyond / slopes.shape[1])


@dataclass(frozen=True)
class Scatter:
    """RᵀR of the residuals from class means, and its degrees of freedom f = m − number of classes."""

    squares: Annotated[Floats, Gram("q", of_kernel=False)]
    freedom: Annotated[int, COUNT]
    _stored = part()

    @classmethod
    def within(cls, Z: Floats, labels: Indices, weights: Floats | None = None) -> Scatter:
        """Return the scatter of coordinates Z (m, q), which may have weights, within the classes of their labels."""
        R = within_classes(Z, labels, np.ones(len(labels)) if weights is None else weights)
        return cls(R.T @ R, len(labels) - len(np.unique(labels)))

    def factor(self, dimension: int, shrinkage: float) -> Floats | None:
        """Return C with CCᵀ = S_w/(δν); None if nothing is to be whitened."""
        if self.freedom < 1 or shrinkage >= 1.0 or not np.trace(self.squares) > 0:
            # Classes with one member each say nothing about how matrices vary within them.
            return None
        return np.asarray(
            np.linalg.cholesky(shrunk(self.squares, dimension, shrinkage)), np.float64
        )


def within_classes(Z: Floats, labels: Indices, weights: Floats) -> Floats:
    """Return the residuals of coordinates Z (m, q) from the weighted means of their classes, times √w.

    There may be several sets of weights (…, m), some of them zero; then the residuals have the shape (…, m, q).
    """
    members = (labels == np.arange(labels.max(initial=-1) + 1)[:, None]) * weights[..., None, :]
    totals = members.sum(axis=-1, keepdims=True)
    means = (members @ Z) / np.where(totals > 0, totals, 1.0)
    return np.asarray((Z - means[..., labels, :]) * np.sqrt(weights)[..., None])


def shrunk(squares: Floats, dimension: int, shrinkage: float) -> Floats:
    """Return S_w/(δν) = I + (1 − δ)/(δν) RᵀR/f of scatters RᵀR, shape (…, q, q)."""
    floor = shrinkage / dimension * np.trace(squares, axis1=-2, axis2=-1)
    S = np.asarray((1.0 - shrinkage) / floor[..., None, None] * squares)
    diagonal = np.arange(S.shape[-1])
    S[..., diagonal, diagonal] += 1.0
    return S


@dataclass(frozen=True)
class Whitening:
    """z → C⁻¹z with CCᵀ = S_w/(δν): directions with much scatter within classes shrink, the others stay.

    It is (δν)^½ S_w^-½ z up to a rotation, so its distances are d_w.

    Attributes
    ----------
    scaling : ClassicalScaling
        What gives matrices their coordinates.
    scatter : Scatter
        That of the training matrices.
    dimension : int
        The p over which ν = tr(RᵀR)/(f·p) is the mean variance: n(n+1)/2 for n×n matrices.
    shrinkage : float
        δ, above 0. With 1 nothing is whitened.
    references : ndarray of shape (L, q)
        The whitened coordinates of the references.
    """

    scaling: Annotated[ClassicalScaling, Part(ClassicalScaling)]
    scatter: Annotated[Scatter, Part(Scatter)]
    dimension: Annotated[int, Value(allow.integer(1))]
    shrinkage: Annotated[float, SHARE]
    references: Floats = field(init=False, repr=False, compare=False)
    _map: Floats | None = field(init=False, repr=False, compare=False)
    _stored = part()
    _columns: Floats = field(init=False, repr=False, compare=False)
    _norms: Floats = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        factor = self.scatter.factor(self.dimension, self.shrinkage)
        inverse = None
        if factor is not None:
            inverse = np.ascontiguousarray(scipy.linalg.lapack.dtrtri(factor.T)[0])
        object.__setattr__(self, "_map", inverse)
        W = self.whitened(self.scaling.coordinates)
        object.__setattr__(self, "references", W)
        object.__setattr__(self, "_columns", np.ascontiguousarray(-2.0 * W.T))
        object.__setattr__(self, "_norms", np.einsum("ij,ij->i", W, W))

    def whitened(self, Z: Floats) -> Floats:
        """Return the whitened coordinates of matrices with coordinates Z."""
        return Z if self._map is None else np.asarray(row_products(Z, self._map))

    def among_references(self) -> Floats:
        """Return d_w between the references, shape (L, L)."""
        distances = squared_distances(self.references, self.references)
        np.fill_diagonal(distances, 0.0)
        return distances

    def to_references(self, divergences: Floats) -> Floats:
        """Return d_w (m, L) of matrices with divergences d (m, L) to the references."""
        return self.from_placed(*self.scaling.place(divergences))

    def vjp(self, divergences: Floats, slopes: Callable[[Floats], Floats]) -> Floats:
        """Return the gradient of a function of d_w in divergences d (m, L), given that in d_w as a function of d_w."""
        Z, outside = self.scaling.place(divergences)
        W, distances = self.whitened(Z), self.from_placed(Z, outside)
        # Where rounding made a distance negative, it was cut off.
        weights = np.where(distances > outside[:, None], slopes(distances), 0.0)
        total = weights.sum(axis=1)
        own = 2.0 * (total[:, None] * W - weights @ self.references)
        return self.scaling.vjp(Z, outside, own if self._map is None else own @ self._map.T, total)

    def from_placed(self, Z: Floats, outside: Floats) -> Floats:
        """Return d_w (m, L) of matrices to the references, from what `ClassicalScaling.place` says of them."""
        W = self.whitened(Z)
        distances = row_products(W, self._columns)
        distances += self._norms
        distances += np.einsum("ij,ij->i", W, W)[:, None]
        np.maximum(distances, 0.0, out=distances)
        distances += outside[:, None]
        return np.asarray(distances)


def cross_fitted_median(values: Iterable[Floats]) -> float:
    """Return the median of d_w between left-out matrices and references of the same folds.

    Among the training matrices themselves d_w is too small: their own residuals were whitened.
    """
    pooled = np.concatenate([np.zeros(0), *(found.ravel() for found in values)])
    # A training matrix that is a reference itself is no pair, though rounding may leave it a distance.
    positive = pooled[pooled > _ROUNDING * pooled.max(initial=0.0)]
    return float(np.median(positive)) if len(positive) else 1.0


@allow.with_parameters
class WhitenedKernel(ExponentialKernel):
    """k(X, Y) = exp(−β·d_w(X, Y)) over labelled atoms, see the top of this module.

    Parameters
    ----------
    metric : str or Divergence, default="stein"
        The divergence d that is whitened.
    beta : float or "auto", default="auto"
        ``"auto"`` is the reciprocal of the median d_w between left-out matrices and atoms.
    shrinkage : float, default=0.5
        The δ of the whitening.

    Attributes
    ----------
    beta_
    gram_ : ndarray of shape (N, N)
        k(D_i, D_j), positive definite.
    corrected_ : bool
        Whether rounding had made the Gram matrix indefinite, so that it was shifted.
    n_features_in_
    """

    metric: str | Divergence = allow.parameter(SYMMETRIC_METRIC, default="stein")
    beta: float | str = allow.parameter(allow.BETA, default="auto")
    shrinkage: float = allow.parameter(allow.real(0, 1), default=0.5)
    n_jobs: int | None = allow.parameter(allow.N_JOBS, default=None)

    _stored = part(_whitening=Part(Whitening, L="N"))

    def fit_checked(self, D: FloatArray) -> Self:
        """Fit the kernel to atoms of one class, within which everything varies."""
        return self.fit_labelled(D, D, np.zeros(len(D), np.intp))

    def fit_labelled(
        self, D: FloatArray, X: FloatArray, labels: Indices, weights: Floats | None = None
    ) -> Self:
        """Fit the kernel to atoms D, whitened by how matrices X vary within the classes of their labels.

        The matrices X may be the atoms themselves. They may have weights.
        """
        d = np.asarray(self._divergences_within(D), np.float64)
        size = dimension(D)

        def whitening(rows: Indices) -> Whitening:
            scaling = ClassicalScaling(d[np.ix_(rows, rows)])
            own = labels[rows], part_of(weights, rows)
            scatter = Scatter.within(scaling.coordinates, *own)
            return Whitening(scaling, scatter, size, self.shrinkage)

        if X is D:
            self._whitening = whitening(np.arange(len(D)))
            folds = class_folds(labels) if isinstance(self.beta, str) else []
            left_out = [
                whitening(fold.train).to_references(d[np.ix_(fold.test, fold.train)])
                for fold in folds
            ]
        else:
            scaling, to_atoms = ClassicalScaling(d), self._divergences_to(X)
            scatter = Scatter.within(scaling.place(to_atoms)[0], labels, weights)
            self._whitening = Whitening(scaling, scatter, size, self.shrinkage)
            left_out = [self._whitening.to_references(to_atoms)]
        automatic = isinstance(self.beta, str)
        self.beta_ = 1.0 / cross_fitted_median(left_out) if automatic else float(self.beta)
        # d_w are differences of large numbers where some atoms lie far from all others.
        values = kernel_values(self._whitening.among_references(), self.beta_)
        corrected = semidefinite_gram(values, "shift")
        self.gram_, self.corrected_ = corrected.gram, corrected.indefinite
        return self

    def cross_checked(self, X: FloatArray) -> FloatArray:
        """Return k(X_i, D_j) of matrices X that `check_spd` has checked."""
        return kernel_values(self._whitening.to_references(self._divergences_to(X)), self.beta_)

    def _slopes(self, divergences: Floats, weights: Floats) -> Floats:
        return self._whitening.vjp(
            divergences, lambda d: super(WhitenedKernel, self)._slopes(d, weights)
        )
