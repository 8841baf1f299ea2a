"""How well the atoms of each class represent a query."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from spdatoms._utils.products import row_products, squared_distances
from spdatoms._utils.threads import block_slices
from spdatoms._utils.typing import FloatArray, Floats, Indices
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

#: What returns the divergences to the atoms of the queries in a mask.
ToAtoms: TypeAlias = Callable[[NDArray[np.bool_]], FloatArray]

_class_residuals = kernel("class_residuals", "DDDIqqqqDB")


@dataclass(frozen=True)
class ClassRule:
    """How the classes of labelled atoms are judged by the codes of queries over them.

    Attributes
    ----------
    rule : {"residual", "sum", "max"}
        With y_c the code restricted to the atoms of class c: the residual rule gives
        2 y_cᵀk − y_cᵀKy_c = ‖φ(X)‖² − ‖φ(X) − Σ_{j∈c} y_j φ(D_j)‖², the others Σ y_c and max y_c.
    atom_classes : ndarray of shape (N,)
        The class of every atom.
    n_classes : int
        The number of classes.
    """

    rule: str
    atom_classes: Indices
    n_classes: int

    @cached_property
    def _indicators(self) -> Floats:
        """Which atoms belong to which class, zeros and ones of shape (N, n_classes)."""
        members = self.atom_classes[:, None] == np.arange(self.n_classes)
        return np.asarray(members, np.float64)

    @cached_property
    def _missing(self) -> NDArray[np.bool_]:
        """Which classes have no atoms."""
        return np.asarray(np.bincount(self.atom_classes, minlength=self.n_classes) == 0)

    def _atoms(self) -> Iterator[tuple[int, Indices]]:
        """Yield the classes that have atoms, with the indices of these."""
        for c in np.flatnonzero(~self._missing):
            yield int(c), np.flatnonzero(self.atom_classes == c)

    def scores(self, codes: FloatArray, gram: FloatArray, cross: FloatArray) -> Floats:
        """Return how well each class represents each query, greatest best, shape (m, n_classes).

        Queries have codes (m, N) and kernel values (m, N) with the atoms, atoms the kernel values (N, N). A class
        without atoms has −inf.
        """
        codes = np.ascontiguousarray(codes, np.float64)
        if self.rule == "sum":
            scores: Floats = row_products(codes, self._indicators)
        else:
            scores, many = np.zeros((len(codes), self.n_classes)), np.ones(len(codes), np.bool_)
            if self.rule == "residual":
                gram, cross = (np.ascontiguousarray(A, np.float64) for A in (gram, cross))
                classes = np.ascontiguousarray(self.atom_classes, np.int64)
                sizes = *codes.shape, self.n_classes, max(_FEW, int(_FEW_SHARE * codes.shape[1]))
                _class_residuals(codes, gram, cross, classes, *sizes, scores, many)
            if many.any():
                added = self.contributions(codes[many], gram, cross[many])
                for c, atoms in self._atoms():
                    # Row after row in memory: sums of columns taken from others may depend on the number of rows.
                    scores[many, c] = np.ascontiguousarray(added[:, atoms]).sum(axis=1)
        if self._missing.any():
            scores[:, self._missing] = -np.inf
        return scores

    def contributions(self, codes: FloatArray, gram: FloatArray, cross: FloatArray) -> Floats:
        """Return what each atom adds to the score of its class, shape (m, N): `scores` are sums over classes.

        It is y_j (2k − K_cc y_c)_j for the residual rule, where K_cc are kernel values within the class; y_j for the
        sum; and y_j for the greatest entry of each class alone for the maximum.
        """
        if self.rule == "sum":
            return np.array(codes, np.float64)
        added = np.zeros(codes.shape)
        for _, atoms in self._atoms():
            y = np.ascontiguousarray(codes[:, atoms])
            if self.rule == "residual":
                explained = row_products(y, gram[np.ix_(atoms, atoms)])
                added[:, atoms] = y * (2.0 * cross[:, atoms] - explained)
            else:
                added[np.arange(len(y)), atoms[y.argmax(axis=1)]] = y.max(axis=1)
        return added

    def vjp(
        self, codes: Floats, gram: Floats, cross: Floats, weights: Floats
    ) -> tuple[Floats, Floats]:
        """Return the gradients of Σ_c w_c s_c in the codes and in the kernel values, for weights w (m, n_classes).

        They are w_c (2k − 2K_cc y_c)_j and 2 w_c y_j for the residual rule; w_c for the sum, and for the greatest entry
        of the class alone (the first of equals) for the maximum.
        """
        own, in_cross = weights[:, self.atom_classes], np.zeros(codes.shape)
        if self.rule == "sum":
            return own, in_cross
        in_codes = np.zeros(codes.shape)
        for _, atoms in self._atoms():
            y = np.ascontiguousarray(codes[:, atoms])
            if self.rule == "residual":
                in_codes[:, atoms] = 2.0 * (cross[:, atoms] - y @ gram[np.ix_(atoms, atoms)])
                in_cross[:, atoms] = 2.0 * y
            else:
                in_codes[np.arange(len(y)), atoms[y.argmax(axis=1)]] = 1.0
        return own * in_codes, own * in_cross

    def scores_or_nearest(
        self, codes: FloatArray, gram: FloatArray, cross: FloatArray, to_atoms: ToAtoms
    ) -> tuple[Floats, NDArray[np.bool_]]:
        """Return `scores`, but `nearest_atom_scores` where a code is zero and says nothing; and where that is.

        ``to_atoms``, called with a mask (m,) of queries, returns their divergences to the atoms.
        """
        scores, zero = self.scores(codes, gram, cross), ~np.any(codes, axis=1)
        if zero.any():
            scores[zero] = nearest_atom_scores(to_atoms(zero), self.atom_classes, self.n_classes)
        return scores, zero

    def contributions_or_nearest(
        self, codes: FloatArray, gram: FloatArray, cross: FloatArray, to_atoms: ToAtoms
    ) -> Floats:
        """Return what each atom adds to `scores_or_nearest`, shape (m, N)."""
        added, zero = self.contributions(codes, gram, cross), ~np.any(codes, axis=1)
        if zero.any():
            added[zero] = nearest_atom_contributions(to_atoms(zero), self.atom_classes)
        return added

    def feature_scores(
        self, codes: scipy.sparse.csr_array, features: Floats, atoms: Floats
    ) -> tuple[Floats, NDArray[np.bool_]]:
        """Return what `scores_or_nearest` does, for queries x (m, r) and atoms p_j (N, r) that are vectors.

        With v_c = Σ_{j∈c} y_j p_j the residual rule gives 2⟨v_c, x⟩ − ‖v_c‖². A class without non-zeros
        has the score zero. Where a code is zero, the distances ‖x − p_j‖² take the place of divergences.
        """
        classes, n_classes = self.atom_classes, self.n_classes
        queries = np.repeat(np.arange(codes.shape[0]), np.diff(codes.indptr))
        pairs, of = np.unique(queries * n_classes + classes[codes.indices], return_inverse=True)
        query, of_class = np.divmod(pairs, n_classes)
        if self.rule == "residual":
            shape = len(pairs), len(atoms)
            parts = scipy.sparse.csr_array((codes.data, (of, codes.indices)), shape=shape)
            explained = np.asarray(parts @ atoms)
            values = np.einsum("ij,ij->i", explained, 2.0 * features[query] - explained)
        elif self.rule == "sum":
            values = np.bincount(of, codes.data, len(pairs))
        else:
            values = np.full(len(pairs), -np.inf)
            np.maximum.at(values, of, codes.data)
            # The atoms of a class that are not in the code have zeros.
            some_are_zero = np.bincount(of, minlength=len(pairs)) < np.bincount(classes)[of_class]
            values[some_are_zero] = np.maximum(values[some_are_zero], 0.0)
        scores = np.zeros((codes.shape[0], n_classes))
        scores[query, of_class] = values
        zero = np.diff(codes.indptr) == 0
        unexplained = np.flatnonzero(zero)
        for part in block_slices(len(unexplained), _DISTANCE_BLOCK):
            distances = squared_distances(features[unexplained[part]], atoms)
            scores[unexplained[part]] = nearest_atom_scores(distances, classes, n_classes)
        return scores, zero

    def feature_contributions(
        self, codes: scipy.sparse.csr_array, features: Floats, atoms: Floats
    ) -> Floats:
        """Return what each atom adds to `feature_scores`, shape (m, N)."""
        added = np.zeros(codes.shape)
        for i, query in enumerate(features):
            own = slice(codes.indptr[i], codes.indptr[i + 1])
            used, y = codes.indices[own], codes.data[own]
            if not len(used):
                distances = squared_distances(query[None], atoms)
                added[i] = nearest_atom_contributions(distances, self.atom_classes)[0]
            elif self.rule == "max":  # which may be that of an atom that is not in the code
                dense = codes[[i]].toarray()
                added[i] = self.contributions(dense, atoms, dense)[0]
            else:
                P, among = atoms[used], replace(self, atom_classes=self.atom_classes[used])
                added[i, used] = among.contributions(y[None], P @ P.T, (P @ query)[None])[0]
        return added


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
