"""How well the atoms of each class represent a query."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from spdatoms._utils.typing import FloatArray, Floats, Indices
from spdatoms.exceptions import ZeroCodeWarning

RULES = ("residual", "sum", "max")


def scores_of_codes(
    codes: FloatArray,
    gram: FloatArray,
    cross: FloatArray,
    atom_classes: Indices,
    n_classes: int,
    rule: str,
    to_atoms: Callable[[NDArray[np.bool_]], FloatArray],
) -> tuple[Floats, NDArray[np.bool_]]:
    """Return `class_scores`, but `nearest_atom_scores` where a code is zero and says nothing.

    Parameters
    ----------
    codes, cross : ndarray of shape (m, N)
        The codes of the queries, and their kernel values with the atoms.
    gram : ndarray of shape (N, N)
        The kernel values between the atoms.
    atom_classes : ndarray of shape (N,)
        The class of every atom.
    n_classes : int
        The number of classes.
    rule : {"residual", "sum", "max"}
        As in `class_scores`.
    to_atoms : callable
        Called with a mask (m,) of queries, it returns their divergences to the atoms.

    Returns
    -------
    scores : ndarray of shape (m, n_classes)
        The greatest is the best.
    zero : ndarray of bool of shape (m,)
        Which queries have an all-zero code.
    """
    scores = class_scores(codes, gram, cross, atom_classes, n_classes, rule)
    zero: NDArray[np.bool_] = ~np.any(codes, axis=1)
    if zero.any():
        scores[zero] = nearest_atom_scores(to_atoms(zero), atom_classes, n_classes)
    return scores, zero


def class_scores(
    codes: FloatArray,
    gram: FloatArray,
    cross: FloatArray,
    atom_classes: Indices,
    n_classes: int,
    rule: str,
) -> Floats:
    """Return how well each class represents each query, greatest best, shape (m, n_classes).

    With y_c the code restricted to the atoms of class c: the residual rule gives
    2 y_cᵀk − y_cᵀKy_c = ‖φ(X)‖² − ‖φ(X) − Σ_{j∈c} y_j φ(D_j)‖², the others Σ y_c and max y_c.
    """
    scores = np.zeros((len(codes), n_classes))
    for c in range(n_classes):
        atoms = np.flatnonzero(atom_classes == c)
        if not len(atoms):
            scores[:, c] = -np.inf
            continue
        y = codes[:, atoms]
        if rule == "residual":
            residual = 2.0 * cross[:, atoms] - y @ gram[np.ix_(atoms, atoms)]
            scores[:, c] = np.einsum("ij,ij->i", y, residual)
        else:
            scores[:, c] = y.sum(axis=1) if rule == "sum" else y.max(axis=1)
    return scores


def nearest_atom_scores(divergences: FloatArray, atom_classes: Indices, n_classes: int) -> Floats:
    """Return minus the least divergence to an atom of each class, shape (m, n_classes)."""
    scores = np.full((len(divergences), n_classes), -np.inf)
    for c in np.unique(atom_classes):
        scores[:, c] = -divergences[:, atom_classes == c].min(axis=1)
    return scores


def warn_of_zero_codes(count: int, total: int, stacklevel: int = 4) -> None:
    """Warn that some queries were classified by their nearest atom."""
    warnings.warn(
        f"{count} of {total} queries have an all-zero code and were given the class of their nearest "
        "atom: alpha or beta is too large for them.",
        ZeroCodeWarning,
        stacklevel=stacklevel,
    )
