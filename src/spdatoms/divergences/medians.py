"""`median`: the geometric median of SPD matrices, which outliers hardly move."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from spdatoms._utils import parameters as allow
from spdatoms._utils.arrays import same_kind
from spdatoms._utils.threads import blas_threads_for
from spdatoms._utils.typing import Array, FloatArray, Floats
from spdatoms._utils.weights import check_weights
from spdatoms.divergences.base import Divergence
from spdatoms.divergences.hermitian import over
from spdatoms.divergences.means import AXIS, along_axis, centre_of, first_centre
from spdatoms.divergences.registry import METRIC, get_divergence
from spdatoms.divergences.squared_distance import SquaredDistance, VectorSet
from spdatoms.geometry.functions import points_between
from spdatoms.geometry.geodesics import relative_change
from spdatoms.geometry.hermitian import as_double
from spdatoms.geometry.validation import check_spd
from spdatoms.native.elementwise import settle_squares

#: Distances below this share of their mean count as this share: at a matrix of the set, 1/√d is infinite.
_SMOOTHING = 1e-7
#: What is nearer than this is the same, and shorter steps do not find less.
_ROUNDING = 1e-12
#: Squared distances above this have all their digits.
_TINY = float(np.finfo(np.float64).tiny)
#: Sums that differ by no more than this factor are level: they have errors of rounding.
_LEVEL = 1.0 + 8.0 * np.finfo(np.float64).eps
#: A point whose least distance is below this share of their mean is near a matrix: there all steps are short.
_NEAR = 1e-3
#: A step away from a matrix has to lower the sum by this share. Small distances are roots of what rounding has left of
#: differences, and what is to be gained closer to the matrix than 2^-16 of the way is less.
_GAIN, _HALVINGS = 1e-9, 16
#: After this many steps that neither go down nor get shorter, all that is left is rounding.
_PATIENCE = 25


@same_kind
@allow.checks(metric=METRIC, tol=allow.TOLERANCE, max_iter=allow.integer(1), axis=allow.NONE | AXIS)
def median(
    X: ArrayLike,
    metric: str | Divergence = "riemann",
    sample_weight: ArrayLike | None = None,
    *,
    axis: int | None = None,
    tol: float = 1e-9,
    max_iter: int = 500,
) -> FloatArray:
    """Return the geometric median of SPD matrices.

    It is the C that minimises Σ_i w_i √d(X_i, C), the sum of distances where `mean` has that of their squares.

    Half of the matrices may be arbitrarily far away, and C stays near the others. It is found by the steps of
    Weiszfeld [1]_ on the cone [2]_: means with the weights w_i/√d(X_i, C).

    Parameters
    ----------
    X : array-like of shape (m, n, n)
        SPD matrices, or complex Hermitian positive definite ones. With an ``axis`` it may have more leading
        dimensions.
    metric : str or Divergence, default="riemann"
        As in `pairwise_divergence`. Most values d are squared distances, so their roots are distances.
    sample_weight : array-like of shape (m,), default=None
        The weights w, not negative and not all zero. They need not sum to 1.
    axis : int, default=None
        For X of shape (..., n, n): the leading dimension over which the median is taken, as NumPy counts it. The
        result has the other leading dimensions.
    tol : float, default=1e-9
        The median is found when a step changes it by less than this relative to itself.
    max_iter : int, default=500
        The most steps; if they are not enough, there is a `ConvergenceWarning`.

    Returns
    -------
    ndarray of shape (n, n), or (..., n, n) with an axis
        If one of the matrices is the median, that matrix to the last bit. If all points between some matrices are
        medians, as they are between two, one of them.

    See Also
    --------
    mean : The centre of squared distances.

    References
    ----------
    .. [1] E. Weiszfeld, On the point for which the sum of the distances to n given points is minimum, 1937.
    .. [2] P. T. Fletcher, S. Venkatasubramanian, S. Joshi, The geometric median on Riemannian manifolds with
       application to robust atlas estimation, 2009.

    Examples
    --------
    >>> import numpy as np
    >>> from spdatoms import median
    >>> X = np.exp([0.0, 1.0, 2.0, 3.0, 100.0])[:, None, None]
    >>> np.log(median(X))
    array([[2.]])
    """
    measure = get_divergence(metric)

    def of_set(Z: ArrayLike) -> FloatArray:
        checked = check_spd(Z)
        with blas_threads_for(checked.shape[-1]):
            return _median(checked, measure, sample_weight, tol, max_iter)

    return along_axis(of_set, X, axis)


def _median(
    X: FloatArray,
    divergence: Divergence,
    sample_weight: ArrayLike | None,
    tol: float,
    max_iter: int,
) -> FloatArray:
    """Return the median of checked matrices."""
    weights = check_weights(sample_weight, len(X))
    Z, prepared = as_double(X), []

    def find(d: Divergence, own: Floats, shares: Floats, *rest: Any) -> tuple[Floats, float]:
        prepared.append(DistanceSums(d, own, shares))
        return _weiszfeld(prepared[0], *rest)

    C = centre_of(X, divergence, weights, tol, max_iter, "median", find)
    (sums,) = prepared
    if sums.matrices is not Z:  # but some of them, or in other units, or real forms
        sums = DistanceSums(over(divergence, Z), Z, weights)
    distances = sums.distances(C)
    total = float(weights @ distances)
    distances[weights == 0] = np.inf
    nearest = X[distances.argmin()]
    # Steps do not tell shorter distances apart, and some of these are roots of rounding errors.
    at_hand = distances.min() <= _SMOOTHING * total
    return nearest if at_hand or sums.at(nearest) <= total else C


class DistanceSums:
    """The function Σ_i w_i √d(Z_i, C) of C."""

    def __init__(self, divergence: Divergence, Z: Array, weights: Floats) -> None:
        self.divergence, self.matrices, self.weights = divergence, Z, weights
        self.prepared = divergence.prepare_for_centre(Z)
        #: What shorter distances count as; at first any small number, which overflows nowhere.
        self.least = _ROUNDING
        self.vectors = (
            _Vectors(divergence, self.prepared, weights)
            if isinstance(divergence, SquaredDistance) and isinstance(self.prepared, VectorSet)
            else None
        )

    def distances(self, C: Array) -> Floats:
        """Return √d(Z_i, C)."""
        C = as_double(C)
        if self.vectors is not None and (distances := self.vectors.distances(C)) is not None:
            return distances
        return self._distances_and_centre(C)[0]

    def _distances_and_centre(self, C: Array) -> tuple[Floats, Array]:
        """Return √d(Z_i, C), and `centre` of the weights w_i/√d(Z_i, C)."""
        if self.vectors is not None and (distances := self.vectors.distances(C)) is not None:
            shares = self.weights / np.maximum(distances, self.least)
            return distances, self.vectors.centre(shares / shares.sum())
        return self.divergence.distances_and_centre(self.prepared, self.weights, C, self.least)

    def at(self, C: Array) -> float:
        """Return the sum at C."""
        return float(self.weights @ self.distances(C))

    def mean(self) -> Array:
        """Return the mean under a divergence that has a closed form for it."""
        if self.vectors is not None:
            return self.vectors.centre(self.weights)
        return self.divergence.centre(self.prepared, self.weights, self.matrices[0])

    def look(self, C: Array) -> tuple[Floats, Array]:
        """Return √d(Z_i, C), and the centre of the weights w_i/√d(Z_i, C), or a step towards it."""
        distances, proposal = self._distances_and_centre(C)
        least = _SMOOTHING * float(self.weights @ distances)
        if distances.min() >= max(least, self.least):
            return distances, proposal
        if least == 0.0:
            return distances, C
        self.least = least
        return self._distances_and_centre(C)

    def away(self, distances: Floats) -> Array | None:
        """Return a better point than one with these distances, if it is near a matrix that is not the median.

        The pull of a matrix does not vanish near it, but it has no direction there. So whether the matrix is the
        median is seen on the way from it to where all others pull (Vardi and Zhang).
        """
        level = float(self.weights @ distances)
        if distances.min() > _NEAR * level:
            return None
        nearest = self.matrices[distances.argmin()]
        between = self.distances(nearest)
        others = between > _SMOOTHING * level
        if not others.any():
            return None
        between = np.where(others, between, 0.0)
        pulls = np.divide(self.weights, between, out=np.zeros_like(between), where=others)
        target = self._centre(pulls, nearest)
        least = (1.0 - _GAIN) * min(level, float(self.weights @ between))
        for length in 0.5 ** np.arange(_HALVINGS):
            point = points_between(nearest, target, float(length))
            if self.at(point) < least:
                return point
        return None

    def _centre(self, weights: Floats, C: Array) -> Array:
        return self.divergence.centre(self.prepared, weights / weights.sum(), C)


class _Vectors:
    """Distances to points, and means, by the vectors of a `SquaredDistance`; those of the last mean are kept."""

    def __init__(self, divergence: SquaredDistance, Z: VectorSet, weights: Floats) -> None:
        self.divergence, self.all = divergence, Z.vectors
        self.last: Array = Z.matrices[0]
        with np.errstate(all="ignore"):
            self.vector = self.origin = weights @ self.all
            self.shifted = self.all - self.origin  # as in `squared_distances`
            self.squares = np.einsum("ij,ij->i", self.shifted, self.shifted)

    def centre(self, weights: Floats) -> Array:
        """Return the matrix of the mean with weights that sum to 1."""
        self.vector = np.asarray(weights @ self.all)
        self.last = self.divergence.from_vector(self.vector, self.last)
        return self.last

    def distances(self, C: Array) -> Floats | None:
        """Return √d(Z_i, C), or None if one leaves the range."""
        vector = self.vector if C is self.last else self.divergence.prepare(C[None]).vectors[0]
        with np.errstate(all="ignore"):
            shift = vector - self.origin
            squares = self.shifted @ shift
            square = np.array([shift @ shift])
            settle_squares(squares[None], square, self.squares, vector[None], self.all)
        if not squares.max() < np.inf:
            return None
        if squares.min() < _TINY and (self.all[squares < _TINY] != vector).any():
            return None
        return np.asarray(np.sqrt(squares))


def _weiszfeld(sums: DistanceSums, tol: float, max_iter: int) -> tuple[Floats, float]:
    """Return the median and the size of the last step to it; steps that would go uphill are shortened."""
    divergence, weights = sums.divergence, sums.weights
    length, change = divergence.relaxation, np.inf
    C = sums.mean() if divergence.closed_form else first_centre(sums.matrices, weights)
    distances, proposal = sums.look(C)
    here, shortest, idle = weights @ distances, np.inf, 0
    for _ in range(max_iter):
        change = float(relative_change(C, proposal))
        if change <= tol or length < _ROUNDING or idle > _PATIENCE:
            away = sums.away(distances)
            if away is None:
                return proposal, min(change, tol)
            C, length = away, divergence.relaxation
            distances, proposal = sums.look(C)
            here, shortest, idle = weights @ distances, np.inf, 0
            continue
        there = proposal if length == 1.0 else points_between(C, proposal, length)
        to_there, next_proposal = sums.look(there)
        after = weights @ to_there
        idle = 0 if change < 0.9 * shortest or _LEVEL * after < here else idle + 1
        shortest = min(shortest, change)
        if after > _LEVEL * here:
            length *= 0.5
        else:
            C, distances, here, proposal = there, to_there, after, next_proposal
            length = min(divergence.relaxation, 1.5 * length)
    return C, change
