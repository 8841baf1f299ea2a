"""`SPDSparseCoder`: SPD matrices in, sparse codes over a dictionary of SPD matrices out."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from spdatoms._utils.checks import check_alpha, check_size
from spdatoms._utils.typing import FloatArray
from spdatoms.base import SPDEstimator, per_matrix
from spdatoms.divergences import Divergence
from spdatoms.geometry.validation import check_spd
from spdatoms.kernels.kernel import DivergenceKernel
from spdatoms.lasso.alpha import choose_alpha
from spdatoms.lasso.solve import sparse_code


class SPDSparseCoder(ClassNamePrefixFeaturesOutMixin, TransformerMixin, SPDEstimator):
    """min_y 1 − 2 yᵀk_X + yᵀKy + α‖y‖₁: the sparse code of X over atoms D_1 … D_N.

    K holds the kernel values exp(−β·d) between atoms, k_X those between X and the atoms. The code is
    exact: see `sparse_code`.

    Parameters
    ----------
    dictionary : array-like of shape (N, n, n), optional
        The atoms. Without them the matrices given to `fit` are the atoms.
    metric : str or Divergence
        The divergence d: ``"stein"``, ``"jeffrey"``, ``"logeuclid"``, ``"riemann"``, ``"euclid"``.
    beta : float or "auto"
        ``"auto"`` is the reciprocal of the median divergence between two atoms.
    alpha : float or "auto"
        The price of ‖y‖₁ (the paper's λ). ``"auto"`` is 0.01, or 0.05 if the Gram matrix was
        indefinite and had to be corrected.
    correction : {"clip", "flip", "shift", "none"}
        What to do with an indefinite Gram matrix, see `DivergenceKernel`.
    positive : bool
        Ask for y ≥ 0.
    n_jobs : int, optional
        The number of threads.

    Attributes
    ----------
    atoms_ : ndarray of shape (N, n, n)
        The dictionary.
    kernel_ : DivergenceKernel
        The kernel over it, with ``beta_`` and ``gram_``.
    alpha_ : float
        The α in use.
    n_features_in_ : int
        The size n of the matrices.

    Examples
    --------
    >>> import numpy as np
    >>> from spdatoms import SPDSparseCoder
    >>> D = np.array([[[1.0, 0.0], [0.0, 1.0]], [[9.0, 0.0], [0.0, 1.0]]])
    >>> coder = SPDSparseCoder(dictionary=D, beta=1.0, alpha=0.1).fit(D)
    >>> coder.transform(2.0 * D).round(2)
    array([[ 0.68,  0.27],
           [-0.05,  0.87]])
    """

    def __init__(
        self,
        dictionary: ArrayLike | None = None,
        metric: str | Divergence = "stein",
        beta: float | str = "auto",
        alpha: float | str = "auto",
        correction: str = "clip",
        positive: bool = False,
        n_jobs: int | None = None,
    ) -> None:
        self.dictionary = dictionary
        self.metric = metric
        self.beta = beta
        self.alpha = alpha
        self.correction = correction
        self.positive = positive
        self.n_jobs = n_jobs

    def fit(self, X: ArrayLike, y: object = None) -> SPDSparseCoder:
        """Compute the Gram matrix of the dictionary, which is X (N, n, n) if none was given."""
        check_alpha(self.alpha)
        X = self.check_training_matrices(X)
        if self.dictionary is None:
            self.atoms_ = X
        else:
            atoms = check_spd(self.dictionary, name="dictionary")
            self.atoms_ = check_size(atoms, self.n_features_in_, name="dictionary")
        self.kernel_ = self._kernel().fit_checked(self.atoms_)
        self.alpha_ = choose_alpha(self.alpha, self.kernel_.corrected_)
        return self

    def _kernel(self) -> DivergenceKernel:
        return DivergenceKernel(self.metric, self.beta, self.correction, self.n_jobs)

    @per_matrix
    def transform(self, X: ArrayLike) -> FloatArray:
        """Return the codes of X (m, n, n), one a row, shape (m, N)."""
        X = self.check_queries(X)
        codes: FloatArray = sparse_code(
            self.kernel_.gram_,
            self.kernel_.cross_checked(X),
            self.alpha_,
            positive=self.positive,
            check_gram=False,
            n_jobs=self.n_jobs,
        )
        return codes

    @property
    def _n_features_out(self) -> Any:
        return len(self.atoms_)
