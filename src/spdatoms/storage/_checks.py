"""Refuse models that no fit could have made: compiled code trusts what an estimator holds.

Parameters are checked as ``fit`` checks them. Matrices must be positive definite, numbers finite, and all that
belongs together of one size; prediction with others could read beyond an array, or iterate without an end.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from spdatoms._utils.estimator import StackEstimator
from spdatoms.layout import Sizes, held_by, missing

#: Attributes in which a number may be missing: combinations of parameters that were not tried.
_WITH_GAPS = ("cv_scores_", "cv_results_")


def check_arguments(cls: type, arguments: Mapping[str, Any]) -> None:
    """Refuse arguments of a class whose objects are parts of estimators."""
    _check_parts(cls, arguments)
    for name, value in arguments.items():
        _check_numbers(name, value)


def check_estimator(value: BaseEstimator) -> None:
    """Refuse an estimator whose attributes are not what a fit leaves behind."""
    if not any(name.endswith("_") for name in vars(value)):
        return  # not fitted: what its parameters are ``fit`` will see
    if lacking := missing(type(value), vars(value)):
        raise ValueError(f"{type(value).__name__} lacks {', '.join(lacking)}")
    if isinstance(value, StackEstimator):
        value.check_parameters()
    _check_parts(type(value), vars(value))
    of_the_user = value.get_params(deep=False)
    for name, part in vars(value).items():
        if name not in of_the_user and name not in _WITH_GAPS:
            _check_numbers(name, part)


def _check_parts(cls: type, values: Mapping[str, Any]) -> None:
    held, sizes = held_by(cls), Sizes()
    # In the order of the layout: what is said of sizes then does not depend on the file.
    for name in held:
        if name in values:
            held[name].check(name, values[name], sizes, True)


def _check_numbers(name: str, part: Any) -> None:
    if isinstance(part, tuple):
        for one in part:
            _check_numbers(name, one)
    is_number = isinstance(part, float | np.ndarray | np.floating)
    if is_number and np.asarray(part).dtype.kind in "fc" and not np.isfinite(part).all():
        raise ValueError(f"{name} is not finite")
