"""The cone of SPD matrices: functions of a matrix and the affine-invariant (AIRM) geometry.

Everything takes one matrix or any batch of them, ``(..., n, n)``, works in blocks of a few
megabytes and returns exactly symmetric matrices. Float32 in, float32 out; in between it is double
precision, because single precision loses the small eigenvalues, which matter most for a logarithm or
an inverse root.

The maps bring the variables to units in which A has variances near one, whiten by Cholesky factors,
``A = L Lᵀ`` and ``B = M Mᵀ``, and take the singular values σ of ``L⁻¹ M`` rather than the eigenvalues σ²
of ``L⁻¹ B L⁻ᵀ``: that halves the digits that an ill-conditioned pair costs.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from spdatoms._utils import parameters as allow
from spdatoms._utils.arrays import same_kind
from spdatoms._utils.typing import FloatArray, Floats
from spdatoms.geometry.frames import CommonFrame, gram_in_units
from spdatoms.geometry.graded import in_units, unit_exponents
from spdatoms.geometry.spectral import (
    EXP,
    LOG,
    POWER,
    as_matrices,
    cholesky,
    compose,
    eigh,
    gram,
    in_lanes,
    map_blocks,
    solve_lower,
    spd_roots,
    symmetric_part,
    transpose,
)
from spdatoms.geometry.validation import (
    common_shape,
    is_spd,
    raise_unless_semidefinite,
    raise_unless_spd,
    raise_unless_symmetric,
    values_are_trusted,
)


@same_kind
def logm(X: ArrayLike) -> FloatArray:
    """Return the logarithms of SPD matrices.

    For ``X = U λ Uᵀ`` it is ``U log(λ) Uᵀ``.

    Parameters
    ----------
    X : array-like of shape (..., n, n)
        SPD matrices.

    Returns
    -------
    ndarray of shape (..., n, n)
        Symmetric matrices.
    """
    return logarithms(as_spd(X, "X"))


def logarithms(X: FloatArray) -> FloatArray:
    """Return the logarithms of checked matrices."""

    def log_block(X: Floats) -> Floats:
        roots, U = spd_roots(X)
        return compose(U, 2.0 * np.log(roots))

    return map_blocks(partial(in_lanes, LOG, log_block), X)


@same_kind
def expm(X: ArrayLike) -> FloatArray:
    """Return the exponentials of symmetric matrices.

    For ``X = U λ Uᵀ`` it is ``U exp(λ) Uᵀ``.

    Parameters
    ----------
    X : array-like of shape (..., n, n)
        Symmetric matrices, definite or not: tangent vectors at the identity, also near zero.

    Returns
    -------
    ndarray of shape (..., n, n)
        SPD matrices.
    """
    X = as_matrices(X, "X")
    return exponentials(as_tangents(X, "X", base=np.eye(X.shape[-1])))


def exponentials(X: FloatArray) -> FloatArray:
    """Return the exponentials of checked matrices."""

    def exp_block(X: Floats) -> Floats:
        eigenvalues, U = eigh(symmetric_part(X))
        return gram(U * np.exp(0.5 * eigenvalues)[:, None, :])

    return map_blocks(partial(in_lanes, EXP, exp_block), X)


@same_kind
def sqrtm(X: ArrayLike) -> FloatArray:
    """Return the square roots of SPD matrices.

    The root ``X^½ = U √λ Uᵀ`` is SPD itself.

    Parameters
    ----------
    X : array-like of shape (..., n, n)
        SPD matrices; semidefinite ones have roots, too.

    Returns
    -------
    ndarray of shape (..., n, n)
        SPD matrices, semidefinite where X is.
    """
    return powm(X, 0.5)


@same_kind
def invsqrtm(X: ArrayLike) -> FloatArray:
    """Return the inverse square roots of SPD matrices.

    It is ``X^-½ = U λ^-½ Uᵀ``.

    Parameters
    ----------
    X : array-like of shape (..., n, n)
        SPD matrices.

    Returns
    -------
    ndarray of shape (..., n, n)
        SPD matrices.
    """
    return powm(X, -0.5)


@same_kind
@allow.checks(exponent=allow.real())
def powm(X: ArrayLike, exponent: float) -> FloatArray:
    """Return powers of SPD matrices.

    It is ``X^p = U λ^p Uᵀ``.

    Parameters
    ----------
    X : array-like of shape (..., n, n)
        SPD matrices.
    exponent : float
        The p of the formula, of either sign. If it is positive, X may be semidefinite.

    Returns
    -------
    ndarray of shape (..., n, n)
        SPD matrices.
    """
    X = as_matrices(X, "X")
    definite = not values_are_trusted() and bool(is_spd(X).all())
    if not definite:
        X = as_semidefinite(X, "X") if exponent > 0 else as_spd(X, "X")
    return powers(X, exponent, definite)


def powers(X: FloatArray, exponent: float, definite: bool = False) -> FloatArray:
    """Return powers of checked matrices; if these are not known to be ``definite``, some may be semidefinite."""

    def careful(X: Floats) -> Floats:
        roots, U = spd_roots(X)
        return gram(U * (roots**exponent)[:, None, :])

    def power_block(X: Floats) -> Floats:
        return in_lanes(POWER, careful, X, exponent=exponent)

    def semidefinite_block(X: Floats) -> Floats:
        out, spd = np.empty_like(X), is_spd(X)
        if spd.all():
            return power_block(X)
        out[spd] = power_block(X[spd])
        eigenvalues, U = np.linalg.eigh(X[~spd])
        out[~spd] = gram(U * (np.maximum(eigenvalues, 0.0) ** (0.5 * exponent))[:, None, :])
        return out

    return map_blocks(power_block if definite or exponent <= 0 else semidefinite_block, X)


@same_kind
def log_map(X: ArrayLike, base: ArrayLike) -> FloatArray:
    """Return the tangent vector at P that points to X.

    It is ``P^½ log(P^-½ X P^-½) P^½``.

    Parameters
    ----------
    X : array-like of shape (..., n, n)
        SPD matrices.
    base : array-like of shape (..., n, n)
        The base point P, or one for every X; the two are broadcast.

    Returns
    -------
    ndarray of shape (..., n, n)
        Symmetric matrices; their AIRM norm at P, ``‖L⁻¹ V L⁻ᵀ‖_F``, is the distance from P to X.
    """

    def careful(P: Floats, X: Floats) -> Floats:
        return CommonFrame.of(P, X).tangent()

    def log_block(P: Floats, X: Floats) -> Floats:
        return in_lanes(LOG, careful, X, P)

    return map_blocks(log_block, as_spd(base, "base"), as_spd(X, "X"))


@same_kind
def exp_map(V: ArrayLike, base: ArrayLike) -> FloatArray:
    """Return where the geodesic from P with velocity V is at time 1.

    It is ``P^½ exp(P^-½ V P^-½) P^½``.

    Parameters
    ----------
    V : array-like of shape (..., n, n)
        Symmetric matrices, the tangent vectors. What asymmetry is rounding is judged relative to V and
        to P, so V may be as near zero as it gets.
    base : array-like of shape (..., n, n)
        The base point P, or one for every V; the two are broadcast.

    Returns
    -------
    ndarray of shape (..., n, n)
        SPD matrices.
    """

    def careful(P: Floats, V: Floats) -> Floats:
        units = unit_exponents(P)
        L = cholesky(in_units(P, units))
        half = solve_lower(L, in_units(V, units))
        whitened = symmetric_part(solve_lower(L, transpose(half)))
        if not np.isfinite(whitened).all():  # so long a vector leaves the range of numbers
            return np.full_like(P, np.nan)
        eigenvalues, U = eigh(whitened)
        return gram_in_units(L @ U, np.exp(0.5 * eigenvalues), units)

    def exp_block(P: Floats, V: Floats) -> Floats:
        return in_lanes(EXP, careful, V, P)

    P = as_spd(base, "base")
    return map_blocks(exp_block, P, as_tangents(V, "V", base=P))


@same_kind
@allow.checks(t=allow.NUMBERS)
def geodesic(A: ArrayLike, B: ArrayLike, t: ArrayLike) -> FloatArray:
    """Return points of the affine-invariant geodesic from A to B.

    It is ``A #_t B = A^½ (A^-½ B A^-½)^t A^½``.

    Parameters
    ----------
    A, B : array-like of shape (..., n, n)
        SPD matrices, broadcast against each other.
    t : float or array-like of shape (...)
        0 gives A and 1 gives B; outside [0, 1] the geodesic is continued. An array is broadcast against
        the leading dimensions of A and B, so two matrices have one point for every t.

    Returns
    -------
    ndarray of shape (..., n, n)
        SPD matrices.
    """
    times = np.asarray(t, np.float64)
    first, second = as_spd(A, "A"), as_spd(B, "B")
    if not times.ndim:
        return points_between(first, second, float(times))
    shape = common_shape(times.shape, first.shape[:-2], second.shape[:-2])
    times = np.broadcast_to(times, shape)
    first, second = (np.broadcast_to(Z, (*shape, *Z.shape[-2:])) for Z in (first, second))
    out = np.empty(first.shape, np.result_type(first, second))
    for value in np.unique(times):
        there = times == value
        out[there] = points_between(first[there], second[there], float(value))
    return out


def points_between(A: FloatArray, B: FloatArray, t: float) -> FloatArray:
    """Return the points at one t of geodesics between checked matrices."""

    def careful(A: Floats, B: Floats) -> Floats:
        return CommonFrame.of(A, B).point(t)

    return map_blocks(lambda A, B: in_lanes(POWER, careful, B, A, t), A, B)


@same_kind
def geometric_mean(A: ArrayLike, B: ArrayLike) -> FloatArray:
    """Return the geometric mean of two SPD matrices.

    It is ``A # B = A^½ (A^-½ B A^-½)^½ A^½``, the SPD solution G of ``G A⁻¹ G = B``.

    It is the midpoint of the geodesic from A to B.

    Parameters
    ----------
    A, B : array-like of shape (..., n, n)
        SPD matrices, broadcast against each other.

    Returns
    -------
    ndarray of shape (..., n, n)
        SPD matrices; ``A # B = B # A``.
    """
    return geodesic(A, B, 0.5)


def as_spd(X: ArrayLike, name: str) -> FloatArray:
    """Return the SPD matrices X (..., n, n) as an array, or raise what `check_spd` would."""
    X = as_matrices(X, name)
    raise_unless_spd(X.reshape(-1, *X.shape[-2:]), name, X.shape[:-2])
    return X


def as_semidefinite(X: ArrayLike, name: str) -> FloatArray:
    """Return the matrices X (..., n, n) as an array, or raise if one is not even positive semidefinite."""
    X = as_matrices(X, name)
    raise_unless_semidefinite(X.reshape(-1, *X.shape[-2:]), name, X.shape[:-2])
    return X


def as_tangents(V: ArrayLike, name: str, base: FloatArray) -> FloatArray:
    """Return the symmetric matrices V (..., n, n) as an array, or raise if they are not symmetric.

    Rounding is that of numbers as large as the base, so asymmetry is judged relative to it, too.
    """
    V = as_matrices(V, name)
    shape = common_shape(V.shape, base.shape)
    units = np.broadcast_to(np.sqrt(np.einsum("...ii->...i", base.real)), shape[:-1])
    each = np.broadcast_to(V, shape)
    raise_unless_symmetric(
        each.reshape(-1, *shape[-2:]), name, shape[:-2], units.reshape(-1, shape[-1])
    )
    return V
