"""Speed of tensor sparse coding against CVXPY, one thread, at the same accuracy.

    python benchmarks/tensor_coding.py
    python benchmarks/tensor_coding.py --large

CVXPY gets its problem compiled once, with the costs and the bound as parameters (it is DPP), and Clarabel
at tolerances of 1e-9. "difference" is the largest difference of the objectives, relative to n. ``--large``
codes matrices of the size of faces, n = 43 over 600 atoms, with this package alone.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import cvxpy
import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from spdatoms.paper.baselines.tensor._maxdet import MaxdetDictionary

Floats = NDArray[np.float64]
cp: Any = cvxpy  # its types leave out most of its functions

SIZES = ((5, 25), (8, 50), (12, 100))
ALPHA = 0.1
#: Queries that this package codes at once; of these, CVXPY gets the first few, one by one.
BATCH = 100
PRECISE = {"tol_gap_abs": 1e-9, "tol_gap_rel": 1e-9, "tol_feas": 1e-9}


def wishart(count: int, n: int, seed: int) -> Floats:
    samples = np.random.default_rng(seed).standard_normal((count, n, 2 * n + 2))
    return np.asarray(samples @ samples.swapaxes(1, 2) / (2 * n + 2))


def cvxpy_coder(D: Floats, bounded: bool) -> Callable[[Floats], float]:
    """Return a function that solves the problem of one query and returns B(M, X) + α‖y‖₁."""
    N, n = D.shape[:2]
    y, costs = cp.Variable(N, nonneg=True), cp.Parameter(N)
    bound = cp.Parameter((n, n), symmetric=True)
    M = cp.reshape(D.reshape(N, -1).T @ y, (n, n), order="C")
    constraints = [bound - M >> 0] if bounded else []
    problem: Any = cp.Problem(cp.Minimize(costs @ y - cp.log_det(M)), constraints)

    def solve(X: Floats) -> float:
        costs.value = np.einsum("ab,jab->j", np.linalg.inv(X), D) + ALPHA
        bound.value = X
        value = float(problem.solve(solver="CLARABEL", **PRECISE))
        return float(value + np.linalg.slogdet(X)[1] - n)

    return solve


def compare(n: int, N: int, bounded: bool, repeats: int) -> str:
    D, X = wishart(N, n, 1), wishart(BATCH * repeats, n, 2)
    dictionary, by_cvxpy = MaxdetDictionary(D), cvxpy_coder(D, bounded)
    dictionary.code(X[:1], ALPHA, bounded=bounded)
    by_cvxpy(X[0])
    ours, theirs, difference = np.inf, np.inf, 0.0
    for round_ in range(repeats):  # in turn: a busy spell of the machine falls on both
        part = X[BATCH * round_ : BATCH * (round_ + 1)]
        start = time.perf_counter()
        coded = dictionary.code(part, ALPHA, bounded=bounded)
        middle = time.perf_counter()
        expected = [by_cvxpy(query) for query in part[:5]]
        end = time.perf_counter()
        ours, theirs = min(ours, (middle - start) / BATCH), min(theirs, (end - middle) / 5)
        error = np.abs(coded.certificate.objective[:5] - expected).max() / n
        difference = max(difference, float(error))
    form = "M ⪯ X" if bounded else "free"
    residual = coded.certificate.kkt_residual.max()
    return (
        f"| {n} | {N} | {form} | {1e3 * ours:.3f} | {1e3 * theirs:.1f} | {theirs / ours:.0f} | "
        f"{residual:.0e} | {difference:.0e} |"
    )


def large(n: int, N: int, queries: int) -> str:
    D, X = wishart(N, n, 1), wishart(queries, n, 2)
    dictionary = MaxdetDictionary(D)
    figures = []
    for bounded in (False, True):
        dictionary.code(X[:1], ALPHA, bounded=bounded)
        start = time.perf_counter()
        coded = dictionary.code(X, ALPHA, bounded=bounded)
        seconds = (time.perf_counter() - start) / queries
        atoms = coded.certificate.n_nonzero.mean()
        rounds = coded.certificate.rounds.mean()
        figures.append(
            f"{1e3 * seconds:.1f} ms a query ({rounds:.0f} rounds, {atoms:.0f} atoms in use)"
        )
    return f"n = {n}, {N} atoms: free {figures[0]}; with M ⪯ X {figures[1]}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--large", action="store_true", help="n = 43 and 600 atoms, too")
    arguments = parser.parse_args()
    with threadpool_limits(1):
        print("| n | atoms | form | ms | CVXPY, ms | times as fast | residual | difference |")
        print("|---|---|---|---|---|---|---|---|")
        for n, N in SIZES:
            for bounded in (False, True):
                print(compare(n, N, bounded, arguments.repeats), flush=True)
        if arguments.large:
            for n in (12, 24, 43):
                print(large(n, 600, 4), flush=True)


if __name__ == "__main__":
    main()
