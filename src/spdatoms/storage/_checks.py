"""Refuse models whose parts belong to matrices of different sizes, which compiled code would not notice."""

from __future__ import annotations

from typing import Any

import numpy as np

from spdatoms.base import SPDEstimator
from spdatoms.divergences import PreparedSet
from spdatoms.kernels import Kernel

#: Attributes that hold n×n matrices.
_STACKS = ("atoms_", "cluster_centers_", "_dictionary", "_matrices")


def check_sizes(value: Any) -> None:
    """Refuse an object with n×n matrices whose parts are for matrices of another size."""
    if isinstance(value, SPDEstimator | Kernel) and hasattr(value, "n_features_in_"):
        n = value.n_features_in_
        for name, part in vars(value).items():
            is_stack = name in _STACKS and part is not None
            size = _size(check_stack(part) if is_stack else part)
            if size not in (None, n):
                raise ValueError(f"{name} is for {size}×{size} matrices, not {n}×{n}")


def check_stack(matrices: Any) -> Any:
    """Return the matrices if they are an array of shape (m, n, n) of floats."""
    if not _is_real(matrices, 3) or matrices.shape[1] != matrices.shape[2] or not matrices.size:
        raise ValueError("matrices are not an array of shape (m, n, n)")
    return matrices


def _is_real(array: Any, ndim: int) -> bool:
    return (
        isinstance(array, np.ndarray)
        and array.ndim == ndim
        and array.dtype in (np.float32, np.float64)
    )


def _size(part: Any) -> int | None:
    """Return the n of a part that is for n×n matrices, else None."""
    if isinstance(part, Kernel):
        return getattr(part, "n_features_in_", None)
    if isinstance(part, PreparedSet):
        return part.n
    return int(part.shape[-1]) if isinstance(part, np.ndarray) and part.ndim == 3 else None
