"""Which channels matrices have: a channel k that is missing in X_i is a row and a column k of NaN."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spdatoms._utils.arrays import in_order
from spdatoms._utils.typing import FloatArray
from spdatoms.geometry.validation import Unfit, as_float, check_stack, find_unfit

#: Whether a channel is there: for all matrices (n,), or for each (m, n).
Mask: TypeAlias = NDArray[np.bool_]


def known_channels(X: FloatArray) -> Mask:
    """Return which channels each of the matrices X (m, n, n) has, shape (m, n)."""
    known = ~np.isnan(X.diagonal(axis1=1, axis2=2))
    if known.all():
        return known
    doubtful = np.flatnonzero(~known.all(axis=1))
    entries = np.isnan(X[doubtful])
    # NaN in a part of a row is no missing channel, but a mistake.
    known[doubtful] = ~(entries.all(axis=1) & entries.all(axis=2))
    return known


def check_incomplete(X: ArrayLike, name: str = "X") -> tuple[FloatArray, Mask]:
    """Return matrices as `check_spd` does, but they may lack channels, and the mask (m, n) of those that they have."""
    X = as_float(X, name)
    check_stack(X, name)
    known = known_channels(X)
    find_unfit_channels(X, known).raise_if_any(name, X.shape[:1])
    return X, known


def given_channels(channels: ArrayLike, m: int, n: int) -> Mask:
    """Return the argument ``channels`` as a mask (n,), or (m, n) if it differs between matrices."""
    given = in_order(channels)
    if given.dtype == np.bool_ and given.shape in ((n,), (m, n)):
        return given
    mask = np.zeros(n, np.bool_)
    if given.dtype.kind in "iu" and given.ndim == 1:
        if len(given) and (given.min() < 0 or given.max() >= n):
            raise ValueError(f"channels must be between 0 and {n - 1}, got {given.tolist()}.")
        mask[given] = True
        if mask.sum() == len(given):
            return mask
    raise ValueError(
        f"channels must be a list of different indices (names are not known here), or a mask of shape ({n},) "
        f"or ({m}, {n}), got the dtype {given.dtype} and the shape {given.shape}."
    )


def patterns(known: Mask) -> Iterator[tuple[Mask, NDArray[np.intp]]]:
    """Yield the different rows of a mask (m, n), and the matrices that have each."""
    different, which = np.unique(known, axis=0, return_inverse=True)
    order = np.argsort(which.ravel(), kind="stable")
    ends = np.cumsum(np.bincount(which.ravel(), minlength=len(different)))
    yield from zip(different, np.split(order, ends[:-1]), strict=True)


def cut(X: FloatArray, known: Mask) -> FloatArray:
    """Return the matrices X (m, n, n) with the channels that a mask (n,) knows."""
    channels = np.flatnonzero(known)
    return np.ascontiguousarray(X[:, channels[:, None], channels])


def find_unfit_channels(X: FloatArray, known: Mask) -> Unfit:
    """Return which of the matrices X are not SPD on the channels that they have, by a mask (m, n)."""
    found = []
    for mask, rows in patterns(known):
        if mask.any():
            unfit = find_unfit(cut(X[rows], mask), np.flatnonzero(mask))
            if unfit.count:
                found.append(Unfit(int(rows[unfit.first]), unfit.complaint, unfit.count))
    return sum(sorted(found, key=lambda unfit: unfit.first), Unfit())


def regressed(X: FloatArray, known: Mask, models: FloatArray) -> FloatArray:
    """Return matrices completed by regression: X_mo = A X_oo, X_mm = A X_oo Aᵀ + R.

    A = S_mo S_oo⁻¹ and R = S_mm − A S_om are those of a model S, so that the result is SPD if S and X_oo are. The
    known entries X_oo stay what they are.

    Parameters
    ----------
    X : ndarray of shape (m, n, n)
        Matrices with the same channels.
    known : ndarray of bool, shape (n,)
        Which channels these are.
    models : ndarray of shape (m, n, n) or (n, n)
        S of each, or one for all.

    Returns
    -------
    ndarray of shape (m, n, n)
    """
    o, m = np.flatnonzero(known), np.flatnonzero(~known)
    S_oo, S_om = models[..., o[:, None], o], models[..., o[:, None], m]
    A = np.linalg.solve(S_oo, S_om).conj().swapaxes(-1, -2)
    R = models[..., m[:, None], m] - A @ S_om
    X_oo = X[:, o[:, None], o]
    X_mo = A @ X_oo
    X_mm = X_mo @ A.conj().swapaxes(-1, -2) + R
    found = np.empty(X.shape, np.result_type(X, models))
    found[:, o[:, None], o] = X_oo
    found[:, m[:, None], o] = X_mo
    found[:, o[:, None], m] = X_mo.conj().swapaxes(-1, -2)
    found[:, m[:, None], m] = 0.5 * (X_mm + X_mm.conj().swapaxes(-1, -2))
    return found
