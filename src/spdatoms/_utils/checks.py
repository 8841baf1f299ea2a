"""Refuse parameters that make no sense, each with one sentence."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from spdatoms._utils.typing import FloatArray, Floats


def check_beta(beta: float | str) -> None:
    """Refuse a β that is neither "auto" nor a positive number."""
    if isinstance(beta, str):
        if beta != "auto":
            raise ValueError(f"beta must be 'auto' or a positive number, got {beta!r}.")
    elif not (np.isfinite(beta) and beta > 0):
        raise ValueError(f"beta must be 'auto' or a positive number, got {beta!r}.")


def check_size(X: FloatArray, n: int, name: str = "X") -> FloatArray:
    """Refuse matrices that do not have the size of those seen in fit."""
    if X.shape[-1] != n:
        raise ValueError(
            f"{name} holds {X.shape[-1]}×{X.shape[-1]} matrices, but those seen in fit are {n}×{n}."
        )
    return X


def check_alpha(alpha: float | str) -> None:
    """Refuse an α that is neither "auto" nor a number ≥ 0."""
    if isinstance(alpha, str):
        if alpha != "auto":
            raise ValueError(f"alpha must be 'auto' or a number ≥ 0, got {alpha!r}.")
    elif not (np.isfinite(alpha) and alpha >= 0):
        raise ValueError(f"alpha must be 'auto' or a number ≥ 0, got {alpha!r}.")


def check_nonnegative(name: str, value: Any) -> None:
    """Refuse anything but a finite number ≥ 0."""
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 <= float(value) < np.inf:
        raise ValueError(f"{name} must be a finite number ≥ 0, got {value!r}.")


def check_weights(sample_weight: ArrayLike | None, count: int) -> Floats:
    """Return weights that sum to 1."""
    if sample_weight is None:
        return np.full(count, 1.0 / count)
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.shape != (count,):
        raise ValueError(f"sample_weight must have the shape ({count},), got {weights.shape}.")
    if not np.isfinite(weights).all() or (weights < 0).any() or not weights.any():
        raise ValueError("sample_weight must be finite, not negative, and not zero everywhere.")
    # Divided by the greatest first: the sum of huge weights overflows.
    weights = weights / weights.max()
    return np.asarray(weights / weights.sum())


def check_integer(name: str, value: Any, least: int, alternative: str = "") -> None:
    """Refuse anything but an integer ≥ ``least``; ``alternative`` says what else is accepted."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise ValueError(f"{name} must be an integer ≥ {least}{alternative}, got {value!r}.")


def check_tolerance(tol: Any) -> None:
    """Refuse a tolerance that is not a finite number ≥ 0."""
    if not (isinstance(tol, Real) and np.isfinite(float(tol)) and float(tol) >= 0):
        raise ValueError(f"tol must be a number ≥ 0, got {tol!r}.")


def check_choice(name: str, value: Any, choices: Sequence[str], alternative: str = "") -> None:
    """Refuse anything but one of the choices; ``alternative`` says what else is accepted."""
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(choices)}{alternative}; got {value!r}.")
