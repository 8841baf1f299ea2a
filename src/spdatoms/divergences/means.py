"""`mean`: the centre of SPD matrices under any divergence."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from spdatoms._utils import parameters as allow
from spdatoms._utils.arrays import same_kind
from spdatoms._utils.threads import block_slices, one_blas_thread
from spdatoms._utils.typing import FloatArray, Floats, Indices
from spdatoms._utils.warning import warn_user
from spdatoms._utils.weights import check_weights
from spdatoms.divergences.base import Divergence
from spdatoms.divergences.checked_pairs import (
    CHOLESKY,
    EUCLIDEAN,
    LARGEST,
    LOG_CHOLESKY,
    checked_sum,
)
from spdatoms.divergences.hermitian import over
from spdatoms.divergences.incomplete import incomplete_mean
from spdatoms.divergences.jeffrey import Jeffrey
from spdatoms.divergences.registry import METRIC, get_divergence
from spdatoms.exceptions import OutOfRangeError
from spdatoms.geometry.channels import find_unfit_channels, known_channels
from spdatoms.geometry.geodesics import AffineGeodesics
from spdatoms.geometry.graded import in_units, unit_exponents
from spdatoms.geometry.hermitian import as_double, complex_form, is_complex, real_form
from spdatoms.geometry.spectral import as_matrices, cholesky, symmetric_part
from spdatoms.geometry.validation import (
    as_float,
    check_stack,
    raise_unless_semidefinite,
    raise_unless_spd,
    values_are_trusted,
)

#: A number of an axis, counted from the front or from the end.
AXIS = allow.integer(-64, 64)
#: The tolerance and the most steps of a mean.
_TOL, _MAX_ITER = 1e-9, 200
#: Matrices of a closed form that are prepared at a time.
_BLOCK_BYTES = 4 << 20
#: Variances up to this, and down to its inverse, need no other units.
_NEAR_ONE = 1e6


@same_kind
@allow.checks(metric=METRIC, tol=allow.TOLERANCE, max_iter=allow.integer(1), axis=allow.NONE | AXIS)
def mean(
    X: ArrayLike,
    metric: str | Divergence = "stein",
    sample_weight: ArrayLike | None = None,
    *,
    axis: int | None = None,
    tol: float = _TOL,
    max_iter: int = _MAX_ITER,
) -> FloatArray:
    """Return the mean of SPD matrices under a divergence.

    It is the C that minimises Σ_i w_i d(X_i, C).

    Parameters
    ----------
    X : array-like of shape (m, n, n)
        SPD matrices, or complex Hermitian positive definite ones. With an ``axis`` it may have more leading
        dimensions. A matrix may lack channels, whose rows and columns are NaN: it is then compared with these rows
        and columns of C left out. Of two channels that no matrix has both, their covariance is not determined.
    metric : str or Divergence, default="stein"
        As in `pairwise_divergence`. For Burg's divergence it is the right-sided mean, which is the
        arithmetic one; ``Burg(side="left")`` gives the harmonic mean.
    sample_weight : array-like of shape (m,), default=None
        The weights w, not negative and not all zero. They need not sum to 1.
    axis : int, default=None
        For X of shape (..., n, n): the leading dimension over which the mean is taken, as NumPy counts it. The
        result has the other leading dimensions.
    tol : float, default=1e-9
        An iterative mean (stein, riemann) is found when a step changes it by less than this
        relative to itself, as ‖C^-½ ΔC C^-½‖_F / √n. Scale does not matter.
    max_iter : int, default=200
        The most steps; if they are not enough, there is a `ConvergenceWarning`.

    Returns
    -------
    ndarray of shape (n, n), or (..., n, n) with an axis

    Examples
    --------
    >>> import numpy as np
    >>> from spdatoms import mean
    >>> X = np.array([[[1.0, 0.0], [0.0, 1.0]], [[4.0, 0.0], [0.0, 1.0]]])
    >>> mean(X, metric="jeffrey").round(6)
    array([[2., 0.],
           [0., 1.]])
    """
    measure = get_divergence(metric)
    return along_axis(lambda Z: _mean(Z, measure, sample_weight, tol, max_iter), X, axis)


def _mean(
    X: ArrayLike, divergence: Divergence, weights: ArrayLike | None, tol: float, max_iter: int
) -> FloatArray:
    """Return the mean of matrices, which may lack channels."""
    Z = as_float(X, "X")
    if (found := _of_checked_sum(Z, divergence, weights)) is not None:
        return found
    if Z.ndim == 3 and Z.shape[1] == Z.shape[2] and not (known := known_channels(Z)).all():
        if not divergence.symmetric:
            raise ValueError(
                f"X lacks channels, and its {divergence.name} mean is not defined: take a symmetric divergence."
            )
        find_unfit_channels(Z, known).raise_if_any("X", Z.shape[:1])
        shares = np.where(known.any(axis=1), check_weights(weights, len(Z)), 0.0)
        rows = np.flatnonzero(shares > 0)
        shares = shares[rows] / shares.sum()

        def find(d: Divergence, own: Floats, *rest: Any) -> tuple[Floats, float]:
            both = np.tile(
                known[rows], own.shape[-1] // Z.shape[-1]
            )  # a real form has each channel twice
            return incomplete_mean(d, own, both, *rest)

        return centre_of(Z[rows], divergence, shares, tol, max_iter, "mean", find)
    check_stack(Z, "X")
    (raise_unless_semidefinite if divergence.semidefinite else raise_unless_spd)(
        Z, "X", Z.shape[:1]
    )
    return mean_of_checked(Z, divergence, weights, tol, max_iter)


def _of_checked_sum(
    Z: FloatArray, divergence: Divergence, weights: ArrayLike | None
) -> FloatArray | None:
    """Return the mean by one pass that sees to the check, too, if there is one and nothing is in doubt."""
    kind = divergence.pair_kernel
    if kind not in (CHOLESKY, LOG_CHOLESKY, EUCLIDEAN) or is_complex(Z):
        return None
    if Z.ndim != 3 or 0 in Z.shape or (kind == EUCLIDEAN and not values_are_trusted()):
        return None
    m, n = Z.shape[:2]
    if n != Z.shape[2] or m == 1 or n > LARGEST:
        return None
    C = checked_sum(kind, Z, check_weights(weights, m))
    if C is None:
        return None
    if kind == LOG_CHOLESKY:
        np.einsum("ii->i", C)[...] = np.exp(C.diagonal())
    if kind != EUCLIDEAN:  # it is a factor
        C = symmetric_part(C @ C.T)
    C = C.astype(Z.dtype, copy=False)
    return C if np.isfinite(C).all() else None


def mean_of_checked(
    X: FloatArray,
    divergence: Divergence,
    weights: ArrayLike | None = None,
    tol: float = _TOL,
    max_iter: int = _MAX_ITER,
) -> FloatArray:
    """Return `mean` of matrices that have been checked and lack no channels."""
    shares = check_weights(weights, len(X))
    return centre_of(X, divergence, shares, tol, max_iter, "mean", stationary_point)


def centre_of(
    X: FloatArray,
    divergence: Divergence,
    weights: Floats,
    tol: float,
    max_iter: int,
    name: str,
    find: Callable[[Divergence, Floats, Floats, float, int], tuple[Floats, float]],
) -> FloatArray:
    """Return a centre of checked matrices, with weights that sum to 1, in their own type.

    ``find`` is given real forms in double precision, in units of their own, and returns the centre and its last change.
    """
    if not weights.all():
        used = np.flatnonzero(weights)
        X, weights = X[used], weights[used]
    # Twice the sum of a divergence has the same minimum: of complex matrices the real forms will do.
    Z = as_double(X)
    if not divergence.native_complex:
        Z = real_form(Z)
    units = _common_units(Z) if divergence.congruence_invariant else None
    if units is not None:
        Z = in_units(Z, units)
    with one_blas_thread():  # the matrices are small, and threads would only wait for each other
        C, last_change = find(divergence, Z, weights, tol, max_iter)
    if last_change > tol:
        from sklearn.exceptions import ConvergenceWarning

        warn_user(
            f"The {divergence.name} {name} did not converge in {max_iter} steps: the last one changed "
            f"it by {last_change:.1e}, tol is {tol:.1e}. Raise max_iter or tol.",
            ConvergenceWarning,
        )
    with np.errstate(over="ignore"):
        C = C if units is None else in_units(C, -units)
        C = (complex_form(C) if is_complex(X) and not is_complex(C) else C).astype(X.dtype)
    if not np.isfinite(C).all():
        raise OutOfRangeError(
            f"The {name} is beyond the range of {X.dtype}: bring the matrices to a scale nearer to one first."
        )
    return C


def _common_units(Z: Floats) -> Indices | None:
    """Return the exponents of units in which variances are near one, unless all are near enough to it."""
    variances = np.einsum("mii->mi", Z)
    if variances.min() > 1.0 / _NEAR_ONE and variances.max() < _NEAR_ONE:
        return None
    return np.asarray(np.rint(unit_exponents(Z).mean(axis=0)), np.intp)


def along_axis(
    function: Callable[[ArrayLike], FloatArray], X: ArrayLike, axis: int | None
) -> FloatArray:
    """Return ``function(Z)``, (n, n), of X (m, n, n), or of all its stacks along a leading dimension."""
    if axis is None:
        return function(X)
    sets = _along(as_matrices(X, "X"), axis)
    found = [function(Z) for Z in sets.reshape(-1, *sets.shape[-3:])]
    return np.reshape(found, (*sets.shape[:-3], *sets.shape[-2:]))


def _along(X: FloatArray, axis: int) -> FloatArray:
    """Return X with this leading dimension as the last of them."""
    if not -X.ndim <= axis < X.ndim or axis % X.ndim >= X.ndim - 2:
        raise ValueError(
            f"axis must be one of the leading dimensions of X, whose shape is {X.shape}, got {axis}."
        )
    return np.moveaxis(X, axis, -3)


def stationary_point(
    divergence: Divergence,
    Z: Floats,
    weights: Floats,
    tol: float,
    max_iter: int,
    start: Floats | None = None,
) -> tuple[Floats, float]:
    """Return the weighted centre of Z (weights sum to 1) and the size of the last step to it."""
    if len(Z) == 1 and not is_complex(Z):
        return symmetric_part(Z)[0], 0.0
    if divergence.closed_form:
        return _closed_form(divergence, Z, weights), 0.0
    if len(Z) == 2 and (point := divergence.between(Z[0], Z[1], float(weights[1]))) is not None:
        return point, 0.0
    if start is None:
        start = first_centre(Z, weights)
    prepared = divergence.prepare_for_centre(Z)
    return _iterate(divergence, prepared, weights, start, tol, max_iter)


def first_centre(Z: Floats, weights: Floats) -> Floats:
    """Return Jeffrey's mean, which has a closed form: other centres are near it."""
    return _closed_form(over(Jeffrey(), Z), Z, weights)


def _closed_form(divergence: Divergence, Z: Floats, weights: Floats) -> Floats:
    """Return the centre of a divergence that has a closed form; what is prepared of a part is not kept."""
    at_once = max(1, _BLOCK_BYTES // Z[0].nbytes)
    if len(Z) <= at_once or type(divergence).centre_term is Divergence.centre_term:
        return divergence.centre(divergence.prepare(Z), weights, Z[0])
    terms = sum(
        divergence.centre_term(divergence.prepare(Z[part]), weights[part], Z[0])
        for part in block_slices(len(Z), at_once)
    )
    return divergence.centre_from_terms(np.asarray(terms), float(weights.sum()), Z[0])


def _iterate(
    divergence: Divergence,
    Z: Any,
    weights: Floats,
    C: Floats,
    tol: float,
    max_iter: int,
) -> tuple[Floats, float]:
    """Repeat steps V towards `centre`; their length follows from the last two.

    Near the stationary point V shrinks by a factor 1 − t·h from one step of length t to the next, so
    t/(1 − r) with the observed factor r = ⟨V, V'⟩/⟨V', V'⟩ is the length that would end there
    (Barzilai and Borwein). It is longer than 1 where `centre` is slow, shorter where it overshoots.
    """
    best, least, since = C, np.inf, 0
    from_best = AffineGeodesics(C, np.zeros(len(C)))  # until there is a step
    step, longest, previous = divergence.relaxation, 10.0, np.zeros_like(C)
    for _ in range(max_iter):
        L = cholesky(C)
        V = divergence.tangent(Z, weights, C, L)
        curve = AffineGeodesics.whitened(L, V)
        change = float(np.linalg.norm(np.expm1(curve.speeds))) / np.sqrt(len(C))
        if change <= tol:
            return curve.points(1.0)[0], change
        since = 0 if change < 0.5 * least else since + 1
        if since > 20 and least < _rounding(best):
            return best, 0.0  # as still as rounding lets it be
        if change > 4.0 * least:  # gone astray: back to the best point, and more slowly from there
            longest = step = 0.5 * step
            curve = from_best
        else:
            ratio = float(np.vdot(V, previous)) / max(float(np.vdot(previous, previous)), 1e-300)
            step, previous = min(step / max(1.0 - ratio, 0.05), longest), V
        if change < least:
            best, from_best, least, longest = C, curve, change, min(1.5 * longest, 10.0)
        C = curve.points(step)[0]
    return best, least


def _rounding(C: Floats) -> float:
    """Return the relative change of C that rounding alone may make."""
    return float(100.0 * np.finfo(np.float64).eps * np.linalg.cond(C))
