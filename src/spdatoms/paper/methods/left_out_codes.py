"""Sparse codes over the training matrices as vectors for a classifier."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin

from spdatoms._utils.typing import FloatArray, Floats
from spdatoms.kernels.kernel import DivergenceKernel
from spdatoms.lasso.solve import sparse_code


@dataclass(eq=False, repr=False)
class LeftOutCodes(TransformerMixin, BaseEstimator):
    """Sparse codes of queries over all training matrices, and of a training matrix over all others.

    Over a dictionary that has it as an atom, a training matrix is its own code: a classifier of such codes would learn
    from unit vectors, and meet codes of another kind in its queries.

    Parameters
    ----------
    metric : str, default="stein"
        The divergence of the kernel; its β is the automatic one.
    alpha : float, default=0.01
        The penalty α.
    n_jobs : int, default=None
        The number of threads.
    """

    metric: str = "stein"
    alpha: float = 0.01
    n_jobs: int | None = None

    def fit(self, X: FloatArray, y: object = None) -> LeftOutCodes:
        """Take the training matrices as atoms."""
        self.kernel_ = DivergenceKernel(self.metric, n_jobs=self.n_jobs).fit(X)
        return self

    def fit_transform(self, X: FloatArray, y: object = None) -> Floats:
        """Take the training matrices as atoms, and return the code of each over the others."""
        gram = self.fit(X).kernel_.gram_
        return np.asarray(
            sparse_code(gram, gram, self.alpha, exclude=range(len(X)), n_jobs=self.n_jobs)
        )

    def transform(self, X: FloatArray) -> Floats:
        """Return the codes of queries over all training matrices."""
        kernel = self.kernel_
        return np.asarray(
            sparse_code(kernel.gram_, kernel.cross(X), self.alpha, n_jobs=self.n_jobs)
        )
