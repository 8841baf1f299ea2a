"""Data with its codes, and the passes over it that dictionary learning makes.

The learner sees the data only through these passes. Each is a sum over parts of the data, so a
learner whose data is out of memory or on many machines runs the same algorithm with passes of its
own. The parts do not depend on the number of threads and are added in order: nor do the results.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from spdatoms._atom_sums import AtomSums
from spdatoms._blocks import run_blocks
from spdatoms._sparse_pairs import column_sums, columns, columns_of_entries, with_values
from spdatoms.lasso import sparse_code
from spdatoms.validation import FloatArray

Floats = NDArray[np.float64]
Result = TypeVar("Result")

#: Entries of the matrix of kernel values that a part needs at a time, and floating point operations
#: to compute them: small enough for threads, large enough to fill the lanes of sparse columns.
_PART_ENTRIES = 1 << 19
_PART_FLOPS = 3e10
#: Share of non-zeros from which on a dense product of codes is faster than a sparse one.
_DENSE_CODES = 0.15


@dataclass
class Part:
    """Consecutive samples: what the divergence needs to know, their codes, and k(X_i, D_r) where Y_ir ≠ 0."""

    prepared: Any
    codes: scipy.sparse.csr_array
    columns: scipy.sparse.csc_array
    kernel: Floats

    def set_codes(self, codes: scipy.sparse.csr_array, cross: Floats) -> None:
        """Keep the codes by rows and by columns, with the kernel values they use."""
        self.codes = codes
        self.columns = codes.tocsc()
        self.kernel = cross[self.columns.indices, columns_of_entries(self.columns)]

    def weighted_kernel(self) -> scipy.sparse.csc_array:
        """Return Y_ir k(X_i, D_r)."""
        return with_values(self.columns, self.columns.data * self.kernel)


class CodedData:
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
    n_jobs : int, optional
        The number of threads.
    """

    def __init__(
        self, X: FloatArray, sums: AtomSums, beta: float, n_atoms: int, n_jobs: int | None
    ) -> None:
        self.X, self.sums, self.beta, self.n_jobs = X, sums, beta, n_jobs
        self.n_atoms = n_atoms
        self.losses = np.full(len(X), np.inf)
        edges = np.linspace(0, len(X), self._part_count() + 1).astype(np.intp)
        self.slices = [slice(a, b) for a, b in pairwise(edges)]
        self.parts = self._over_parts(self._prepare)

    def _part_count(self) -> int:
        m, n = len(self.X), self.X.shape[-1]
        by_flops = _PART_FLOPS / (self.n_atoms * n**3 / 3)
        return -(-m // max(1, int(min(_PART_ENTRIES / self.n_atoms, by_flops))))

    def _over_parts(self, function: Callable[[int], Result]) -> list[Result]:
        """Return the function of every part's number, in order, computed by threads."""
        results: dict[int, Result] = {}

        def compute(numbers: slice) -> None:
            for number in range(numbers.start, numbers.stop):
                results[number] = function(number)

        run_blocks(compute, len(self.slices), 1, self.n_jobs)
        return [results[number] for number in range(len(self.slices))]

    def _prepare(self, number: int) -> Part:
        samples = np.require(self.X[self.slices[number]], np.float64, ["C", "A"])
        empty = scipy.sparse.csr_array((len(samples), self.n_atoms))
        return Part(self.sums.prepare(samples), empty, empty.tocsc(), np.zeros(0))

    def __len__(self) -> int:
        return len(self.X)

    def code(self, gram: Floats, D: Floats, alpha: float) -> float:
        """Code every sample, each from its last code, and return Σ_i f(y_i)."""
        divergence = self.sums.divergence
        atoms = divergence.prepare(D)

        def code_part(number: int) -> float:
            part = self.parts[number]
            cross = kernel_in_place(divergence.pairwise(part.prepared, atoms), self.beta)
            codes, certificate = sparse_code(
                gram,
                cross,
                alpha,
                init=part.codes.toarray(),
                check_gram=False,
                return_certificate=True,
            )
            part.set_codes(sparse_rows(codes), cross)
            self.losses[self.slices[number]] = certificate.objective
            return float(certificate.objective.sum())

        return sum(self._over_parts(code_part))

    def products_of_codes(self) -> Floats:
        """Return A = YᵀY."""

        def product(number: int) -> Floats:
            Y = self.parts[number].codes
            if Y.nnz > _DENSE_CODES * Y.shape[0] * Y.shape[1]:
                dense = Y.toarray()
                return np.asarray(dense.T @ dense)
            return np.asarray((Y.T @ Y).toarray())

        return _added(self._over_parts(product))

    def fits(self) -> Floats:
        """Return Σ_i Y_ir k(X_i, D_r) for every atom."""
        return _added([column_sums(part.weighted_kernel()) for part in self.parts])

    def weighted_sums(self, block: NDArray[np.intp], D: Floats) -> Floats:
        """Return the sums over the samples, weighted by Y_ir k(X_i, D_r), for the atoms of a block.

        This is the first pass over the data that the block needs.
        """

        def sum_part(number: int) -> Floats:
            part = self.parts[number]
            weights = columns(part.weighted_kernel(), block)
            return self.sums.sums(part.prepared, weights, D[block])

        return _added(self._over_parts(sum_part))

    def fits_of(self, block: NDArray[np.intp], candidates: list[Floats]) -> Floats:
        """Return Σ_i Y_ir k(X_i, C_r) for the atoms of a block at every candidate, (candidates, B).

        This is the second pass over the data that the block needs.
        """

        prepared = [self.sums.prepare(C) for C in candidates]

        def fit_part(number: int) -> Floats:
            part = self.parts[number]
            Y = columns(part.columns, block)
            fits = []
            for C in prepared:
                kernel = kernel_in_place(self.sums.pairs(part.prepared, Y, C), self.beta)
                fits.append(column_sums(with_values(Y, Y.data * kernel)))
            return np.array(fits)

        return _added(self._over_parts(fit_part))

    def worst_represented(self, count: int) -> NDArray[np.intp]:
        """Return the samples with the greatest losses, worst first; the earlier one at equal loss."""
        return np.argsort(-self.losses, kind="stable")[:count]

    def samples(self, chosen: NDArray[np.intp]) -> Floats:
        """Return some samples."""
        return np.asarray(self.X[chosen], np.float64)

    def codes(self) -> scipy.sparse.csr_array:
        """Return all codes, (m, N)."""
        return scipy.sparse.vstack([part.codes for part in self.parts], "csr")

    def start_from(self, codes: scipy.sparse.csr_array) -> None:
        """Let the next coding start from these codes."""
        for part, rows in zip(self.parts, self.slices, strict=True):
            part.codes = codes[rows]


def kernel_in_place(divergences: Floats, beta: float) -> Floats:
    """exp(−β·d) in the place of d: as `kernel_values`, but without the memory of a copy."""
    divergences *= -beta
    np.exp(divergences, out=divergences)
    tiny = np.finfo(np.float64).tiny
    if divergences.size and divergences.min() < tiny:
        divergences[divergences < tiny] = 0.0
    return divergences


def sparse_rows(codes: Floats) -> scipy.sparse.csr_array:
    """Return the non-zeros by rows: `csr_array(codes)`, in a third of the time."""
    used = codes != 0
    entries = np.flatnonzero(used)
    starts = np.zeros(len(codes) + 1, np.int64)
    np.cumsum(np.count_nonzero(used, axis=1), out=starts[1:])
    atoms = entries - np.repeat(np.arange(len(codes)) * codes.shape[1], np.diff(starts))
    return scipy.sparse.csr_array((codes.ravel()[entries], atoms, starts), shape=codes.shape)


def _added(terms: list[Floats]) -> Floats:
    """Return the sum, from the first term to the last."""
    total = terms[0].copy()
    for term in terms[1:]:
        total += term
    return total
