"""`LogEuclideanKSVD`: a dictionary of symmetric matrices for the logarithms, learned by K-SVD."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from spdatoms._utils import parameters as allow
from spdatoms._utils.estimator import Threaded
from spdatoms._utils.products import row_products
from spdatoms._utils.progress import progress_bar
from spdatoms._utils.sampling import first_samples, generator
from spdatoms._utils.threads import one_blas_thread
from spdatoms._utils.typing import FloatArray, Floats
from spdatoms.base import estimator_call
from spdatoms.geometry.functions import expm
from spdatoms.geometry.half_vectors import from_half_vectors
from spdatoms.kernels.log_cosine import mean_log_scale, rescaled_logs
from spdatoms.lasso.solve import sparse_code
from spdatoms.layout import Numbers, holds
from spdatoms.paper.baselines._factorisation import KSVD, UPDATES
from spdatoms.paper.baselines.atoms import DictionaryLearner
from spdatoms.paper.baselines.pursuit import pursue


@allow.with_parameters
class LogEuclideanKSVD(Threaded, DictionaryLearner):
    """K-SVD: a dictionary of the logarithms of SPD matrices.

    min Σ_i ‖log(X_i/c) − Σ_j y_ij A_j‖²_F with ‖A_j‖_F = 1 and at most s entries in a code y_i.

    K-SVD [1]_ on the half-vectors of the logarithms, with c the scale of the matrices. The objective
    never increases: a matrix keeps its code where orthogonal matching pursuit finds a worse one. Where
    the iterations stall, an atom that contributes little is exchanged for the matrix that is represented
    worst, if that lowers the objective.

    Parameters
    ----------
    update : {"exact", "approximate"}, default="exact"
        An atom and its coefficients become the first singular pair of the residual without them, or
        take one step towards it [2]_, which is faster.
    alpha : float, default=None
        If given, `transform` returns the codes that minimise ‖v − Σ_j y_j A_j‖² + α‖v‖·‖y‖₁ for
        v = log(X/c), instead of those of the pursuit.
    rescale : bool, default=True
        Divide by c, the geometric mean of all eigenvalues of the training matrices, which makes
        codes independent of the unit of X. Otherwise c is 1.
    max_iter : int, default=100
        The greatest number of iterations, those of exchanges included.
    tol : float, default=1e-3
        The iterations stall where one lowers the objective by no more than this fraction of it.
        Learning ends after a few exchanges that did not help.
    random_state : int, Generator, RandomState or None, default=None
        The source of randomness for the first atoms, which are training matrices.
    n_jobs : int, default=None
        The number of threads for codes with ``alpha``.

    Attributes
    ----------
    log_atoms_ : ndarray of shape (N, n, n)
        The atoms A: symmetric matrices, directions in the space of logarithms.
    scale_ : float
        The c of the formula.
    objective_ : ndarray
        The objective after every iteration, except those of exchanges. It never increases.
    n_iter_ : int
        The number of its entries.
    n_features_in_

    References
    ----------
    .. [1] M. Aharon, M. Elad, A. Bruckstein, K-SVD: an algorithm for designing overcomplete
       dictionaries for sparse representation, 2006.
    .. [2] R. Rubinstein, M. Zibulevsky, M. Elad, Efficient implementation of the K-SVD algorithm
       using batch orthogonal matching pursuit, 2008.

    Examples
    --------
    Nearest neighbour on the codes:

    >>> import numpy as np
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from sklearn.pipeline import make_pipeline
    >>> from spdatoms.paper.baselines import LogEuclideanKSVD
    >>> G = np.random.default_rng(0).standard_normal((60, 3, 30))
    >>> G[30:, 0] *= 3.0
    >>> X, y = G @ G.swapaxes(1, 2), np.repeat([0, 1], 30)
    >>> model = make_pipeline(LogEuclideanKSVD(4, 2, random_state=0), KNeighborsClassifier(1))
    >>> model.fit(X[::2], y[::2]).score(X[1::2], y[1::2])
    1.0
    """

    _stored = holds("_log_scale", _atoms=Numbers("N h"), log_atoms_=Numbers("N n n"))
    n_atoms: int = allow.parameter(allow.integer(1), default=64)
    n_nonzero: int = allow.parameter(allow.integer(1), default=5)
    update: str = allow.parameter(allow.choice(*UPDATES), default="exact")
    alpha: float | None = allow.parameter(allow.NONE | allow.real(0), default=None)
    _: KW_ONLY
    rescale: bool = allow.parameter(allow.BOOLEAN, default=True)
    max_iter: int = allow.parameter(allow.integer(1), default=100)
    tol: float = allow.parameter(allow.TOLERANCE, default=1e-3)
    random_state: Any = allow.parameter(allow.RANDOM_STATE, default=None)

    def _learn(self, X: FloatArray) -> list[float]:
        self._log_scale = mean_log_scale(X, self.rescale)
        self.scale_ = float(np.exp(self._log_scale))
        V = rescaled_logs(X, self._log_scale)
        first = self._first_atoms(V)
        with one_blas_thread(), progress_bar(self.max_iter, "K-SVD") as advance:
            learner = KSVD(V, self.n_nonzero, self.update, self.tol)
            found, history = learner.run(
                first, self.max_iter, lambda objective: advance(objective=f"{objective:.6g}")
            )
        self._atoms = found.atoms
        logs = from_half_vectors(found.atoms, self.n_features_in_, weighted=True)
        self.log_atoms_ = logs.astype(X.dtype)
        return history

    def _codes(self, X: FloatArray) -> Floats:
        V = rescaled_logs(X, self._log_scale)
        gram, cross = self._atoms @ self._atoms.T, row_products(V, self._atoms.T)
        if self.alpha is None:
            return pursue(gram, cross, self.n_nonzero)
        lengths = np.linalg.norm(V, axis=1)
        codes: Floats = sparse_code(
            gram,
            cross,
            self.alpha * lengths,
            query_norm=lengths**2,
            check_gram=False,
            n_jobs=self.n_jobs,
        )
        return codes

    @estimator_call
    def inverse_transform(self, codes: ArrayLike) -> FloatArray:
        """Return the matrices c·exp(Σ_j y_j A_j) of codes y.

        Parameters
        ----------
        codes : array-like of shape (m, n_atoms)
            The codes, one per row.

        Returns
        -------
        ndarray of shape (m, n, n)
        """
        check_is_fitted(self)
        Y = np.asarray(codes, np.float64)
        if Y.ndim != 2 or Y.shape[1] != len(self._atoms):
            raise ValueError(
                f"codes must have the shape (m, {len(self._atoms)}), got {Y.shape}: one column per atom."
            )
        logs = from_half_vectors(Y @ self._atoms, self.n_features_in_, weighted=True)
        return (self.scale_ * expm(logs)).astype(self.log_atoms_.dtype)

    def _first_atoms(self, V: Floats) -> Floats:
        """Return N different samples, as unit vectors."""
        used = np.flatnonzero(V.any(axis=1))
        order = generator(self.random_state).permutation(used)
        chosen = first_samples(V, order, self.n_atoms)
        return np.asarray(V[chosen] / np.linalg.norm(V[chosen], axis=1, keepdims=True))

    @property
    def _all_atoms(self) -> FloatArray:
        return self.log_atoms_
