"""Codes of the queries of a problem: block by block, in units in which nothing overflows, by the native solver."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import scipy.sparse
from numpy.typing import ArrayLike, NDArray

from spdatoms._utils.threads import effective_n_jobs, run_blocks
from spdatoms._utils.typing import Floats
from spdatoms.lasso._input import (
    CodingProblem,
    as_double,
    excluded_atoms,
    indefinite_message,
    init_block,
    largest_entries,
    per_query,
    representable,
)
from spdatoms.lasso.certificate import Certificate, certify
from spdatoms.lasso.collaborative import CollaborativeCoder
from spdatoms.lasso.units import (
    common_exponents,
    in_units,
    largest_correlations,
    penalty_in_units,
    unit_exponents,
    within_penalty,
)
from spdatoms.native.feature_sign import EXCESS, REPORT, SOLVED, code_block

Codes: TypeAlias = NDArray[np.floating[Any]] | scipy.sparse.csr_array

#: Atoms that tell which queries are alike, and from how many atoms on it matters.
_LANDMARKS, _MANY_ATOMS = 16, 256


class QueryCoding:
    """What is found out about the queries of a problem.

    Parameters
    ----------
    problem : CodingProblem
        K, and the k of every query.
    alpha : array-like
        One α, or one for each query.
    init : array-like or None
        Codes to start from.
    exclude : array-like of int or None
        For each query the atom that it must not use, −1 for none.
    sparse : bool
        Whether codes are kept as CSR.
    """

    def __init__(
        self,
        problem: CodingProblem,
        alpha: ArrayLike,
        init: Any,
        exclude: ArrayLike | None = None,
        *,
        sparse: bool = False,
    ) -> None:
        n_queries, n_atoms = problem.cross.shape
        self._problem, self._init, self._sparse = problem, init, sparse
        self._excluded = excluded_atoms(exclude, n_queries, n_atoms)
        self._alphas = per_query("alpha", alpha, n_queries)
        # Without a penalty of ‖y‖₁, and unless y ≥ 0 is asked for, codes have a closed form.
        closed = problem.ridge > 0 and not problem.positive and not self._alphas.any()
        direct = CollaborativeCoder(problem.gram) if closed else None
        self._direct = direct if direct is not None and direct.definite else None
        self._allowed, self._wanted, self._penalties = np.zeros((3, n_queries))
        self._units = np.zeros(n_queries, np.int64)
        self._report = np.zeros((n_queries, REPORT))
        self._dense = np.empty((0 if sparse else n_queries, n_atoms), problem.dtype)
        self._blocks: dict[int, scipy.sparse.csr_array] = {}

    def run(self, progress: bool = False, n_jobs: int | None = None) -> tuple[Codes, Certificate]:
        """Return the codes of all queries, and how far each is from the optimum; threads share blocks of queries."""
        problem = self._problem
        n_queries, n_atoms = problem.cross.shape
        run_blocks(
            self._code_queries, n_queries, _block_length(n_queries, n_atoms, n_jobs), n_jobs, progress,
            "sparse coding", uses_blas=self._direct is not None,
        )  # fmt: skip
        certificate = certify(
            self._report, self._penalties, problem.query_norm, self._allowed, ridge=problem.ridge,
            n_atoms=n_atoms, units=(common_exponents(self._units), problem.unit),
        )  # fmt: skip
        if not self._sparse:
            return self._dense, certificate
        blocks = [self._blocks[start] for start in sorted(self._blocks)]
        none = scipy.sparse.csr_array(self._dense)
        return scipy.sparse.vstack([none, *blocks], format="csr"), certificate

    def _code_queries(self, part: slice) -> None:
        """Code a block of queries in units in which nothing overflows."""
        problem = self._problem
        first = problem.first + part.start
        cross = as_double(problem.cross[part])
        sizes = largest_entries("cross", cross, first)
        self._units[part] = unit_exponents(sizes)
        unit = common_exponents(self._units[part])
        code_unit = unit - problem.unit
        cross, sizes = as_double(in_units(cross, unit)), in_units(sizes, unit)
        self._set_tolerances(part, cross, sizes, unit)
        in_place = not self._sparse and problem.dtype == np.float64
        codes = self._dense[part] if in_place else np.empty(cross.shape)
        if self._init is not None:
            codes[:] = init_block(self._init, part, code_unit)
            codes[sizes == 0] = 0.0  # the code of zeros, to which the tolerance would be zero, too
        if self._direct is None:
            self._search(part, cross, codes)
        else:
            self._code_directly(self._direct, part, cross, codes)
        if problem.dtype != np.float64 or np.any(code_unit):
            codes = representable(in_units(codes, -code_unit), problem.dtype, first)
            in_place = False
        if self._sparse:
            self._blocks[part.start] = scipy.sparse.csr_array(codes)
        elif not in_place:
            self._dense[part] = codes

    def _set_tolerances(self, part: slice, cross: Floats, sizes: Floats, unit: Any) -> None:
        """Fix the penalties of queries in their units, and how far from the optimum their codes may be."""
        problem = self._problem
        self._penalties[part] = penalty_in_units(self._alphas[part], unit)
        largest = largest_correlations(cross, sizes, problem.scales)
        self._allowed[part] = problem.tol * largest
        self._wanted[part] = within_penalty(
            self._allowed[part], self._penalties[part], problem.ridge, largest, problem.scales
        )

    def _code_directly(
        self, direct: CollaborativeCoder, part: slice, cross: Floats, codes: Floats
    ) -> None:
        """Solve (K + ρI)y = k, and search where that is not accurate enough."""
        direct.code(
            cross, self._problem.scales.inverse, self._wanted[part] / 2, self._excluded[part],
            codes, self._report[part],
        )  # fmt: skip
        for row in np.flatnonzero(~(2 * self._report[part, EXCESS] <= self._allowed[part])):
            one = slice(part.start + row, part.start + row + 1)
            self._search(one, cross[row : row + 1], codes[row : row + 1])

    def _search(self, part: slice, cross: Floats, codes: Floats) -> None:
        """Feature-sign search; a block of K that looks indefinite is trusted if K is semidefinite."""
        problem = self._problem
        scales, order = problem.scales, _alike_together(cross)
        warm = self._init is not None or self._direct is not None
        while True:
            # The kernel works with h, half the gradient.
            failed = code_block(
                problem.gram, cross, self._penalties[part] / 2, self._wanted[part] / 2, problem.positive,
                problem.max_rounds, scales, self._excluded[part], warm, codes, self._report[part], order,
            )  # fmt: skip
            if failed == SOLVED:
                return
            order = order[failed:]
            query = problem.first + part.start + int(order[0])
            trusted = problem.trusted(query)
            if scales.limits == trusted.limits:
                raise ValueError(indefinite_message(f", met at query {query}"))
            scales = trusted


def _alike_together(cross: Floats) -> NDArray[np.int64]:
    """Return the queries in an order in which those follow each other that are nearest to the same of some atoms.

    They need the same rows of K, which are then in the cache. Of few atoms all rows are.
    """
    n_queries, n_atoms = cross.shape
    if n_atoms < _MANY_ATOMS:
        return np.arange(n_queries)
    some = cross[:, :: -(-n_atoms // _LANDMARKS)]
    return np.argsort(some.argmax(axis=1).astype(np.int16), kind="stable")


def _block_length(n_queries: int, n_atoms: int, n_jobs: int | None) -> int:
    """Return the number of queries in a block: a few megabytes at most, some blocks per thread."""
    for_memory = max(16, 2**18 // n_atoms)
    jobs = effective_n_jobs(n_jobs)
    for_threads = n_queries if jobs == 1 else -(-n_queries // (4 * jobs))
    return max(1, min(2048, for_memory, for_threads))
