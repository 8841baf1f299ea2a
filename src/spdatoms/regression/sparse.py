"""`SPDSparseRegressor`: the targets of the training matrices that represent a query."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from spdatoms._utils import parameters as allow
from spdatoms._utils.estimator import Threaded
from spdatoms._utils.products import row_products
from spdatoms._utils.typing import Array, FloatArray, Floats
from spdatoms._utils.warning import warn_of_share
from spdatoms._utils.weights import relative_weights
from spdatoms.base import check_targets, checked_fit
from spdatoms.classification.named_atoms import Listing
from spdatoms.coding.blocks import for_coded_blocks
from spdatoms.divergences import Divergence
from spdatoms.divergences.registry import SYMMETRIC_METRIC
from spdatoms.exceptions import ZeroCodeWarning
from spdatoms.geometry.channels import Mask, cut
from spdatoms.kernels import DivergenceKernel, Kernel
from spdatoms.kernels.correction import CORRECTION
from spdatoms.lasso.alpha import regression_alpha
from spdatoms.layout import Part, holds
from spdatoms.regression.regressor import SPDRegressor, TargetExplanations, explained_targets


@allow.with_parameters
class SPDSparseRegressor(Threaded, SPDRegressor):
    """Regression on SPD matrices by how training matrices represent them.

    t̄ + Σ_j y_j (t_j − t̄): the code y of a query X, applied to the targets t_j of the training matrices and
    their mean t̄.

    The code minimises 1 − 2 yᵀk_X + yᵀKy + α‖y‖₁ + ρ‖y‖² over the training matrices, as in `SPDSparseCoder`. With α = 0
    it is kernel ridge regression of t − t̄. The greater α is, the fewer training matrices make a prediction.

    Parameters
    ----------
    beta : float or "auto", default="auto"
        The β of the kernel exp(−β·d). ``"auto"`` is the reciprocal of the median divergence between two
        training matrices.
    alpha : float or "auto", default="auto"
        The penalty of ‖y‖₁. ``"auto"`` makes codes sparse: it is 5 % of the least α at which the code of
        a typical training matrix over the others is zero, at most 0.1.
    ridge : float, default=0.0
        The penalty ρ of ‖y‖². Noisy targets need it: it lets similar matrices share a code, so that
        their targets are averaged.

    Attributes
    ----------
    atoms_ : ndarray of shape (N, n, n)
        The training matrices.
    targets_, atom_weights_, kernel_, alpha_, n_features_in_

    Examples
    --------
    >>> import numpy as np
    >>> from spdatoms import SPDSparseRegressor
    >>> t = np.linspace(0.0, 3.0, 7)
    >>> X = np.exp(t)[:, None, None] * np.eye(2)
    >>> SPDSparseRegressor(alpha=0.001).fit(X, t).predict(1.2 * X[2:4]).round(1)
    array([1.2, 1.7])
    """

    hermitian: ClassVar[bool] = True
    _seen: ClassVar[str] = "atoms_"
    _stored = holds("atoms_ alpha_ targets_ atom_weights_", kernel_=Part(Kernel))
    metric: str | Divergence = allow.parameter(SYMMETRIC_METRIC, default="stein")
    beta: float | str = allow.parameter(allow.BETA, default="auto")
    alpha: float | str = allow.parameter(allow.ALPHA, default="auto")
    _: KW_ONLY
    ridge: float = allow.parameter(allow.real(0), default=0.0)
    correction: str = allow.parameter(CORRECTION, default="clip")

    @checked_fit
    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> SPDSparseRegressor:
        """Keep the matrices and their targets, and compute the Gram matrix.

        Parameters
        ----------
        X : array-like of shape (m, n, n)
            SPD matrices. A Dask array is collected in memory.
        y : array-like of shape (m,) or (m, q)
            Their targets: a number for each, or q numbers.
        sample_weight : array-like of shape (m,), default=None
            Weights w of the matrices, not negative; only their ratios count. A matrix of weight 0 is
            left out, as if it were not there. The others have the penalties α|y_j|/√w_j and ρy_j²/w_j,
            where w has the mean 1, and t̄ is the weighted mean.
        """
        X = self.check_training_matrices(X)
        targets = check_targets(y, len(X))
        rows, self.atom_weights_ = relative_weights(sample_weight, len(X))
        self.atoms_, self.targets_ = X[rows], targets[rows]
        kernel = DivergenceKernel(self.metric, self.beta, self.correction, self.n_jobs)
        self.kernel_ = kernel.fit_checked(self.atoms_)
        automatic = isinstance(self.alpha, str)
        self.alpha_ = regression_alpha(self.kernel_.gram_) if automatic else float(self.alpha)
        return self

    def _predicted(self, X: FloatArray) -> Floats:
        mean = self._mean_target()
        deviations = (self.targets_ - mean).reshape(len(self.targets_), -1)
        moved = np.concatenate(self._of_codes(lambda codes: row_products(codes, deviations), X))
        return np.asarray(mean + moved.reshape(-1, *self.targets_.shape[1:]))

    def _explained(self, X: FloatArray, listing: Listing) -> TargetExplanations:
        listing.check(len(self.targets_))
        codes = np.concatenate(self._of_codes(np.asarray, X))
        return explained_targets(codes, self.targets_, self.atom_weights_, listing)

    def _cut(self, known: Mask) -> Self:
        return self._fitted_anew(cut(self.atoms_, known), self.targets_, self.atom_weights_)

    def _answers_to_nothing(self) -> dict[str, Array]:
        return {"predict": self._mean_target()[None]}

    def _mean_target(self) -> Floats:
        return np.asarray(np.average(self.targets_, axis=0, weights=self.atom_weights_))

    def _of_codes(self, use: Callable[[FloatArray], Floats], X: FloatArray) -> list[Floats]:
        """Return what ``use`` makes of the codes of queries, block by block, and warn of those that are zero."""
        found = for_coded_blocks(
            lambda block: (use(block.codes), int((~block.codes.any(axis=1)).sum())),
            X,
            self.kernel_,
            self.alpha_,
            ridge=self.ridge,
            weights=self.atom_weights_,
            n_jobs=self.n_jobs,
        )
        warn_of_share(
            sum(empty for _, empty in found),
            len(X),
            "queries have an all-zero code, and the mean target is predicted: alpha or beta is too large "
            "for them.",
            ZeroCodeWarning,
        )
        return [part for part, _ in found]
