"""Every divergence between Hermitian positive definite matrices, through their real forms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

from spdatoms._utils import parameters as allow
from spdatoms._utils.typing import Array, FloatArray, Floats, Indices
from spdatoms.divergences._products import rounded
from spdatoms.divergences.base import Divergence, PreparedSet
from spdatoms.geometry.geodesics import Geodesics, HermitianGeodesics
from spdatoms.geometry.hermitian import complex_form, is_complex, real_form, real_type
from spdatoms.layout import Part, part


@dataclass
class HermitianSet(PreparedSet):
    """Complex matrices, and what a divergence has prepared of their real forms."""

    real: Any


_DIVERGENCE = allow.Allowed(("a Divergence",), lambda value: isinstance(value, Divergence))


class Hermitian(Divergence):
    """A divergence between complex Hermitian matrices, by that of real matrices of twice the size.

    d(X, Y) = ½ d(R(X), R(Y)) with the real form ``R(A + iB) = [[A, −B], [B, A]]``.

    R doubles every eigenvalue, and so every sum over them, that is nearly every divergence here; a maximum stays what
    it is. What is left is Stein's, Jeffrey's, … of the complex matrices themselves. Matrices go in complex and come out
    complex; real ones are taken for complex ones without an imaginary part.

    Parameters
    ----------
    divergence : Divergence
        The divergence between real matrices.
    """

    _stored = part(divergence=Part(Divergence))

    @allow.checks(divergence=_DIVERGENCE)
    def __init__(self, divergence: Divergence) -> None:
        self.divergence = divergence
        for name in ("name", "symmetric", "congruence_invariant", "closed_form", "relaxation"):
            setattr(self, name, getattr(divergence, name))

    def prepare(self, X: Array, n_jobs: int | None = None) -> HermitianSet:
        """Return the matrices, and what the divergence prepares of their real forms."""
        return HermitianSet(X, self.divergence.prepare(_real(X), n_jobs))

    def pairwise(
        self, X: HermitianSet, Y: HermitianSet | None = None, *, n_jobs: int | None = None
    ) -> FloatArray:
        """Return d(X_i, Y_j) for all pairs."""
        other = None if Y is None else Y.real
        return self._own(self.divergence.pairwise(X.real, other, n_jobs=n_jobs), X.matrices)

    def nearest(
        self, X: HermitianSet, Y: HermitianSet, k: int, *, n_jobs: int | None = None
    ) -> tuple[FloatArray, Indices]:
        """Return the k least of d(X_i, Y_j) for every i, and their j, the least first."""
        values, indices = self.divergence.nearest(X.real, Y.real, k, n_jobs=n_jobs)
        return self._own(values, X.matrices), indices

    def paired(self, X: Array, Y: Array) -> FloatArray:
        """Return d(X_i, Y_i) of pairs."""
        if X.shape[-1] >= self.divergence.complex_pairs_from:
            return self.divergence.paired(X, Y)
        return self._own(self.divergence.paired(_real(X), _real(Y)), X)

    def centre(self, Z: HermitianSet, weights: Floats, current: Array) -> Array:
        """Return the stationary point, or a step towards it, as a complex matrix."""
        return complex_form(self.divergence.centre(Z.real, weights, _real(current)))

    def centres(self, Z: HermitianSet, weights: scipy.sparse.csc_array, current: Array) -> Array:
        """Return `centre` for every column of weights."""
        return complex_form(self.divergence.centres(Z.real, weights, _real(current)))

    def _own(self, values: FloatArray, X: Array) -> FloatArray:
        """Return what values of real forms are for complex matrices, in the precision of X; the array is used again."""
        values /= values.dtype.type(self.divergence.real_form_factor)
        return rounded(values, real_type(X.dtype))

    def gradient(self, X: Array, Y: Array) -> Array:
        """Return the G with dd = Re tr(G dX): the real gradient has twice as many entries for d times the factor."""
        real = self.divergence.gradient(_real(X), _real(Y))
        return complex_form(real) * (2.0 / self.divergence.real_form_factor)

    def _second_gradient(self, Y: Array, X: Array) -> Array:
        real = self.divergence._second_gradient(_real(Y), _real(X))
        return complex_form(real) * (2.0 / self.divergence.real_form_factor)

    def vjp(
        self,
        X: HermitianSet,
        Y: HermitianSet,
        weights: Floats,
        *,
        both: bool = True,
        n_jobs: int | None = None,
    ) -> tuple[Array, Array | None]:
        """Return the sums of gradients over all pairs, through the real forms."""
        weights = 2.0 / self.divergence.real_form_factor * weights
        first, second = self.divergence.vjp(X.real, Y.real, weights, both=both, n_jobs=n_jobs)
        return complex_form(first), None if second is None else complex_form(second)

    def kernel_is_guaranteed(self, beta: float, n: int) -> bool:
        """Return whether the kernel is positive definite on all real 2n×2n matrices: that is enough."""
        return self.divergence.kernel_is_guaranteed(beta / self.divergence.real_form_factor, 2 * n)

    def each_to_centres(
        self, X: HermitianSet, centres: Array, n_jobs: int | None = None
    ) -> FloatArray:
        """Return d(X_i, C_j) at [i, j]."""
        return self._own(
            self.divergence.each_to_centres(X.real, _real(centres), n_jobs), X.matrices
        )

    def centre_term(self, Z: HermitianSet, weights: Floats, current: Array) -> Floats:
        """Return what a part of the data adds to the step of `centre`, in the real form."""
        return self.divergence.centre_term(Z.real, weights, _real(current))

    def centre_from_terms(self, terms: Floats, total: float, current: Array) -> Array:
        """Return the step of `centre` over all parts, as a complex matrix."""
        return complex_form(self.divergence.centre_from_terms(terms, total, _real(current)))

    def _parts(self, Z: Any, weights: scipy.sparse.csc_array, D: Array) -> Floats:
        return self.divergence._parts(Z.real, weights, _real(D))

    def _towards_centre(self, parts: Floats, total: Floats, D: Array) -> Geodesics:
        return HermitianGeodesics(self.divergence._towards_centre(parts, total, _real(D)))

    def _downhill(self, parts: Floats, total: Floats, size: Floats, D: Array) -> Geodesics:
        return HermitianGeodesics(self.divergence._downhill(parts, total, size, _real(D)))

    def pairs(self, Z: Any, pattern: scipy.sparse.csc_array, D: Any) -> Floats:
        """Return d(Z_i, D_r) for the entries (i, r) of the pattern, in its order, both prepared."""
        return np.asarray(self._own(self.divergence.pairs(Z.real, pattern, D.real), Z.matrices))


def over(divergence: Divergence, X: Any) -> Divergence:
    """Return the divergence between matrices of the type of X (an array, or a dtype): real, or complex.

    It is the divergence itself, or a `Hermitian` one if X is complex and the divergence does not take it as it is.
    """
    dtype = X if isinstance(X, np.dtype) else X.dtype
    if dtype.kind != "c" or divergence.native_complex or isinstance(divergence, Hermitian):
        return divergence
    return Hermitian(divergence)


def beside(
    divergence: Divergence, X: Array, own: PreparedSet
) -> tuple[Divergence, PreparedSet, PreparedSet]:
    """Return the divergence between matrices X and prepared ones, and both prepared for it.

    If only one side is complex, the imaginary part of the other is zero. X takes the precision of the other side.
    """
    divergence = over(divergence, own.matrices)
    if is_complex(X) and not is_complex(own.matrices):
        divergence = over(divergence, X)
        own = divergence.prepare(own.matrices.astype(np.result_type(own.matrices, np.complex64)))
    return divergence, divergence.prepare(X.astype(own.matrices.dtype, copy=False)), own


def _real(X: Array) -> FloatArray:
    """Return real forms in double precision: single might not hold their divergences, which are twice as large."""
    return real_form(np.asarray(X, np.complex128))
