"""How sparse the codes are by which a classifier decides."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np

from spdatoms._utils.typing import Array, Floats
from spdatoms.classification.cross_validation import SPDSparseClassifierCV
from spdatoms.classification.sparse import SPDSparseClassifier
from spdatoms.paper.baselines import (
    KernelPursuitClassifier,
    RiemannianSparseClassifier,
    RiemannianSparseCoder,
    TensorSparseClassifier,
    TensorSparseCoder,
)
from spdatoms.paper.baselines.pixels import ImageSparseClassifier
from spdatoms.paper.methods.left_out_codes import LeftOutCodes

#: Queries that are enough for a mean.
_COUNTED = 100


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
    if isinstance(model, KernelPursuitClassifier):
        return float(model.n_nonzero)
    if isinstance(model, ImageSparseClassifier):
        return mean_nonzeros(model.codes(X))
    coder: Any = None
    if isinstance(model, TensorSparseClassifier):
        coder = TensorSparseCoder(model.atoms_, model.alpha, bounded=model.bounded)
    elif isinstance(model, RiemannianSparseClassifier):
        coder = RiemannianSparseCoder(model.atoms_, model.alpha)
    if coder is not None:
        return mean_nonzeros(coder.fit(model.atoms_).transform(X))
    first = getattr(model, "steps", [("", None)])[0][1]
    return mean_nonzeros(first.transform(X)) if isinstance(first, LeftOutCodes) else None
