"""Refuse models that no fit could have made: compiled code trusts what an estimator holds.

Matrices must be positive definite and of one size, and numbers finite; prediction with others could read beyond
an array, or iterate without an end.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from spdatoms._utils.fitting import CheckedFit
from spdatoms.base import SPDEstimator
from spdatoms.baselines import FrobeniusDictionaryLearning, TensorDictionaryLearning
from spdatoms.classification.references import References
from spdatoms.divergences import PreparedSet
from spdatoms.geometry.validation import find_unfit
from spdatoms.kernels import Kernel

#: Attributes that hold n×n matrices.
_STACKS = ("atoms_", "cluster_centers_", "_dictionary", "_matrices")
#: Their atoms are semidefinite.
_RANK_ONE = (FrobeniusDictionaryLearning, TensorDictionaryLearning)
#: Attributes in which a number may be missing: combinations of parameters that were not tried.
_WITH_GAPS = ("cv_scores_",)


def check_fitted(value: Any) -> None:
    """Refuse an object whose fitted attributes are not what a fit leaves behind."""
    of_the_user = value.get_params(deep=False) if isinstance(value, BaseEstimator) else ()
    for name, part in getattr(value, "__dict__", {}).items():
        if name not in of_the_user and name not in _WITH_GAPS:
            _check_numbers(name, part)
    if isinstance(value, References) and (unfit := find_unfit(check_stack(value.matrices))).count:
        raise ValueError(f"matrices[{unfit.first}] {unfit.complaint}")
    if hasattr(value, "n_features_in_"):
        if isinstance(value, CheckedFit):
            value.check_parameters()
        if isinstance(value, SPDEstimator | Kernel):
            _check_sizes(value)


def _check_sizes(value: Any) -> None:
    """Refuse an object with n×n matrices whose parts are for matrices of another size, or are not SPD."""
    n = value.n_features_in_
    for name, part in vars(value).items():
        is_stack = name in _STACKS and part is not None
        size = _size(check_stack(part) if is_stack else part)
        if size not in (None, n):
            raise ValueError(f"{name} is for {size}×{size} matrices, not {n}×{n}")
        if is_stack and not isinstance(value, _RANK_ONE) and (unfit := find_unfit(part)).count:
            raise ValueError(f"{name}[{unfit.first}] {unfit.complaint}")


def _check_numbers(name: str, part: Any) -> None:
    if isinstance(part, tuple):
        for one in part:
            _check_numbers(name, one)
    is_number = isinstance(part, float | np.ndarray | np.floating)
    if is_number and np.asarray(part).dtype.kind in "fc" and not np.isfinite(part).all():
        raise ValueError(f"{name} is not finite")


def check_stack(matrices: Any) -> Any:
    """Return the matrices if they are an array of shape (m, n, n) of floats."""
    if not _is_real(matrices, 3) or matrices.shape[1] != matrices.shape[2] or not matrices.size:
        raise ValueError("matrices are not an array of shape (m, n, n)")
    return matrices


def _is_real(array: Any, ndim: int) -> bool:
    return (
        isinstance(array, np.ndarray)
        and array.ndim == ndim
        and array.dtype in (np.float32, np.float64, np.complex64, np.complex128)
    )


def _size(part: Any) -> int | None:
    """Return the n of a part that is for n×n matrices, else None."""
    if isinstance(part, Kernel):
        return getattr(part, "n_features_in_", None)
    if isinstance(part, PreparedSet):
        return part.n
    return int(part.shape[-1]) if isinstance(part, np.ndarray) and part.ndim == 3 else None
