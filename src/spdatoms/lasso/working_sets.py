"""min_y ‖x − Σ_j y_j p_j‖² + α‖y‖₁ + ρ‖y‖² for atoms p_j that are vectors, too many for their Gram matrix.

With h_j = ⟨p_j, x − Σ_i y_i p_i⟩ − ρy_j, y is optimal if and only if 2h_j = α sign(y_j) where y_j ≠ 0
and |2h_j| ≤ α elsewhere. Few atoms get a code that is not zero, so each query has a working set of
its own. One round

1. computes h for all atoms, which is one product of matrices for a block of queries, and the test
   of optimality;
2. adds the atoms that violate it most to those of the code, and forgets the others;
3. solves the problem on this working set exactly, with its own small Gram matrix.

The objective falls in every round, so no working set comes back, and the rounds are finitely many.

Without ‖y‖₁ every atom has a part in the code. It is y = P(PᵀP + ρI)⁻¹x with the atoms as rows of P: as
many equations as the vectors have coordinates.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import scipy.linalg
import scipy.sparse
from numpy.typing import ArrayLike, NDArray

from spdatoms._utils.products import row_products
from spdatoms._utils.threads import run_blocks
from spdatoms._utils.typing import Floats, Indices
from spdatoms.lasso._input import (
    as_double,
    indefinite_message,
    largest_entries,
    per_query,
    real_array,
    with_ridge,
)
from spdatoms.lasso.certificate import Certificate, ShortCodes, certify, note_short
from spdatoms.lasso.units import (
    Exponents,
    atom_scales,
    in_units,
    largest_correlations,
    penalty_in_units,
    unit_exponent,
    unit_exponents,
)
from spdatoms.native import feature_sign

#: A round adds up to this many atoms, and as many as this multiple of the code has. Chosen by timing; the
#: answer does not depend on them.
_FIRST_ATOMS, _GROWTH = 64, 1.0
#: Bytes of h that are computed at a time, and the least and the greatest number of queries that they may be.
_BLOCK_BYTES, _LEAST_BLOCK, _LARGEST_BLOCK = 64 << 20, 16, 64
#: Rounds of feature-sign search within a working set.
_INNER_ROUNDS = 500
_NOTHING_EXCLUDED = np.full(1, -1, np.int64)


class _Search:
    """The codes of all queries, as far as they have come.

    Attributes
    ----------
    support : list of ndarray of int
        For each query the atoms of its code.
    codes : list of ndarray
        The values of the code, none of them zero.
    explained : ndarray of shape (m, r)
        Σ_j y_j p_j.
    allowed : ndarray of shape (m,)
        The violation of the optimality conditions that is allowed.
    report : ndarray of shape (m, feature_sign.REPORT)
        As `code_block` writes it, but over all atoms.
    first : int
        The index of the first query in messages.
    block : int
        The number of queries in a block.
    dense : bool
        Whether no query has a penalty of ‖y‖₁, but a ridge: the codes are known from the start.
    """

    def __init__(
        self, atoms: Floats, queries: Floats, alphas: Floats, ridge: float, tol: float, first: int
    ) -> None:
        self.atoms, self.queries, self.tau, self.tol = atoms, queries, alphas / 2, tol
        self.ridge, self.first = ridge, first
        self.scales = atom_scales(np.einsum("ij,ij->i", atoms, atoms) + ridge)
        self.support: list[Indices] = [np.zeros(0, np.intp)] * len(queries)
        self.codes: list[Floats] = [np.zeros(0)] * len(queries)
        self.explained = np.zeros(queries.shape)
        self.allowed = np.zeros(len(queries))
        self.report = np.zeros((len(queries), feature_sign.REPORT))
        self.block = int(np.clip(_BLOCK_BYTES // (8 * len(atoms)), _LEAST_BLOCK, _LARGEST_BLOCK))
        self.dense = ridge > 0 and not alphas.any()
        if self.dense:
            squares = as_double(atoms.T @ atoms)
            factor = scipy.linalg.cho_factor(with_ridge(squares, ridge), lower=True)
            # Not one solution per query: a code must not depend on the place of its query in a block.
            self.inverse = scipy.linalg.cho_solve(factor, np.eye(len(squares)))

    def start_dense(self, part: slice) -> None:
        """Give queries the codes of all atoms that are optimal without ‖y‖₁."""
        x, everything = self.queries[part], np.arange(len(self.atoms))
        codes = row_products(row_products(x, self.inverse), self.atoms.T)
        explained, correlations = row_products(codes, self.atoms), row_products(x, self.atoms.T)
        sizes = np.abs(correlations).max(axis=1)
        allowed = self.tol * largest_correlations(correlations, sizes, self.scales)
        for row, query in enumerate(range(part.start, part.stop)):
            self.support[query], self.codes[query] = everything, codes[row]
            self.explained[query], self.allowed[query] = explained[row], allowed[row]

    def run(self, max_rounds: int, n_jobs: int | None) -> None:
        """Improve the codes until all are optimal, by this many rounds at most."""
        if self.dense:
            run_blocks(self.start_dense, len(self.queries), self.block, n_jobs)
        unsolved = np.arange(len(self.queries))
        for number in range(max_rounds + 1):
            again = np.zeros(len(unsolved), bool)
            one_round = partial(self._round, unsolved, again, number, number == max_rounds)
            run_blocks(one_round, len(unsolved), self.block, n_jobs)
            unsolved = unsolved[again]
            if not len(unsolved):
                return

    def _round(
        self, unsolved: Indices, again: NDArray[np.bool_], number: int, last: bool, part: slice
    ) -> None:
        """Test the codes of some queries, and improve them; write which are to be tested again."""
        chosen = unsolved[part]
        h = row_products(self.queries[chosen] - self.explained[chosen], self.atoms.T)
        for row, query in enumerate(chosen):
            if number == 0 and not self.dense:
                self.allowed[query] = self.tol * np.abs(h[row] * self.scales.inverse).max()
            violators = self._violators(query, h[row], number)
            if len(violators) and not last:
                self._solve(query, violators)
                again[part.start + row] = True

    def _violators(self, query: int, h: Floats, number: int) -> Indices:
        """Report how far the code is from the optimum; return the atoms that should join it."""
        support, y, tau = self.support[query], self.codes[query], self.tau[query]
        correlation = (h[support] - self.ridge * y) * np.sign(y)
        size = np.abs(h)
        size[support] = 0.0
        peak = float(size.max())
        excess = (size - tau) * self.scales.inverse
        inside = np.abs(correlation - tau)
        explained = self.explained[query]
        scaled = (inside * self.scales.inverse[support]).max(initial=0.0)
        report = self.report[query]
        report[feature_sign.VIOLATION] = max(0.0, peak - tau, inside.max(initial=0.0))
        report[feature_sign.LINEAR] = explained @ self.queries[query]
        report[feature_sign.QUADRATIC] = explained @ explained + self.ridge * (y @ y)
        report[feature_sign.NORM] = np.abs(y).sum()
        report[feature_sign.NONZEROS] = np.count_nonzero(y)
        report[feature_sign.PEAK] = max(peak, correlation.max(initial=0.0))
        report[feature_sign.EXCESS] = max(0.0, excess.max(), scaled)
        report[feature_sign.ROUNDS] = number
        beyond = np.flatnonzero(excess > self.allowed[query] / 2)
        most = _FIRST_ATOMS + int(_GROWTH * len(support))
        if len(beyond) > most:
            beyond = beyond[np.argpartition(excess[beyond], -most)[-most:]]
        return beyond

    def _solve(self, query: int, violators: Indices) -> None:
        """Solve the problem on the atoms of the code and those that join it."""
        working = np.concatenate([self.support[query], violators])
        P = self.atoms[working]
        start = np.zeros((1, len(working)))
        start[0, : len(self.support[query])] = self.codes[query]
        scales = self.scales._replace(inverse=self.scales.inverse[working])
        # Half of the tolerance: what is left of it is for rounding between this and the test.
        tolerance = self.allowed[query : query + 1] / 4
        failed = feature_sign.code_block(
            with_ridge(as_double(P @ P.T), self.ridge), as_double((P @ self.queries[query])[None]),
            self.tau[query : query + 1], tolerance, False, _INNER_ROUNDS, scales, _NOTHING_EXCLUDED, True,
            start, np.zeros((1, feature_sign.REPORT)),
        )  # fmt: skip
        if failed != feature_sign.SOLVED:
            raise ValueError(indefinite_message(f", met at query {self.first + query}"))
        used = np.flatnonzero(start[0])
        self.support[query], self.codes[query] = working[used], start[0, used]
        self.explained[query] = self.codes[query] @ P[used]

    def all_codes(self, units: Exponents) -> scipy.sparse.csr_array:
        """Return the codes of all queries, (m, N), sorted by atoms, of which the units are given."""
        lengths = np.array([len(support) for support in self.support], np.intp)
        values = np.concatenate([np.zeros(0), *self.codes])
        columns = np.concatenate([np.zeros(0, np.intp), *self.support])
        codes = scipy.sparse.csr_array(
            (in_units(values, -np.repeat(units, lengths)), columns, np.append(0, lengths.cumsum())),
            shape=(len(self.queries), len(self.atoms)),
        )
        codes.sort_indices()
        return codes


def code_features(
    atoms: ArrayLike,
    queries: ArrayLike,
    alpha: ArrayLike,
    *,
    ridge: float = 0.0,
    tol: float = 1e-8,
    max_rounds: int = 100,
    n_jobs: int | None = None,
    first: int = 0,
    short: ShortCodes | None = None,
) -> tuple[scipy.sparse.csr_array, Certificate]:
    """min_y ‖x − Σ_j y_j p_j‖² + α‖y‖₁ + ρ‖y‖² for every query x: `sparse_code` without a Gram matrix.

    The memory beside atoms, queries and codes is a block of h per thread, 64 MiB for up to half
    a million atoms.

    Parameters
    ----------
    atoms : array-like of shape (N, r)
        The vectors p_j.
    queries : array-like of shape (m, r)
        The vectors x.
    alpha : float or array-like of shape (m,)
        The penalty of ‖y‖₁, for all queries or for each.
    ridge : float, default=0.0
        The penalty ρ of ‖y‖². With alpha 0 the codes have no zeros.
    tol : float, default=1e-8
        As in `sparse_code`.
    max_rounds : int, default=100
        Rounds after which a query is given up, each with one product with all atoms.
    n_jobs : int, default=None
        Threads over blocks of queries; None is 1, -1 all processors. The codes do not depend on it.
    first : int, default=0
        The index of the first query, where they are a block of more queries. Messages count from it.
    short : ShortCodes, default=None
        What to add codes to that are not optimal to the tolerance, instead of a warning.

    Returns
    -------
    codes : csr_array of shape (m, N)
        One code per row.
    certificate : Certificate
        How good each code is, over all atoms.

    Warns
    -----
    ConvergenceWarning
        If some codes violate the optimality conditions by more than the tolerance.
    """
    P, X = real_array("atoms", atoms, ndim=2), real_array("queries", queries, ndim=2)
    if not len(P) or P.shape[1] != X.shape[1]:
        raise ValueError(
            f"atoms and queries must be vectors of the same length, got {P.shape} and {X.shape}."
        )
    P, X = as_double(P), as_double(X)
    longest = float(largest_entries("atoms", P).max())
    sizes = largest_entries("queries", X, first)
    alphas = per_query("alpha", alpha, len(X))
    if longest == 0 and ridge == 0:
        raise ValueError("atoms must hold a vector that is not zero, or ridge must be positive.")
    unit, query_units = unit_exponent(longest), unit_exponents(sizes)
    P, X = in_units(P, unit), in_units(X, query_units)
    alphas = penalty_in_units(alphas, query_units + unit)
    search = _Search(P, X, alphas, float(np.ldexp(ridge, -2 * unit)), tol, first)
    search.run(max_rounds, n_jobs)
    certificate = certify(
        search.report,
        alphas,
        in_units(np.einsum("ij,ij->i", X, X), -2 * query_units),
        search.allowed,
        ridge=search.ridge,
        n_atoms=len(P),
        units=(query_units + unit, 2 * unit),
    )
    note_short(certificate, max_rounds, first, short)
    return search.all_codes(query_units - unit), certificate
