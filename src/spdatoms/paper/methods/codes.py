"""Sparse codes as vectors for a classifier, and how sparse the codes are by which classifiers decide."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin

from spdatoms._utils.typing import Array, FloatArray, Floats
from spdatoms.classification.cross_validation import SPDSparseClassifierCV
from spdatoms.classification.sparse import SPDSparseClassifier
from spdatoms.kernels.kernel import DivergenceKernel
from spdatoms.lasso.solve import sparse_code
from spdatoms.paper import baselines
from spdatoms.paper.baselines.images import ImageSparseClassifier

#: Queries that are enough for a mean.
_COUNTED = 100


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


def mean_nonzeros(codes: Floats) -> float:
    """Return the mean number of entries of a code that are not zero."""
    return float(np.count_nonzero(codes) / len(codes))


def nonzeros_of(model: Any, X: Array) -> float | None:
    """Return the mean number of non-zeros of the codes of some queries, None for a classifier without codes."""
    model, X = getattr(model, "model_", model), X[:_COUNTED]
    if isinstance(model, SPDSparseClassifier):
        model = copy(model).set_params(rule="sum")  # to which every entry of the code contributes
    if isinstance(model, SPDSparseClassifier | SPDSparseClassifierCV):
        return float(np.mean([len(one.atoms) for one in model.explain(X)]))
    if isinstance(model, baselines.KernelPursuitClassifier):
        return float(model.n_nonzero)
    if isinstance(model, ImageSparseClassifier):
        return mean_nonzeros(model.codes(X))
    coder: Any = None
    if isinstance(model, baselines.TensorSparseClassifier):
        coder = baselines.TensorSparseCoder(model.atoms_, model.alpha, bounded=model.bounded)
    elif isinstance(model, baselines.RiemannianSparseClassifier):
        coder = baselines.RiemannianSparseCoder(model.atoms_, model.alpha)
    if coder is not None:
        return mean_nonzeros(coder.fit(model.atoms_).transform(X))
    first = getattr(model, "steps", [("", None)])[0][1]
    return mean_nonzeros(first.transform(X)) if isinstance(first, LeftOutCodes) else None
