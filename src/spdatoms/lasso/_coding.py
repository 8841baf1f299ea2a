"""Codes of the queries of a problem: block by block, in units in which nothing overflows, by the native solver."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import scipy.linalg.lapack
import scipy.sparse
from numpy.typing import ArrayLike, NDArray

from spdatoms._utils.threads import block_slices, effective_n_jobs, one_blas_thread, run_blocks
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
from spdatoms.lasso.units import (
    common_exponents,
    in_units,
    largest_correlations,
    penalty_in_units,
    unit_exponents,
    within_penalty,
)
from spdatoms.native import feature_sign

Codes: TypeAlias = NDArray[np.floating[Any]] | scipy.sparse.csr_array

#: Atoms that tell which queries are alike, and from how many atoms on it matters.
_LANDMARKS, _MANY_ATOMS = 16, 256
#: Queries that BLAS gets at a time. Always this many, made up by zeros: how BLAS rounds depends on the
#: shape, and the code of a query must not depend on the others.
_PANEL = 64
#: Solutions, each for what the ones before have left. The second is rarely needed.
_SOLUTIONS = 3


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
        self._report = np.zeros((n_queries, feature_sign.REPORT))
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
        for row in np.flatnonzero(
            ~(2 * self._report[part, feature_sign.EXCESS] <= self._allowed[part])
        ):
            one = slice(part.start + row, part.start + row + 1)
            self._search(one, cross[row : row + 1], codes[row : row + 1])

    def _search(self, part: slice, cross: Floats, codes: Floats) -> None:
        """Feature-sign search; a block of K that looks indefinite is trusted if K is semidefinite."""
        problem = self._problem
        scales, order = problem.scales, _alike_together(cross)
        warm = self._init is not None or self._direct is not None
        while True:
            # The kernel works with h, half the gradient.
            failed = feature_sign.code_block(
                problem.gram, cross, self._penalties[part] / 2, self._wanted[part] / 2, problem.positive,
                problem.max_rounds, scales, self._excluded[part], warm, codes, self._report[part], order,
            )  # fmt: skip
            if failed == feature_sign.SOLVED:
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


class CollaborativeCoder:
    """Collaborative representation, min_y k(X,X) − 2 yᵀk + yᵀ(K + ρI)y: one factorisation for all queries.

    Without ‖y‖₁ the code is (K + ρI)⁻¹k. Of a query that must not use atom e the code is y − g·y_e/g_e with
    the column g = (K + ρI)⁻¹e_e: it solves the equations of all other atoms, and its entry e is zero.

    Attributes
    ----------
    definite : bool
        Whether there is a factor; without one no query can be coded here.
    """

    def __init__(self, gram: Floats) -> None:
        self._gram = gram
        with one_blas_thread():
            self._factor, failed = scipy.linalg.lapack.dpotrf(gram, lower=True, clean=False)
        self.definite = failed == 0

    def code(
        self,
        cross: Floats,
        inverse_scale: Floats,
        tolerance: Floats,
        excluded: NDArray[np.int64],
        codes: Floats,
        report: Floats,
    ) -> None:
        """Write the codes of a block of queries, and the report of `code_block` on each.

        ``inverse_scale`` holds 1/√K_jj, the scale in which errors of h are judged.

        The rounds of the report are solutions: codes of which the error in h is above the tolerance
        after the last are left to the caller.
        """
        h, rounds = np.empty_like(cross), np.empty(len(cross))
        for part in block_slices(len(cross), _PANEL):
            codes[part], h[part], rounds[part] = self._panel(
                cross[part], inverse_scale, tolerance[part], excluded[part]
            )
        error = np.abs(h).max(axis=1)
        report[:, feature_sign.VIOLATION], report[:, feature_sign.PEAK] = error, error  # α is zero
        report[:, feature_sign.EXCESS] = (np.abs(h) * inverse_scale).max(axis=1)
        report[:, feature_sign.ROUNDS] = rounds
        report[:, feature_sign.LINEAR] = (codes * cross).sum(axis=1)
        report[:, feature_sign.QUADRATIC] = (codes * (cross - h)).sum(axis=1)
        report[:, feature_sign.NORM] = np.abs(codes).sum(axis=1)
        report[:, feature_sign.NONZEROS] = np.count_nonzero(codes, axis=1)

    def _panel(
        self, cross: Floats, inverse_scale: Floats, tolerance: Floats, excluded: NDArray[np.int64]
    ) -> tuple[Floats, Floats, Floats]:
        """Return the codes y of some queries, h = k − (K + ρI)y, and the numbers of solutions."""
        count, n_atoms = cross.shape
        k = np.zeros((_PANEL, n_atoms))
        k[:count] = cross
        without = np.flatnonzero(excluded >= 0)
        atom = excluded[without]
        column = np.zeros_like(k)
        column[without, atom] = 1.0
        column = self._solve(column) if len(without) else column
        y, h = np.zeros_like(k), k.copy()
        rounds = np.zeros(count)
        for _ in range(_SOLUTIONS):
            h[without, atom] = 0.0
            error = (np.abs(h[:count]) * inverse_scale).max(axis=1)
            short = np.flatnonzero(~(error <= tolerance))
            if not len(short):
                break
            step = self._solve(h)
            step[without] -= (
                column[without] * (step[without, atom] / column[without, atom])[:, None]
            )
            step[without, atom] = 0.0
            y[short] += step[short]
            h = k - y @ self._gram
            rounds[short] += 1
        h[without, atom] = 0.0
        return y[:count], h[:count], rounds

    def _solve(self, right: Floats) -> Floats:
        """Return (K + ρI)⁻¹b for each row b."""
        solution: Floats = scipy.linalg.lapack.dpotrs(self._factor, right.T, lower=True)[0].T
        return np.ascontiguousarray(solution)
