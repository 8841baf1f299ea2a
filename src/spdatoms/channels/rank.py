"""`SPDRange`: singular matrices with one range in common, on that range."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY
from typing import Any, ClassVar

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from spdatoms._utils import parameters as allow
from spdatoms._utils.checks import check_size
from spdatoms._utils.threads import block_slices
from spdatoms._utils.typing import FloatArray, Floats
from spdatoms.base import SPDEstimator, checked_fit, estimator_call, per_matrix
from spdatoms.geometry.hermitian import as_double, in_precision_of, is_complex
from spdatoms.geometry.spectral import adjoint, symmetric_part
from spdatoms.geometry.validation import Unfit, check_semidefinite, find_unfit
from spdatoms.layout import PENALTY, Numbers, Size, holds

#: An eigenvalue up to this many times n·eps is rounding, of the steps that lead to a covariance, too.
_ROUNDING = 4.0
#: A gap is clear if no eigenvalue lies between what rounding explains and this many times as much.
_GAP = 10.0
#: Above rounding, a fall of the spectrum by this factor may be the end of the range and the level of some noise.
_FALL = 1e6
#: Matrices at a time: their products take some megabytes.
_BLOCK_BYTES = 8 << 20


@allow.with_parameters
class SPDRange(TransformerMixin, SPDEstimator):
    """Singular SPD matrices as definite ones on their common range.

    ``Z_i = Uᴴ X_i U``, with an orthonormal basis U of the range that all X_i share; ``X_i = U Z_i Uᴴ``.

    An average reference, components removed by ICA and interpolated channels leave covariances singular, all with the
    same range. The Stein, Jeffrey and affine-invariant divergences of the Z_i do not depend on the basis.

    The range is certified: the spectrum of the mean, scaled to a unit diagonal, has a clear gap at the level of
    rounding; every matrix is positive definite on the range and negligible outside. If one is not, an error names it.
    Matrices of full rank stay as they are.

    Parameters
    ----------
    rank : int or "auto", default="auto"
        The dimension of the range. ``"auto"`` counts the eigenvalues of the scaled mean above
        ``4·n·eps``, and refuses to guess if one of them is less than ten times that, or if they fall by 10⁶ at once.
        The eps is that of single precision if it holds all numbers exactly. A number is for noise beyond
        rounding: what is outside may be more, but the gap behind that many eigenvalues must be a factor of ten.

    Attributes
    ----------
    basis_ : ndarray of shape (n, rank_)
        The basis U. It is the identity if the rank is full.
    rank_ : int
        The dimension of the range.
    spectrum_ : ndarray of shape (n,)
        The eigenvalues of the scaled mean, the largest first. It is the mean of the training matrices, each divided
        by its trace, with rows and columns scaled to a unit diagonal.
    n_features_in_

    See Also
    --------
    spdatoms.geometry.shrink : For covariances of too few samples, which have different ranges.

    Notes
    -----
    The share of a matrix outside is ``vᴴXv / (Σ_k |v_k| √x_kk)²`` for v in the null space of the mean: that is at most
    eps for exact numbers that were rounded, whatever the units of the channels are. It may be ``40·n·eps``.

    Examples
    --------
    >>> import numpy as np
    >>> from spdatoms import SPDRange, SPDSparseClassifier
    >>> from sklearn.pipeline import make_pipeline
    >>> signals = np.random.default_rng(0).standard_normal((20, 4, 50))
    >>> signals[::2, 0] *= 3.0
    >>> signals -= signals.mean(axis=1, keepdims=True)  # average reference
    >>> X, y = signals @ signals.swapaxes(1, 2), np.arange(20) % 2
    >>> model = make_pipeline(SPDRange(), SPDSparseClassifier()).fit(X, y)
    >>> model[0].rank_, model.score(X, y)
    (3, 1.0)
    """

    hermitian: ClassVar[bool] = True
    _stored = holds(
        rank_=Size("r"),
        basis_=Numbers("n r", "fc"),
        spectrum_=Numbers("n"),
        _null=Numbers("n v", "fc"),
        _outside=PENALTY,
    )
    rank: int | str = allow.parameter(allow.AUTO | allow.integer(1), default="auto")
    _: KW_ONLY
    verbose: int = allow.parameter(allow.VERBOSE, default=0)

    @checked_fit
    def fit(self, X: ArrayLike, y: object = None) -> SPDRange:
        """Find the common range of X.

        Parameters
        ----------
        X : array-like of shape (m, n, n)
            Symmetric positive semidefinite matrices. A Dask array is collected in memory.
        """
        X = self._of_its_type(check_semidefinite(X))
        n = self.n_features_in_ = X.shape[-1]
        M = _mean(X)
        values, vectors = scaled_spectrum(M)
        self.spectrum_ = values
        level = _level(X)
        rank = self.rank_ = self._dimension(level)
        noise = values[rank] if self.rank != "auto" and rank < n else 0.0
        self._outside = _GAP * max(level, float(noise))
        self._null = _null_vectors(M, vectors[:, rank:])
        self.basis_ = _basis(M, vectors[:, :rank] * np.sqrt(values[:rank]))
        unfit = self._unfit(X)
        if unfit.count:
            raise ValueError(_which_differs(X, unfit))
        return self

    @per_matrix
    def transform(self, X: ArrayLike) -> FloatArray:
        """Return ``UᴴXU``.

        Parameters
        ----------
        X : array-like of shape (m, n, n)
            Positive semidefinite matrices with the range seen in ``fit``. For a Dask array the result is a Dask array.

        Returns
        -------
        ndarray of shape (m, rank_, rank_)
            Positive definite matrices, in the precision of X.
        """
        check_is_fitted(self)
        X = self._of_its_type(check_size(check_semidefinite(X), self.n_features_in_))
        self._unfit(X).raise_if_any("X", X.shape[:1])
        return self._on_range(X)

    @estimator_call
    def inverse_transform(self, Z: ArrayLike) -> FloatArray:
        """Return ``UZUᴴ``, the matrices of all channels.

        Parameters
        ----------
        Z : array-like of shape (m, rank_, rank_)
            Positive semidefinite matrices on the range: those of ``transform``, atoms, means.

        Returns
        -------
        ndarray of shape (m, n, n)
            Matrices with the common range, in the precision of Z.
        """
        check_is_fitted(self)
        Z = check_size(check_semidefinite(Z, name="Z"), self.rank_, "Z")
        if self.rank_ == self.n_features_in_:
            return Z
        return _congruent(adjoint(self.basis_), Z)

    def _unfit(self, X: FloatArray) -> Unfit:
        """Return which of the matrices X (m, n, n) are not negligible outside the range and definite on it."""
        found = Unfit()
        most = max(self._outside, _GAP * _level(X))
        for rows in _blocks(X):
            block = X[rows]
            outside = _shares(block, self._null).max(axis=1, initial=0.0)
            bad = np.flatnonzero(outside > most)
            on_range = find_unfit(self._on_range(block))
            if len(bad) and (not on_range.count or bad[0] <= on_range.first):
                words = (
                    f"has another range than the matrices seen in fit: a share of {outside[bad[0]]:.2g} of it lies "
                    "outside theirs; treat the signals of both in the same way (reference, ICA, interpolation)"
                )
                found += Unfit(int(bad[0]), words, len(bad)).moved(rows.start)
            elif on_range.count:
                what = on_range.complaint.partition(";")[0]
                words = f"is unfit on the common range, too: there it {what}; spdatoms.geometry.shrink helps"
                found += Unfit(on_range.first, words, on_range.count).moved(rows.start)
        return found

    def example_query(self, n: int, dtype: Any) -> FloatArray:
        """Return a matrix (1, n, n) that can be transformed."""
        if n != self.n_features_in_:
            return super().example_query(n, dtype)
        P = self.basis_ @ adjoint(self.basis_)
        return (P if np.dtype(dtype).kind == "c" else P.real).astype(dtype)[None]

    def _on_range(self, X: FloatArray) -> FloatArray:
        if self.rank_ == self.n_features_in_:
            return X
        return _congruent(self.basis_, X)

    def _dimension(self, level: float) -> int:
        """Return the rank: the number of eigenvalues of the scaled mean before the gap."""
        values = np.append(self.spectrum_, 0.0)
        n = len(self.spectrum_)
        if self.rank == "auto":
            rank = int((self.spectrum_ > level).sum())
            clear = values[rank - 1] >= _GAP * level
            falls = np.flatnonzero(values[: rank - 1] > _FALL * values[1:rank])
            if len(falls):
                rank, clear = int(falls[0]) + 1, False
        else:
            rank = int(self.rank)
            if rank > n:
                raise ValueError(f"rank is {rank}, but the matrices are {n}×{n}.")
            clear = values[rank - 1] >= max(_GAP * values[rank], level)
        if not clear:
            raise ValueError(
                f"The rank of the matrices is not clear: eigenvalues {rank} and {rank + 1} of their mean, "
                f"scaled to a unit diagonal, are {values[rank - 1]:.2g} and {values[rank]:.2g}, and rounding "
                f"explains {level:.2g}. Give the rank that the treatment of the signals left, as in "
                "SPDRange(rank=30), or make the matrices definite by spdatoms.geometry.shrink."
            )
        return rank


def scaled_spectrum(M: Floats) -> tuple[Floats, Floats]:
    """Return eigenvalues, the largest first, and eigenvectors of the unit-diagonal scaling of M."""
    units = np.sqrt(M.diagonal().real)
    inverse = np.divide(1.0, units, out=np.zeros_like(units), where=units > 0)
    values, vectors = np.linalg.eigh((M * inverse[:, None]) * inverse)
    return np.maximum(values[::-1], 0.0), vectors[:, ::-1]


def dependent_channels(X: ArrayLike) -> tuple[list[tuple[int, ...]], list[int]]:
    """Return groups of channels that are copies of each other, and the flat channels.

    They are copies if ``|x_kl| = √(x_kk x_ll)`` in the mean, but for rounding; flat, if ``x_kk = 0``.
    """
    X = check_semidefinite(X)
    M = _mean(X)
    root = np.sqrt(M.diagonal().real)
    alike = (abs(M) >= (1.0 - _GAP * _level(X)) * root[:, None] * root) & (root > 0)
    groups = {tuple(np.flatnonzero(row).tolist()) for row in alike[root > 0]}
    return sorted(group for group in groups if len(group) > 1), np.flatnonzero(root == 0).tolist()


def _mean(X: FloatArray) -> Floats:
    """Return the mean of the matrices, each divided by its mean eigenvalue."""
    m, n, _ = X.shape
    total = np.zeros((n, n), np.result_type(X.dtype, np.float64))
    for rows in _blocks(X):
        block = as_double(X[rows])
        scale = (np.einsum("mii->mi", block).real / n).sum(axis=1)
        if not scale.all():
            raise ValueError(
                f"X[{rows.start + int(np.argmin(scale))}] is zero, as the background of an image or a flat signal is; "
                "spdatoms.geometry.is_spd gives the mask that leaves it out."
            )
        total += (block / scale[:, None, None]).sum(axis=0)
    return symmetric_part(total / m)


def _blocks(X: FloatArray) -> Iterator[slice]:
    return block_slices(len(X), max(1, _BLOCK_BYTES // (16 * X.shape[-1] ** 2)))


def _level(X: FloatArray) -> float:
    """Return what rounding explains; the numbers may be of single precision, and stored as double."""
    single = np.complex64 if is_complex(X) else np.float32
    with np.errstate(over="ignore", under="ignore"):
        exact = X.dtype == single or all(
            np.array_equal(X[rows].astype(single), X[rows]) for rows in _blocks(X)
        )
    eps = float(np.finfo(np.float32 if exact else np.float64).eps)
    return float(_ROUNDING * X.shape[-1] * eps)


def _congruent(B: Floats, X: FloatArray) -> FloatArray:
    """Return BᴴXB in the precision of X."""
    return in_precision_of(X, symmetric_part(adjoint(B) @ as_double(X) @ B))


def _basis(M: Floats, factor: Floats) -> Floats:
    """Return an orthonormal basis of the range of ``(D F)(D F)ᴴ``, D = diag(M)^½.

    Pivoting, with the largest rows first, keeps matrices on the basis graded: channels in other units lose no digits.
    """
    n, rank = factor.shape
    if rank == n:
        identity: Floats = np.eye(n, dtype=M.dtype)
        return identity
    units = np.sqrt(M.diagonal().real)
    order = np.argsort(-units, kind="stable")
    Q, _, _ = scipy.linalg.qr((units[:, None] * factor)[order], mode="economic", pivoting=True)
    U: Floats = np.empty_like(Q)
    U[order] = Q
    return U


def _shares(X: FloatArray, null: Floats) -> Floats:
    """Return vᴴXv / (Σ_k |v_k| √x_kk)² for every matrix and every column v, shape (m, columns)."""
    X = as_double(X)
    variances = abs(np.einsum("mii->mi", X))
    bound = (np.sqrt(variances) @ abs(null)) ** 2
    values = abs(np.einsum("nv,mnk,kv->mv", null.conj(), X, null, optimize=True))
    shares: Floats = np.divide(values, bound, out=np.zeros_like(values), where=bound > 0)
    return shares


def _which_differs(X: FloatArray, unfit: Unfit) -> str:
    """Return an error message that names the matrix whose rank or range differs from that of most others."""
    m, level = len(X), _level(X)
    spectra = [scaled_spectrum(as_double(A)) for A in X]
    ranks = np.array([(values > level).sum() for values, _ in spectra])
    usual = int(np.bincount(ranks).argmax())
    advice = "Treat all signals in the same way (reference, ICA, interpolation), leave it out, or shrink all matrices"
    if (ranks != usual).any():
        odd = int(np.argmax(ranks != usual))
        return (
            f"The matrices have no range in common: the rank of X[{odd}] is {ranks[odd]}, that of "
            f"{(ranks == usual).sum()} of {m} is {usual}. {advice} by spdatoms.geometry.shrink."
        )
    first = _null_vectors(as_double(X[0]), spectra[0][1][:, usual:])
    others = _shares(X, first).max(axis=1, initial=0.0) > _GAP * level
    if others.any():
        odd = 0 if others.sum() > m / 2 else int(np.argmax(others))
        return (
            f"The matrices have no range in common: all have rank {usual}, but X[{odd}] has another range than "
            f"{'most others' if odd == 0 else 'X[0]'}. {advice} by spdatoms.geometry.shrink."
        )
    return f"X[{unfit.first}] {unfit.complaint}."


def _null_vectors(M: Floats, vectors: Floats) -> Floats:
    """Return D⁻¹w for the null vectors w of the scaled matrix; a flat channel is one itself."""
    units = np.sqrt(M.diagonal().real)
    null: Floats = vectors / np.where(units > 0, units, 1.0)[:, None]
    return null
