"""How well the atoms of each class represent a query."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from spdatoms._utils.products import row_products, squared_distances
from spdatoms._utils.threads import block_slices
from spdatoms._utils.typing import Array, FloatArray, Floats, Indices
from spdatoms._utils.warning import warn_of_share
from spdatoms.exceptions import ZeroCodeWarning
from spdatoms.native import kernel

RULES = ("residual", "sum", "max")
#: The rule of `class_means`, which needs no codes.
MEAN = "mean"
#: Up to this share, or this number, of non-zeros pairs of them are summed one by one.
_FEW_SHARE, _FEW = 0.6, 128
#: Queries whose distances to all atoms are computed at a time.
_DISTANCE_BLOCK = 64

_class_residuals = kernel("class_residuals", "DDDIqqqqDB")


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


def contributions_of_codes(
    codes: FloatArray,
    gram: FloatArray,
    cross: FloatArray,
    atom_classes: Indices,
    rule: str,
    to_atoms: Callable[[NDArray[np.bool_]], FloatArray],
) -> Floats:
    """Return what each atom adds to `scores_of_codes`, shape (m, N)."""
    added = class_contributions(codes, gram, cross, atom_classes, rule)
    zero: NDArray[np.bool_] = ~np.any(codes, axis=1)
    if zero.any():
        added[zero] = nearest_atom_contributions(to_atoms(zero), atom_classes)
    return added


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
    if rule == "sum":
        return class_sums(np.asarray(codes, np.float64), *class_members(atom_classes, n_classes))
    there = np.bincount(atom_classes, minlength=n_classes) > 0
    scores = np.zeros((len(codes), n_classes))
    many = np.ones(len(codes), np.bool_)
    if rule == "residual":
        codes, gram, cross = (np.ascontiguousarray(A, np.float64) for A in (codes, gram, cross))
        classes = np.ascontiguousarray(atom_classes, np.int64)
        most = max(_FEW, int(_FEW_SHARE * codes.shape[1]))
        _class_residuals(codes, gram, cross, classes, *codes.shape, n_classes, most, scores, many)
        if not many.any() and there.all():
            return scores
    rows: Any = slice(None) if many.all() else np.flatnonzero(many)
    codes, cross = codes[rows], cross[rows]
    for c in np.unique(atom_classes) if len(codes) else ():
        atoms = np.flatnonzero(atom_classes == c)
        # Row after row in memory: sums of columns taken from others may depend on the number of rows.
        y = np.ascontiguousarray(codes[:, atoms])
        if rule == "residual":
            residual = 2.0 * cross[:, atoms] - row_products(y, gram[np.ix_(atoms, atoms)])
            scores[rows, c] = np.ascontiguousarray(y * residual).sum(axis=1)
        else:
            scores[rows, c] = y.max(axis=1)
    scores[:, ~there] = -np.inf
    return scores


def class_members(atom_classes: Indices, n_classes: int) -> tuple[Floats, NDArray[np.bool_]]:
    """Return which atoms belong to which class, as zeros and ones (N, n_classes), and which classes have atoms."""
    members = atom_classes[:, None] == np.arange(n_classes)
    return members.astype(np.float64), members.any(axis=0)


def class_sums(codes: Floats, members: Floats, there: NDArray[np.bool_]) -> Floats:
    """Return the sums of codes (m, N) over the classes; −inf for a class without atoms."""
    sums: Floats = row_products(codes, members)
    if not there.all():
        sums[:, ~there] = -np.inf
    return sums


def class_contributions(
    codes: FloatArray, gram: FloatArray, cross: FloatArray, atom_classes: Indices, rule: str
) -> Floats:
    """Return what each atom adds to the score of its class, shape (m, N): `class_scores` are sums over classes.

    It is y_j (2k − K_cc y_c)_j for the residual rule, where K_cc are kernel values within the class; y_j for the
    sum; and y_j for the greatest entry of each class alone for the maximum.
    """
    if rule == "sum":
        return np.array(codes, np.float64)
    added = np.zeros(codes.shape)
    for c in np.unique(atom_classes):
        atoms = np.flatnonzero(atom_classes == c)
        y = np.ascontiguousarray(codes[:, atoms])
        if rule == "residual":
            added[:, atoms] = y * (
                2.0 * cross[:, atoms] - row_products(y, gram[np.ix_(atoms, atoms)])
            )
        else:
            added[np.arange(len(y)), atoms[y.argmax(axis=1)]] = y.max(axis=1)
    return added


def class_score_vjp(
    codes: Floats, gram: Floats, cross: Floats, atom_classes: Indices, rule: str, weights: Floats
) -> tuple[Floats, Floats]:
    """Return the gradients of Σ_c w_c s_c in the codes and in the kernel values, for weights w (m, n_classes).

    They are w_c (2k − 2K_cc y_c)_j and 2 w_c y_j for the residual rule; w_c for the sum, and for the greatest entry of
    the class alone (the first of equals) for the maximum.
    """
    own, in_cross = weights[:, atom_classes], np.zeros(codes.shape)
    if rule == "sum":
        return own, in_cross
    in_codes = np.zeros(codes.shape)
    for c in np.unique(atom_classes):
        atoms = np.flatnonzero(atom_classes == c)
        y = np.ascontiguousarray(codes[:, atoms])
        if rule == "residual":
            in_codes[:, atoms] = 2.0 * (cross[:, atoms] - y @ gram[np.ix_(atoms, atoms)])
            in_cross[:, atoms] = 2.0 * y
        else:
            in_codes[np.arange(len(y)), atoms[y.argmax(axis=1)]] = 1.0
    return own * in_codes, own * in_cross


def class_means(
    gram: FloatArray, atom_classes: Indices, n_classes: int, weights: Floats | None = None
) -> tuple[Floats, Floats]:
    """Return W (N, n_classes) and b (n_classes,): kᵀW + b tells how near a query is to the mean m_c of each class.

    It is 2⟨φ(X), m_c⟩ − ‖m_c‖² = ‖φ(X)‖² − ‖φ(X) − m_c‖², the greatest is the best, and −inf for a class without
    atoms. With a kernel of whitened divergences and a small β this is a linear discriminant. Atoms may have
    weights in the means.
    """
    own = np.ones(len(atom_classes)) if weights is None else weights
    totals = np.bincount(atom_classes, own, n_classes)
    shares = np.zeros((len(atom_classes), n_classes))
    shares[np.arange(len(atom_classes)), atom_classes] = own / totals[atom_classes]
    norms = np.einsum("jc,jc->c", shares, gram @ shares)
    return 2.0 * shares, np.where(totals > 0, -norms, -np.inf)


def scores_of_feature_codes(
    codes: scipy.sparse.csr_array,
    features: Floats,
    atoms: Floats,
    atom_classes: Indices,
    n_classes: int,
    rule: str,
) -> tuple[Floats, NDArray[np.bool_]]:
    """Return what `scores_of_codes` does, for queries and atoms that are vectors.

    Where a code is zero, the distances ‖x − p_j‖² take the place of divergences.

    Parameters
    ----------
    codes : csr_array of shape (m, N)
        The codes of the queries.
    features, atoms : ndarray of shape (m, r) and (N, r)
        The queries x, and the atoms p_j.
    atom_classes, n_classes, rule
        As in `scores_of_codes`.

    Returns
    -------
    tuple of ndarray
        Scores, and which codes are all zero, as in `scores_of_codes`.
    """
    scores = feature_class_scores(codes, features, atoms, atom_classes, n_classes, rule)
    zero: NDArray[np.bool_] = np.diff(codes.indptr) == 0
    unexplained = np.flatnonzero(zero)
    for part in block_slices(len(unexplained), _DISTANCE_BLOCK):
        some = unexplained[part]
        scores[some] = nearest_atom_scores(
            squared_distances(features[some], atoms), atom_classes, n_classes
        )
    return scores, zero


def feature_class_scores(
    codes: scipy.sparse.csr_array,
    features: Floats,
    atoms: Floats,
    atom_classes: Indices,
    n_classes: int,
    rule: str,
) -> Floats:
    """Return `class_scores` for queries x and atoms p_j that are vectors.

    With v_c = Σ_{j∈c} y_j p_j the residual rule gives 2⟨v_c, x⟩ − ‖v_c‖². A class without non-zeros
    has the score zero.
    """
    queries = np.repeat(np.arange(codes.shape[0]), np.diff(codes.indptr))
    pairs, of = np.unique(queries * n_classes + atom_classes[codes.indices], return_inverse=True)
    query, of_class = np.divmod(pairs, n_classes)
    if rule == "residual":
        parts = scipy.sparse.csr_array(
            (codes.data, (of, codes.indices)), shape=(len(pairs), len(atoms))
        )
        explained = np.asarray(parts @ atoms)
        values = np.einsum("ij,ij->i", explained, 2.0 * features[query] - explained)
    elif rule == "sum":
        values = np.bincount(of, codes.data, len(pairs))
    else:
        values = np.full(len(pairs), -np.inf)
        np.maximum.at(values, of, codes.data)
        # The atoms of a class that are not in the code have zeros.
        some_are_zero = np.bincount(of, minlength=len(pairs)) < np.bincount(atom_classes)[of_class]
        values[some_are_zero] = np.maximum(values[some_are_zero], 0.0)
    scores = np.zeros((codes.shape[0], n_classes))
    scores[query, of_class] = values
    return scores


def feature_contributions(
    codes: scipy.sparse.csr_array,
    features: Floats,
    atoms: Floats,
    atom_classes: Indices,
    rule: str,
) -> Floats:
    """Return `class_contributions` for queries and atoms that are vectors, and distances where a code is zero."""
    added = np.zeros(codes.shape)
    for i, query in enumerate(features):
        own = slice(codes.indptr[i], codes.indptr[i + 1])
        used, y = codes.indices[own], codes.data[own]
        if not len(used):
            distances = squared_distances(query[None], atoms)
            added[i] = nearest_atom_contributions(distances, atom_classes)[0]
        elif rule == "max":  # which may be that of an atom that is not in the code
            dense = codes[[i]].toarray()
            added[i] = class_contributions(dense, atoms, dense, atom_classes, rule)[0]
        else:
            P = atoms[used]
            added[i, used] = class_contributions(
                y[None], P @ P.T, (P @ query)[None], atom_classes[used], rule
            )[0]
    return added


def nearest_atom_scores(divergences: FloatArray, atom_classes: Indices, n_classes: int) -> Floats:
    """Return minus the least divergence to an atom of each class, shape (m, n_classes)."""
    scores = np.full((len(divergences), n_classes), -np.inf)
    for c in np.unique(atom_classes):
        scores[:, c] = -divergences[:, atom_classes == c].min(axis=1)
    return scores


def nearest_atom_contributions(divergences: FloatArray, atom_classes: Indices) -> Floats:
    """Return minus the divergence of the nearest atom of each class, and zero for the other atoms, shape (m, N)."""
    added = np.zeros(divergences.shape)
    for c in np.unique(atom_classes):
        atoms = np.flatnonzero(atom_classes == c)
        nearest = atoms[divergences[:, atoms].argmin(axis=1)]
        rows = np.arange(len(divergences))
        added[rows, nearest] = -divergences[rows, nearest]
    return added


def warn_of_zero_codes(count: int, total: int) -> None:
    """Warn that some queries were classified by their nearest atom, if there are such."""
    warn_of_share(
        count,
        total,
        "queries have an all-zero code and were given the class of their nearest atom: alpha or beta is too "
        "large for them.",
        ZeroCodeWarning,
    )


def decision_values(scores: Floats) -> Floats:
    """Return scores (m, n_classes) as scikit-learn has them: of two classes, the difference (m,)."""
    return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores


def prior_answers(
    classes: Array, labels: Indices, weights: Floats | None, sharpness: float = 1.0
) -> dict[str, Array]:
    """Return what a classifier says of a matrix of which nothing is known: the weighted shares p of its classes.

    Its scores are log(p) divided by the sharpness that they are multiplied by before their softmax.
    """
    shares = np.bincount(labels, weights, len(classes))[None]
    shares = shares / shares.sum()
    scores = np.log(shares) / sharpness
    return {
        "predict": classes[shares.argmax(axis=1)],
        "predict_proba": shares,
        "decision_function": decision_values(scores),
    }
