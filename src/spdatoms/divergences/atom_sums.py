"""The centre of weighted matrices in two halves: sums that add up over parts of the data, then a step.

`Divergence.centre` moves one matrix to the stationary point of Σ_i w_i d(Z_i, D). A dictionary has
many atoms, and its data may be out of memory or on many machines. So here the sums over the Z_i are
separate from the step that follows from them, and are computed for many atoms at once. What they are is up to
the divergence:

=============  =======================================  ================================
Stein          P = Σ w (Z + D)⁻¹, s = Σ w               D → (s/2) P⁻¹
Jeffrey        P = Σ w Z⁻¹, Q = Σ w Z                   D → Q # P⁻¹
log-Euclidean  M = Σ w log Z, s = Σ w                   D → exp(M/s)
any other      G = Σ w ∂d(D, Z)/∂D                      D → exp_D(−G/h), h a curvature
=============  =======================================  ================================

With weights of both signs P or Q may leave the cone, so they are projected onto it. This is done in
the frame where D is the identity, so that the units of the variables do not matter. The gradient
of Σ w d(Z, D) follows from the same sums.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from spdatoms._utils.threads import block_slices
from spdatoms._utils.typing import FloatArray, Floats, Indices
from spdatoms.geometry import batched
from spdatoms.geometry.geodesics import AffineGeodesics, Geodesics, HermitianGeodesics
from spdatoms.geometry.half_vectors import tile_entries, unvech, vech
from spdatoms.geometry.hermitian import is_complex, real_form
from spdatoms.geometry.spectral import cholesky, congruence
from spdatoms.geometry.triangles import entry_weights
from spdatoms.native import lane_count
from spdatoms.native.interleave import flat, flat_order, lanes_of

#: The least eigenvalue that the projection onto the cone leaves, relative to the greatest.
FLOOR = 1e-6
#: Weights that cancel down to this fraction are taken to have no centre.
_LEAST_TOTAL = 1e-3
#: A divergence below this fraction of the others is rounding.
_ROUNDING = 1e-12
#: Bytes of gradients that are held at a time.
_BLOCK_BYTES = 4 << 20
_TINY = float(np.finfo(np.float64).tiny)


class AtomSums:
    """The part of a divergence that moves atoms: sums over weighted matrices, and geodesics that follow from them.

    The sums of an atom are a row of numbers: whatever `_parts` gives, then Σ w and Σ |w|. By default the parts
    are G = Σ w ∂d(D, Z)/∂D and h = Σ |w| ‖∂d/∂D‖²/2d. Near its minimum d is ½·c·δ² at the distance δ, and its
    gradient has the length c·δ. So ‖∂d/∂D‖²/2d is the curvature c there, and a fair guess elsewhere. Lengths are
    those in the frame of D. Of complex matrices the sums hold the real form of G.
    """

    #: Those of `Divergence`.
    prepare: Callable[..., Any]
    pairwise: Callable[..., Any]
    gradient: Callable[..., Any]

    def atom_sums(self, Z: Any, weights: scipy.sparse.csc_array, D: Floats) -> Floats:
        """Return the sums that move atoms; sums over parts of the data are added.

        Parameters
        ----------
        Z : PreparedSet
            m matrices.
        weights : csc_array of shape (m, B)
            The weights, one column per atom.
        D : ndarray of shape (B, n, n)
            The atoms.

        Returns
        -------
        ndarray of shape (B, k)
        """
        total = column_sums(weights)
        size = column_sums(with_values(weights, np.abs(weights.data)))
        return np.column_stack([self._parts(Z, weights, D), total, size])

    def towards_centre(self, sums: Floats, D: Floats) -> Geodesics:
        """Return the geodesics from the atoms to their centres, or to where a step towards them leads.

        Where the weights do not sum to a positive number there is no centre, and these geodesics may
        not be of use.

        Parameters
        ----------
        sums : ndarray of shape (B, k)
            What `atom_sums` returns.
        D : ndarray of shape (B, n, n)
            The atoms.

        Returns
        -------
        Geodesics
        """
        total = np.maximum(sums[:, -2], _LEAST_TOTAL * _sizes(sums))
        return self._towards_centre(sums[:, :-2], total, D)

    def downhill(self, sums: Floats, D: Floats) -> Geodesics:
        """Return the geodesics along the negative gradient of Σ w d(Z, D).

        At t = 1 the step is one over a bound (or an estimate) of the second derivative.

        Parameters
        ----------
        sums, D
            As in `towards_centre`.

        Returns
        -------
        Geodesics
        """
        return self._downhill(sums[:, :-2], sums[:, -2], _sizes(sums), D)

    def pairs(self, Z: Any, pattern: scipy.sparse.csc_array, D: Any) -> Floats:
        """Return d(Z_i, D_r) for the entries (i, r) of a pattern.

        Parameters
        ----------
        Z, D : PreparedSet
            m and B matrices.
        pattern : csc_array of shape (m, B)
            Its entries say which pairs.

        Returns
        -------
        ndarray of shape (number of entries,)
            In the order of the pattern.
        """
        values = self.pairwise(Z, D)
        return np.asarray(values[pattern.indices, columns_of_entries(pattern)])

    def _parts(self, Z: Any, weights: scipy.sparse.csc_array, D: Floats) -> Floats:
        """Return the sums that are particular to the divergence, one row per atom."""
        rows = []
        for r, atom in enumerate(D):
            column = slice(weights.indptr[r], weights.indptr[r + 1])
            rows.append(
                self._of_atom(Z.matrices, weights.indices[column], weights.data[column], atom)
            )
        return np.array(rows)

    def _of_atom(self, matrices: FloatArray, used: Any, weights: Floats, atom: Floats) -> Floats:
        L = cholesky(atom)
        prepared = self.prepare(atom[None])
        gradient, curvature = np.zeros_like(atom), 0.0
        for part in block_slices(len(used), max(1, _BLOCK_BYTES // atom.nbytes)):
            Z, w = matrices[used[part]], weights[part]
            (d,) = self.pairwise(prepared, self.prepare(Z))
            G = congruence(L, self.gradient(atom, Z))
            gradient += np.tensordot(w, G, 1)
            curvature += float(np.abs(w) @ _curvatures(G, d))
        return np.append(vech(real_form(gradient), weighted=True), curvature)

    def _towards_centre(self, parts: Floats, total: Floats, D: Floats) -> Geodesics:
        """Return the geodesics to the centres that follow from `_parts` and the sums of weights."""
        return self._downhill(parts, total, total, D)

    def _downhill(self, parts: Floats, total: Floats, size: Floats, D: Floats) -> Geodesics:
        """Return the geodesics downhill that follow from `_parts`, Σ w and Σ |w|."""
        G, curvature = unvech(parts[:, :-1], weighted=True), parts[:, -1, None, None]
        steps = np.divide(G, curvature, out=np.zeros_like(G), where=curvature > 0)
        geodesics = AffineGeodesics.whitened(real_form(cholesky(D)), -steps)
        return HermitianGeodesics(geodesics) if is_complex(D) else geodesics


def _curvatures(G: Floats, d: FloatArray) -> Floats:
    """Return ‖∂d‖²/2d, and zero where Z is D, but for rounding: there it would be 0/0."""
    squares = (np.abs(G) ** 2).sum(axis=(1, 2))
    apart = d > _ROUNDING * d.max()
    return np.asarray(np.divide(squares, 2.0 * d, out=np.zeros(len(d)), where=apart))


def _sizes(sums: Floats) -> Floats:
    return np.maximum(sums[:, -1], _TINY)


def floored(eigenvalues: Floats) -> Floats:
    """Return max(λ, floor·max|λ|) of sums whose weights have both signs: the projection onto the cone."""
    greatest = np.abs(eigenvalues).max(axis=-1, keepdims=True)
    floor = FLOOR * np.maximum(greatest, _TINY)
    return np.asarray(np.maximum(eigenvalues, floor))


# --- sums over the pairs (i, r) with w_ir ≠ 0 ------------------------------------------------------------
#
# A code uses a few atoms of many, so most pairs of a sample and an atom do not matter for the update of the atom, and
# are never touched. The matrices of the others are gathered into the lanes of one batch after another, so that a
# sparse code costs what its non-zeros cost.


def columns_of_entries(matrix: scipy.sparse.csc_array) -> Indices:
    """Return the column of every entry."""
    return np.repeat(np.arange(matrix.shape[1]), np.diff(matrix.indptr))


def with_values(matrix: scipy.sparse.csc_array, values: Floats) -> scipy.sparse.csc_array:
    """Return a matrix with the same pattern and other values."""
    return scipy.sparse.csc_array((values, matrix.indices, matrix.indptr), shape=matrix.shape)


def columns(matrix: scipy.sparse.csc_array, chosen: Indices) -> scipy.sparse.csc_array:
    """Return the weights of some atoms, which are columns, without a copy if that is all of them."""
    return matrix if len(chosen) == matrix.shape[1] else matrix[:, chosen]


def column_sums(matrix: scipy.sparse.csc_array) -> Floats:
    """Return the sums of the columns of sparse weights, one per atom."""
    sums = np.bincount(columns_of_entries(matrix), matrix.data, matrix.shape[1])
    return np.asarray(sums, np.float64)


def in_batches(
    matrix: scipy.sparse.csc_array,
) -> tuple[Indices, NDArray[np.bool_], Indices, Indices]:
    """Arrange the entries of a sparse matrix, column by column, a whole number of batches of lanes for each.

    Return which entry is in every lane, whether it is no copy that fills up the last batch of a column, and where the
    batches of each column begin and end.
    """
    lanes = lane_count(np.float64)
    starts = matrix.indptr.astype(np.int64)
    counts = np.diff(starts)
    batches = -(-counts // lanes)
    ends = np.cumsum(batches)
    begins = ends - batches
    room = batches * lanes
    place = np.arange(room.sum()) - np.repeat(begins * lanes, room)
    last = np.repeat(counts - 1, room)
    entries = np.repeat(starts[:-1], room) + np.minimum(place, last)
    return entries, place <= last, begins, ends


def weighted_inverse_sums(X: Floats, weights: scipy.sparse.csc_array, D: Floats) -> Floats:
    """Return Σ_i w_ir (X_i + D_r)⁻¹ as half-vectors with weights √2, shape (B, n(n+1)/2)."""
    sums, factors = scaled_inverse_sums(X, weights, D)
    _, rows, cols = tile_entries(X.shape[-1])
    return np.asarray(sums * entry_weights(rows, cols) * factors[:, None])


def scaled_inverse_sums(
    X: Floats, weights: scipy.sparse.csc_array, D: Floats
) -> tuple[Floats, Floats]:
    """Return Σ_i w_ir (f_r·(X_i + D_r))⁻¹ as half-vectors without weights, and the f_r.

    These are powers of two that bring atoms near one, where no reciprocal overflows.
    """
    entries, used, begins, ends = in_batches(weights)
    chosen = weights.indices[entries].astype(np.int64)
    return _summed(X, chosen, begins, ends, np.where(used, weights.data[entries], 0.0), D)


def scaled_inverse_sum(X: Floats, weights: Floats, D: Floats) -> tuple[Floats, Floats]:
    """Return the same for one D (n, n) and weights (m,) of all X."""
    chosen = lanes_of(len(X), lane_count(np.float64))
    own = np.zeros(len(chosen))
    own[: len(X)] = weights
    ends = np.array([len(chosen) // lane_count(np.float64)])
    return _summed(X, chosen, np.zeros(1, np.int64), ends, own, D[None])


def _summed(
    X: Floats, chosen: Indices, begins: Indices, ends: Indices, weights: Floats, D: Floats
) -> tuple[Floats, Floats]:
    """Return `scaled_inverse_sums` for the X that are ``chosen`` for the lanes of batches; each D has some of them."""
    factors = np.ldexp(1.0, -np.frexp(np.einsum("rii->r", D))[1])
    totals = np.zeros((len(D), len(flat_order(X.shape[-1]))))
    batched.add_weighted_inverses(D, factors, flat(X), chosen, begins, ends, weights, totals)
    if np.isnan(totals).any():
        raise ValueError("A sum X_i + D_r is not positive definite: ask check_spd about both.")
    return totals[:, tile_entries(X.shape[-1])[0]], factors
