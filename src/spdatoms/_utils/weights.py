"""Weights of samples and of classes: checked here, for all estimators."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from spdatoms._utils import parameters as allow
from spdatoms._utils.arrays import in_order
from spdatoms._utils.typing import Array, Floats, Indices

#: What the parameter ``class_weight`` may be.
CLASS_WEIGHT = (
    allow.NONE
    | allow.choice("balanced")
    | allow.Allowed(
        ("a dict of numbers ≥ 0 by class",),
        lambda value: isinstance(value, Mapping) and all(map(allow.real(0).test, value.values())),
    )
)
#: Which rows have a positive weight (all of them are a slice), and their weights: None if they are all the same.
Weighted: TypeAlias = tuple[Indices | slice, Floats | None]
#: Weights of less than this share of the greatest are zero.
_NEGLIGIBLE = 1e-100


def given_weights(sample_weight: ArrayLike | None, count: int) -> Floats:
    """Return the weights as they are given; ones for None."""
    if sample_weight is None:
        return np.ones(count)
    try:
        weights: Floats = in_order(sample_weight, np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError("sample_weight must be an array of real numbers.") from error
    if weights.shape != (count,):
        raise ValueError(f"sample_weight must have the shape ({count},), got {weights.shape}.")
    if not np.isfinite(weights).all() or (weights < 0).any() or not weights.any():
        raise ValueError("sample_weight must be finite, not negative, and not zero everywhere.")
    return weights


def check_weights(sample_weight: ArrayLike | None, count: int) -> Floats:
    """Return weights that sum to 1."""
    if sample_weight is None:
        return shares_of(None, count)
    weights = given_weights(sample_weight, count)
    # Divided by the greatest first: the sum of huge weights overflows.
    weights = weights / weights.max()
    return np.asarray(weights / weights.sum())


def relative_weights(sample_weight: ArrayLike | None, count: int) -> Weighted:
    """Return the rows with a positive weight, and their weights, relative to their mean.

    So only ratios of weights count, and samples of weight zero are as if they were not there.
    """
    return _relative(given_weights(sample_weight, count))


def labelled_weights(
    labels: Indices,
    classes: Array,
    sample_weight: ArrayLike | None,
    class_weight: str | Mapping[Any, float] | None = None,
) -> Weighted:
    """Return what `relative_weights` does, for weights of samples times those of their classes.

    ``"balanced"`` gives all classes the same sum. ValueError if all the weights of a class are zero.
    """
    weights = given_weights(sample_weight, len(labels))
    weights = weights / weights.max()
    if isinstance(class_weight, Mapping):
        weights = weights * _by_class(class_weight, classes)[labels]
    elif class_weight is not None:
        sums = np.bincount(labels, weights, len(classes))
        weights = weights / np.where(sums > 0, sums, 1.0)[labels]
    weighted = _relative(weights)
    present = np.bincount(labels[weighted[0]], minlength=len(classes)) > 0
    if not present.all():
        raise ValueError(
            f"All weights of the class {classes[present.argmin()]!s} are zero: leave the class out of X "
            "and y, or give one of its matrices a positive weight."
        )
    return weighted


def part_of(weights: Floats | None, rows: Indices | slice) -> Floats | None:
    """Return the weights of some rows; None if there are no weights."""
    return None if weights is None else weights[rows]


def shares_of(weights: Floats | None, count: int) -> Floats:
    """Return weights that sum to 1."""
    return np.full(count, 1.0 / count) if weights is None else weights / weights.sum()


def _relative(weights: Floats) -> Weighted:
    weights = weights / max(weights.max(), np.finfo(np.float64).tiny)
    positive = weights >= _NEGLIGIBLE
    rows = slice(0, len(weights)) if positive.all() else np.flatnonzero(positive)
    weights = weights[rows]
    same = not len(weights) or weights.min() == weights.max()
    return rows, None if same else np.asarray(weights / weights.mean())


def _by_class(class_weight: Mapping[Any, float], classes: Array) -> Floats:
    """Return the weight of each class; 1 for a class that is not named."""
    known = classes.tolist()
    unknown = [label for label in class_weight if label not in known]
    if unknown and not all(label in class_weight for label in known):
        raise ValueError(
            f"class_weight names {unknown[0]!r}, which is no label of y: the labels are "
            f"{allow.shown(known)}."
        )
    return np.array([float(class_weight.get(label, 1.0)) for label in known])
