"""`SPDEstimator`: what all estimators on stacks of SPD matrices share."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from spdatoms._utils import parameters as allow
from spdatoms._utils.checks import check_size
from spdatoms._utils.estimator import StackEstimator
from spdatoms._utils.typing import Array, FloatArray
from spdatoms._utils.warning import warn_user
from spdatoms.exceptions import OtherUnitsWarning
from spdatoms.geometry.channels import Mask, given_channels, known_channels
from spdatoms.geometry.hermitian import is_complex
from spdatoms.geometry.validation import as_float, check_spd
from spdatoms.layout import holds
from spdatoms.scale import open_stream
from spdatoms.scale.budget import is_streamed

#: Queries that are larger than all matrices seen in fit by this factor, or smaller, are likely to have other units.
_OTHER_UNITS = 100.0


class SPDEstimator(StackEstimator):
    """An estimator whose input X has the shape (m, n, n): m SPD matrices.

    Its methods are decorated: ``fit`` and ``partial_fit`` with `checked_fit`, those with one result per matrix with
    `per_matrix`, others with `estimator_call`.

    Matrices may be complex Hermitian if the class has ``hermitian = True``. Real queries after complex training
    matrices, and complex ones after real ones, are taken for what they are: real matrices are Hermitian ones
    with an imaginary part of zero. Other classes refuse matrices with an imaginary part.

    A parameter ``verbose`` that is set shows a progress bar for every method with one result per matrix.

    An estimator with a method ``_cut(known)``, which returns itself fitted for the channels in a mask (n,), takes
    queries that lack channels in its methods with `per_matrix` or `by_channels`: see there.

    Attributes
    ----------
    n_features_in_ : int
        The size n of the matrices seen in fit.

    See Also
    --------
    checked_fit : Checks parameters, and lets no estimator be fitted by half.
    per_matrix : Lets ``transform``, ``predict`` and the like take Dask arrays and long memory maps.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.base import ClassifierMixin
    >>> from spdatoms.base import SPDEstimator, check_labels, checked_fit, per_matrix
    >>> class LargestTrace(ClassifierMixin, SPDEstimator):
    ...     @checked_fit
    ...     def fit(self, X, y):
    ...         X = self.check_training_matrices(X)
    ...         self.classes_, labels = check_labels(y, len(X))
    ...         self.label_ = self.classes_[labels[np.trace(X, axis1=1, axis2=2).argmax()]]
    ...         return self
    ...
    ...     @per_matrix
    ...     def predict(self, X):
    ...         return np.full(len(self.check_queries(X)), self.label_)
    >>> X = np.array([[[2.0, 0.0], [0.0, 1.0]], [[9.0, 1.0], [1.0, 3.0]]])
    >>> LargestTrace().fit(X, ["small", "large"]).predict(X)
    array(['large', 'large'], dtype='<U5')
    """

    n_features_in_: int
    #: Whether complex Hermitian matrices are accepted, too. An estimator that computes with the entries
    #: of matrices itself would lose their imaginary part, so the default is to refuse them.
    hermitian: ClassVar[bool] = False
    #: Whether methods take the argument ``channels`` themselves, without `_cut`.
    own_channels: ClassVar[bool] = False
    #: The attribute that holds matrices of those seen in fit, if queries should be about as large.
    _seen: ClassVar[str] = ""
    _stored = holds("n_features_in_")

    def check_training_matrices(self, X: ArrayLike) -> FloatArray:
        """Check the matrices given to ``fit``, and set ``n_features_in_``.

        Parameters
        ----------
        X : array-like of shape (m, n, n)
            SPD matrices. A Dask array is collected in memory.

        Returns
        -------
        ndarray of shape (m, n, n)
            X in single or double precision, as `spdatoms.check_spd` returns it.
        """
        X = self._of_its_type(check_spd(X))
        self.n_features_in_ = X.shape[-1]
        return X

    def check_queries(self, X: ArrayLike) -> FloatArray:
        """Check that the estimator is fitted, and that X holds matrices of the size seen in ``fit``.

        Parameters
        ----------
        X : array-like of shape (m, n, n)
            SPD matrices.

        Returns
        -------
        ndarray of shape (m, n, n)
            X in single or double precision, as `spdatoms.check_spd` returns it.
        """
        if "n_features_in_" not in vars(self):  # sklearn's own look takes longer than a small code
            check_is_fitted(self)
        X = self._of_its_type(check_size(check_spd(X), self.n_features_in_))
        if self._seen and len(X):
            _warn_of_other_units(X, getattr(self, self._seen))
        return X

    def example_query(self, n: int, dtype: Any) -> FloatArray:
        """Return a query: results of every method have the same form for all matrices.

        Parameters
        ----------
        n : int
            The size of the matrix.
        dtype : dtype
            The type of its numbers.

        Returns
        -------
        ndarray of shape (1, n, n)
            The identity.
        """
        return np.eye(n, dtype=dtype)[None]

    @property
    def _n_channels(self) -> int:
        """The size of the matrices, if the estimator is fitted."""
        check_is_fitted(self)
        return self.n_features_in_

    def _heeded(self, X: Any) -> Any:
        """Return queries without the channels that an estimator does not trust."""
        return X

    def _with_channels(self, X: Any, channels: ArrayLike | None) -> tuple[FloatArray, Mask] | None:
        """Return matrices with the mask (m, n) of their channels; None if they have all channels, or X is no stack."""
        try:
            X = as_float(X, "X")
        except (TypeError, ValueError):
            return None  # the method will say what is wrong with it
        if X.ndim != 3 or X.shape[1] != X.shape[2] or not X.size:
            return None
        if channels is None:
            if not np.isnan(X.diagonal(axis1=1, axis2=2)).any():
                return None
            return check_size(X, self._n_channels), known_channels(X)
        m, n = len(X), self._n_channels
        mask = given_channels(channels, m, n)
        if (
            mask.ndim == 1 and X.shape[-1] == mask.sum() < n
        ):  # X holds these channels only, in the order of the indices
            at = (
                np.flatnonzero(mask)
                if np.asarray(channels).dtype == np.bool_
                else np.asarray(channels)
            )
            own, X = X, np.full((m, n, n), np.nan, X.dtype)
            X[:, at[:, None], at] = own
        known = known_channels(check_size(X, n)) & mask
        return None if known.all() else (X, known)

    def _answers_to_nothing(self) -> dict[str, Array]:
        """Return what methods, by name, say of one matrix without channels; others refuse it."""
        return {}

    def _fitted_anew(self, X: FloatArray, *args: Any, **parameters: Any) -> Self:
        """Return a clone fitted to other matrices, with other parameters as far as the class has them."""
        model = clone(self)
        own = model.get_params(deep=False)
        model.set_params(**{name: value for name, value in parameters.items() if name in own})
        fitted: Self = model.fit(X, *args)
        return fitted

    def _of_its_type(self, X: FloatArray) -> FloatArray:
        """Return X, or its real part if only real matrices are taken and the imaginary part is zero."""
        if self.hermitian or not is_complex(X):
            return X
        if X.imag.any():
            raise ValueError(
                f"Complex data not supported: {type(self).__name__} takes real matrices only. Pass X.real "
                "if the imaginary part is rounding."
            )
        return np.ascontiguousarray(X.real)


def _warn_of_other_units(X: FloatArray, seen: FloatArray | None) -> None:
    """Warn if most queries are far larger, or smaller, than all matrices seen in fit."""
    if seen is None or 1.0 / _OTHER_UNITS < _size(X[0]) / _size(seen[0]) < _OTHER_UNITS:
        return  # the first of them are enough to see that all is well
    diagonals = (Z.diagonal(axis1=1, axis2=2).real.astype(np.float64) for Z in (X, seen))
    sizes, known = (np.sort(own)[:, own.shape[1] // 2] for own in diagonals)
    found = float(np.median(sizes))
    if known.min() / _OTHER_UNITS < found < float(known.max()) * _OTHER_UNITS:
        return
    warn_user(
        f"The variances of the matrices are about {found / float(np.median(known)):.0e} times as large as of those "
        "seen in fit: are they in other units? Bring both to the same ones.",
        OtherUnitsWarning,
    )


def _size(A: FloatArray) -> float:
    """Return the median variance, which a broken channel does not move, without NumPy's time for one matrix."""
    return float(sorted(A.diagonal().real.tolist())[len(A) // 2])


@allow.checks(n_jobs=allow.N_JOBS)
def check_streamable(X: Any, n_jobs: int | None = None) -> Any:
    """Check matrices that may not fit in memory.

    Parameters
    ----------
    X : array-like or dask.array.Array of shape (m, n, n)
        SPD matrices.
    n_jobs : int, default=None
        The number of threads that read a memory map.

    Returns
    -------
    ndarray of shape (m, n, n) or Stream
        X as `spdatoms.check_spd` returns it or, for a Dask array or a long memory map, a
        `spdatoms.scale.Stream`.
    """
    return open_stream(X, n_jobs) if is_streamed(X) else check_spd(X)
