"""Data with its codes, and the passes over it that dictionary learning makes.

The learner sees the data only through these passes, and each is a sum over parts of the data. So the same
algorithm learns from data that is not in memory, with the passes of a stream: `spdatoms.scale`. Neither
the parts nor the tree along which their terms are added depend on the number of threads. So neither does
the result.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

from spdatoms._utils.threads import map_in_threads
from spdatoms._utils.typing import FloatArray, Floats, Indices
from spdatoms._utils.weights import part_of
from spdatoms.dictionary._samples import SamplesInMemory
from spdatoms.divergences.atom_sums import AtomSums
from spdatoms.divergences.sparse_pairs import column_sums, columns, columns_of_entries, with_values
from spdatoms.geometry.hermitian import as_double
from spdatoms.kernels.values import kernel_in_place
from spdatoms.lasso.solve import sparse_code
from spdatoms.scale.parts import added

#: Share of non-zeros above which YᵀY is faster as a dense product.
_DENSE_CODES = 0.15


@dataclass(frozen=True)
class Lasso:
    """What the codes are asked for: the penalty α of ‖y‖₁, and whether y ≥ 0."""

    alpha: float
    positive: bool = False


def with_weights(losses: Floats, weights: Floats | None) -> Floats:
    """Return w_i f(y_i)."""
    return losses if weights is None else np.asarray(weights * losses)


@dataclass
class Part:
    """Consecutive samples with their codes Y, and the kernel values where Y ≠ 0.

    Attributes
    ----------
    prepared : object
        What `AtomSums.prepare` makes of the samples.
    columns : csc_array
        Y by columns, that is by atoms.
    kernel : ndarray
        k(X_i, D_r) for the entries of Y, in their order.
    losses : ndarray
        w_i f(y_i) of every sample.
    weights : ndarray or None
        The weights w_i of the samples; None is ones.
    """

    prepared: Any
    columns: scipy.sparse.csc_array
    kernel: Floats
    losses: Floats
    weights: Floats | None = None

    @classmethod
    def uncoded(
        cls, prepared: Any, codes: scipy.sparse.csr_array, weights: Floats | None = None
    ) -> Part:
        """Return samples whose coding is to start from these codes."""
        unknown = np.full(codes.shape[0], np.inf)
        return cls(prepared, codes.tocsc(), np.zeros(codes.nnz), unknown, weights)

    def code(self, divergence: Any, beta: float, gram: Floats, atoms: Any, lasso: Lasso) -> float:
        """Code every sample, each from its last code, over prepared atoms; return Σ_i w_i f(y_i)."""
        cross = kernel_in_place(divergence.pairwise(self.prepared, atoms), beta)
        codes, certificate = sparse_code(
            gram,
            cross,
            lasso.alpha,
            positive=lasso.positive,
            init=self.columns.toarray(),
            check_gram=False,
            return_certificate=True,
        )
        self.columns = sparse_rows(codes).tocsc()
        self.kernel = cross[self.columns.indices, columns_of_entries(self.columns)]
        self.losses = with_weights(certificate.objective, self.weights)
        return float(self.losses.sum())

    def _times_weights(
        self, Y: scipy.sparse.csc_array, values: Floats, power: float = 1.0
    ) -> scipy.sparse.csc_array:
        """Return values in the pattern of Y, multiplied by powers of the weights of their samples."""
        if self.weights is not None:
            values = values * self.weights[Y.indices] ** power
        return with_values(Y, values)

    def code_gram(self) -> Floats:
        """Return YᵀWY."""
        return code_products(self._times_weights(self.columns, self.columns.data, 0.5))

    def weighted_kernel(self) -> scipy.sparse.csc_array:
        """Return w_i Y_ir k(X_i, D_r)."""
        return self._times_weights(self.columns, self.columns.data * self.kernel)

    def correlations(self) -> Floats:
        """Return Σ_i w_i Y_ir k(X_i, D_r) for every atom."""
        return column_sums(self.weighted_kernel())

    def weighted_sums(self, sums: AtomSums, block: Indices, D: Floats) -> Floats:
        """Return the sums weighted by w_i Y_ir k(X_i, D_r) for the atoms of a block."""
        return sums.sums(self.prepared, columns(self.weighted_kernel(), block), D[block])

    def correlations_of(
        self, sums: AtomSums, beta: float, block: Indices, candidates: list[Any]
    ) -> Floats:
        """Return Σ_i w_i Y_ir k(X_i, C_r) for the atoms of a block at every prepared candidate."""
        Y = columns(self.columns, block)
        correlations = []
        for C in candidates:
            kernel = kernel_in_place(sums.pairs(self.prepared, Y, C), beta)
            correlations.append(column_sums(self._times_weights(Y, Y.data * kernel)))
        return np.array(correlations)


class CodedData(SamplesInMemory):
    """Samples in memory, cut into parts.

    Parameters
    ----------
    X : ndarray of shape (m, n, n)
        The samples.
    sums : AtomSums
        The divergence's sums.
    beta : float
        The β of the kernel.
    n_atoms : int
        The length of a code.
    n_jobs : int or None
        The number of threads.
    weights : ndarray of shape (m,) or None
        The weights of the samples; None is ones.
    """

    def __init__(
        self,
        X: FloatArray,
        sums: AtomSums,
        beta: float,
        n_atoms: int,
        n_jobs: int | None,
        weights: Floats | None = None,
    ) -> None:
        super().__init__(X, n_atoms, n_jobs)
        self.sums, self.beta = sums, beta
        empty = scipy.sparse.csr_array((len(X), n_atoms))

        def prepare(number: int) -> Part:
            rows = self.slices[number]
            samples = np.require(as_double(X[rows]), None, ["C", "A"])
            prepared = sums.divergence.prepare(samples)
            return Part.uncoded(prepared, empty[rows], part_of(weights, rows))

        self.parts = map_in_threads(prepare, len(self.slices), n_jobs)

    def _added(self, function: Callable[[Part], Any]) -> Any:
        """Return the sum of the function over the parts."""
        return added(
            map_in_threads(lambda i: function(self.parts[i]), len(self.parts), self.n_jobs)
        )

    def code(self, gram: Floats, D: Floats, lasso: Lasso) -> float:
        """Code every sample, each from its last code, and return Σ_i w_i f(y_i)."""
        divergence = self.sums.divergence
        atoms = divergence.prepare(D)
        return float(self._added(lambda part: part.code(divergence, self.beta, gram, atoms, lasso)))

    def code_gram(self) -> Floats:
        """Return A = YᵀWY."""
        return np.asarray(self._added(Part.code_gram))

    def correlations(self) -> Floats:
        """Return Σ_i w_i Y_ir k(X_i, D_r) for every atom."""
        return np.asarray(self._added(Part.correlations))

    def weighted_sums(self, block: Indices, D: Floats) -> Floats:
        """Return the sums over the samples, weighted by w_i Y_ir k(X_i, D_r), for the atoms of a block.

        This is the first pass over the data that the block needs.
        """
        return np.asarray(self._added(lambda part: part.weighted_sums(self.sums, block, D)))

    def correlations_of(self, block: Indices, candidates: list[Floats]) -> Floats:
        """Return Σ_i w_i Y_ir k(X_i, C_r) for the atoms of a block at every candidate, (candidates, B).

        This is the second pass over the data that the block needs.
        """
        prepared = [self.sums.divergence.prepare(C) for C in candidates]
        return np.asarray(
            self._added(lambda part: part.correlations_of(self.sums, self.beta, block, prepared))
        )

    def codes(self) -> scipy.sparse.csr_array:
        """Return all codes, (m, N)."""
        rows = map_in_threads(lambda i: self.parts[i].columns.tocsr(), len(self.parts), self.n_jobs)
        return scipy.sparse.vstack(rows, "csr")

    def start_from(self, codes: scipy.sparse.csr_array) -> None:
        """Let the next coding start from these codes."""
        for part, rows in zip(self.parts, self.slices, strict=True):
            part.columns = codes[rows].tocsc()


def code_products(Y: scipy.sparse.sparray) -> Floats:
    """Return YᵀY."""
    if Y.nnz > _DENSE_CODES * Y.shape[0] * Y.shape[1]:
        dense = Y.toarray()
        return np.asarray(dense.T @ dense)
    return np.asarray((Y.T @ Y).toarray())


def sparse_rows(codes: Floats) -> scipy.sparse.csr_array:
    """Return the non-zeros by rows: `csr_array(codes)`, in a third of the time."""
    used = codes != 0
    entries = np.flatnonzero(used)
    starts = np.zeros(len(codes) + 1, np.int64)
    np.cumsum(np.count_nonzero(used, axis=1), out=starts[1:])
    atoms = entries - np.repeat(np.arange(len(codes)) * codes.shape[1], np.diff(starts))
    return scipy.sparse.csr_array((codes.ravel()[entries], atoms, starts), shape=codes.shape)
