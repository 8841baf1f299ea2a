"""How well the atoms of each class represent a query."""

from __future__ import annotations

import numpy as np

from spdatoms._utils.typing import FloatArray, Floats, Indices

RULES = ("residual", "sum", "max")


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


def check_rule(rule: str) -> None:
    """Refuse an unknown rule."""
    if rule not in RULES:
        raise ValueError(f"rule must be one of {', '.join(RULES)}; got {rule!r}.")
