"""Checks of what is known of training matrices: labels and targets."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from spdatoms._utils import parameters as allow
from spdatoms._utils.arrays import in_order
from spdatoms._utils.typing import Array, Floats, Indices
from spdatoms._utils.warning import warn_user


@allow.checks(count=allow.integer(0))
def check_labels(y: ArrayLike, count: int) -> tuple[Array, Indices]:
    """Check the labels given to a classifier.

    Parameters
    ----------
    y : array-like of shape (count,)
        The labels.
    count : int
        The number of matrices.

    Returns
    -------
    classes : ndarray of shape (n_classes,)
        The different labels, sorted.
    indices : ndarray of shape (count,)
        For each label the index of its class.
    """
    labels = given_labels(y, count)
    classes, indices = np.unique(labels, return_inverse=True)
    if len(classes) == 1 and count > 1:
        warn_user(
            f"All {count} labels are {classes[0]!s}: a classifier that knows one class predicts "
            "nothing else. Check y.",
        )
    return classes, indices


def given_labels(y: ArrayLike, count: int) -> Array:
    """Return labels as an array (count,), one per matrix; what is no label is refused."""
    if y is None:
        raise ValueError(
            "A classifier requires y to be passed, but the target y is None: give a label for every matrix of X."
        )
    if hasattr(y, "to_numpy"):  # of pandas: scikit-learn would make floats of nullable integers
        y = y.to_numpy()
    try:
        labels = column_or_1d(y, warn=True)
        _refuse_missing(labels)
        check_classification_targets(labels)
    except (TypeError, ValueError) as error:
        raise ValueError(f"y must hold the label of a class for every matrix: {error}") from error
    if len(labels) != count:
        raise ValueError(f"X holds {count} matrices, but y {len(labels)} labels.")
    return np.asarray(labels)


def _refuse_missing(labels: Array) -> None:
    """Refuse objects that are None or NaN, which cannot be sorted with others, and numbers that are not finite."""
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        i = int(np.isfinite(labels).argmin())
        kind = "missing" if np.isnan(labels[i]) else "infinite"
        raise ValueError(f"y[{i}] is {kind} ({labels[i]}), leave its matrix out.")
    if labels.dtype == object:
        for i, label in enumerate(labels):
            if label is None or (isinstance(label, float) and np.isnan(label)):
                raise ValueError(f"y[{i}] is missing ({label}), leave its matrix out.")


@allow.checks(count=allow.integer(0))
def check_targets(y: ArrayLike, count: int) -> Floats:
    """Check the targets given to a regressor.

    Parameters
    ----------
    y : array-like of shape (count,) or (count, q)
        A number for each matrix, or q numbers.
    count : int
        The number of matrices.

    Returns
    -------
    ndarray of shape (count,) or (count, q), float64
        The targets.
    """
    if y is None:
        raise ValueError(
            "A regressor requires y to be passed, but the target y is None: give a number for every matrix of X."
        )
    targets = in_order(y)
    if targets.dtype.kind == "O":
        with suppress(OverflowError, TypeError, ValueError):
            targets = targets.astype(np.float64)
    if targets.dtype.kind not in "fiub":
        raise ValueError(
            f"y must hold real numbers, got the dtype {targets.dtype}: for labels take a classifier."
        )
    if targets.ndim not in (1, 2) or not targets.size:
        raise ValueError(f"y must have the shape (m,) or (m, q), got {targets.shape}.")
    if len(targets) != count:
        raise ValueError(f"X holds {count} matrices, but y {len(targets)} targets.")
    if not np.isfinite(targets).all():
        raise ValueError(
            f"y[{np.argwhere(~np.isfinite(targets))[0][0]}] is not finite: leave out what is NaN or infinity."
        )
    return np.array(targets, np.float64)
