"""One iteration of dictionary learning against plain NumPy and scikit-learn; growth; block schedules.

Run with ``python benchmarks/dictionary.py [--json FILE] [--quick]``. Everything runs on one thread.
"""

from __future__ import annotations

import argparse
import json
import time
import tracemalloc
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse
from _timing import best_times, machine
from numpy.typing import NDArray
from sklearn.linear_model import lars_path_gram

from spdatoms._utils.threads import one_blas_thread
from spdatoms.dictionary._loop import Moves, State
from spdatoms.dictionary._samples import Samples
from spdatoms.dictionary.initial import first_atoms
from spdatoms.dictionary.problem import Problem, fix_problem
from spdatoms.divergences import get_divergence

Floats = NDArray[np.float64]

#: m, N and n.
SIZES = ((2200, 104, 5), (20000, 256, 12), (1000, 140, 93))
ALPHA = 0.1
#: The baseline codes no more samples than this, and its time is extrapolated.
BASELINE_QUERIES = 2000
CHUNK_BYTES = 4 << 20


def matrices(m: int, n: int, seed: int = 0) -> Floats:
    """Covariances of 3n samples from each of forty Gaussians."""
    rng = np.random.default_rng(seed)
    roots = rng.standard_normal((40, n, n + 2)) / np.sqrt(n + 2)
    X = np.empty((m, n, n))
    for start in range(0, m, 500):
        part = X[start : start + 500]
        G = roots[rng.integers(40, size=len(part))] @ rng.standard_normal((len(part), n + 2, 3 * n))
        part[:] = G @ G.swapaxes(1, 2) / (3 * n) + 1e-3 * np.eye(n)
    return X


class Learner:
    """Our learner at one place of its way: `iterate` repeats the same iteration."""

    def __init__(
        self, X: Floats, n_atoms: int, metric: str = "stein", update: str = "centre"
    ) -> None:
        divergence = get_divergence(metric)
        self.X = X
        atoms = first_atoms(X, "random", n_atoms, divergence, np.random.default_rng(0), None)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.problem: Any = fix_problem(X, atoms, divergence, "auto", ALPHA)
        self.data = Samples(self.problem, X, n_atoms)
        self.moves = Moves.of(X, update, None, None)
        self.state = State(atoms, self.problem.images(atoms))
        self.codes = scipy.sparse.csr_array((len(X), n_atoms))

    def iterate(self) -> State:
        self.data.start_from(self.codes)
        return self.state.next(self.data, self.moves)

    def go_on(self, count: int) -> None:
        for _ in range(count):
            self.state = self.iterate()
            self.codes = self.data.codes()


class Baseline:
    """The same iteration by batched NumPy, chunk by chunk, and LARS, atom after atom."""

    def __init__(self, X: Floats, problem: Problem, state: State) -> None:
        self.X, self.problem, self.state = X, problem, state
        self.logdets = self.log_determinants(X)

    @staticmethod
    def log_determinants(Z: Floats) -> Floats:
        return np.asarray(2.0 * np.log(np.einsum("...ii->...i", np.linalg.cholesky(Z))).sum(-1))

    def kernel(self, X: Floats, logdets: Floats, D: Floats) -> Floats:
        """exp(−β S(X_i, D_j)) by broadcasting, in chunks that fit the cache."""
        rows = max(1, CHUNK_BYTES // (8 * D.size))
        own = self.log_determinants(D)
        out = np.empty((len(X), len(D)))
        for start in range(0, len(X), rows):
            part = slice(start, start + rows)
            sums = self.log_determinants(0.5 * (X[part, None] + D))
            out[part] = sums - 0.5 * logdets[part, None] - 0.5 * own
        return np.exp(-self.problem.beta * out)

    def inverse_sum(self, Z: Floats, weights: Floats, D: Floats) -> Floats:
        total = np.zeros(D.shape)
        rows = max(1, CHUNK_BYTES // (8 * D.size))
        for start in range(0, len(Z), rows):
            part = slice(start, start + rows)
            total += np.einsum("i,iab->ab", weights[part], np.linalg.inv(Z[part] + D))
        return total

    def code(self, cross: Floats, gram: Floats) -> Floats:
        Y = np.zeros_like(cross)
        for i in range(len(cross)):
            _, _, Y[i] = lars_path_gram(
                cross[i],
                gram,
                n_samples=1,
                alpha_min=0.5 * ALPHA,
                method="lasso",
                return_path=False,
            )
        return Y

    def iterate(self) -> float:
        """Return the seconds of an iteration, with the time of coding extrapolated."""
        start = time.perf_counter()
        D = self.state.atoms.copy()
        K = self.kernel(D, self.log_determinants(D), D)
        cross = self.kernel(self.X, self.logdets, D)
        kernel_seconds = time.perf_counter() - start
        some = cross[:BASELINE_QUERIES]
        start = time.perf_counter()
        Y = self.code(some, K + self.problem.ridge * np.eye(len(D)))
        coding_seconds = (time.perf_counter() - start) * len(cross) / len(some)
        # The update is timed with codes for all samples, whose number of non-zeros counts.
        codes = np.resize(Y, cross.shape) if len(some) < len(cross) else Y
        start = time.perf_counter()
        self.update(D, K, cross, codes)
        return kernel_seconds + coding_seconds + time.perf_counter() - start

    def update(self, D: Floats, K: Floats, cross: Floats, Y: Floats) -> None:
        A = Y.T @ Y
        for r in range(len(D)):
            used = np.flatnonzero(Y[:, r])
            if len(used) == 0:
                continue
            X, y, logdets = self.X[used], Y[used, r], self.logdets[used]
            c_samples, c_atoms = y * cross[used, r], -A[r] * K[r]
            c_atoms[r] = 0.0
            total = c_samples.sum() + c_atoms.sum()
            P = self.inverse_sum(X, c_samples, D[r]) + self.inverse_sum(D, c_atoms, D[r])
            λ, U = np.linalg.eigh(P)
            if total <= 0:
                continue
            λ = np.maximum(λ, 1e-6 * abs(λ).max())
            candidate = (U * (0.5 * total / λ)) @ U.T
            k = self.kernel(D, self.log_determinants(D), candidate[None])[:, 0]
            k[r] = 1.0
            fit = y @ self.kernel(X, logdets, candidate[None])[:, 0]
            # Shorter steps are left out: they are rare, and the baseline is not to pay for them.
            if 2 * (A[r] @ (k - K[r])) - 2 * (fit - c_samples.sum()) < 0:
                D[r], K[r], K[:, r] = candidate, k, k


def against_baseline(quick: bool) -> list[dict[str, Any]]:
    print("One iteration, Stein kernel, α = 0.1, one thread")
    print(
        f"{'m':>6} {'N':>4} {'n':>3} {'non-zeros':>9} {'seconds':>9} {'baseline':>9} {'ratio':>6}"
    )
    rows = []
    for m, n_atoms, n in SIZES[:1] if quick else SIZES:
        learner = Learner(matrices(m, n), n_atoms)
        learner.go_on(2)
        baseline = Baseline(learner.X, learner.problem, learner.state)
        ours = best_times({"ours": learner.iterate}, 10 if n < 20 else 4)["ours"]
        theirs = min(baseline.iterate() for _ in range(2))
        ours = min(ours, best_times({"ours": learner.iterate}, 10 if n < 20 else 4)["ours"])
        row = {
            "m": m, "n_atoms": n_atoms, "n": n, "nonzeros": learner.data.nonzeros,
            "seconds": ours, "baseline_seconds": theirs, "ratio": theirs / ours,
            "baseline_coding_extrapolated": m > BASELINE_QUERIES,
        }  # fmt: skip
        rows.append(row)
        print(
            f"{m:6} {n_atoms:4} {n:3} {row['nonzeros']:9.1f} {ours:9.4f} {theirs:9.2f} "
            f"{row['ratio']:6.1f}" + ("  (coding extrapolated)" if m > BASELINE_QUERIES else "")
        )
    return rows


def growth(quick: bool) -> list[dict[str, Any]]:
    print("\nGrowth with m and N, n = 8: seconds per iteration, and megabytes beside the data")
    print(f"{'m':>6} {'N':>4} {'non-zeros':>9} {'seconds':>9} {'per m·N (ns)':>13} {'MB':>6}")
    doublings = range(3 if quick else 5)
    rows = []
    for m, n_atoms in [(2000 << d, 64) for d in doublings] + [(4000, 32 << d) for d in doublings]:
        learner = Learner(matrices(m, 8), n_atoms)
        learner.go_on(2)
        seconds = best_times({"ours": learner.iterate}, 4)["ours"]
        tracemalloc.start()
        learner.iterate()
        megabytes = tracemalloc.get_traced_memory()[1] / 1e6
        tracemalloc.stop()
        row = {
            "m": m, "n_atoms": n_atoms, "nonzeros": learner.data.nonzeros, "seconds": seconds,
            "megabytes": megabytes,
        }  # fmt: skip
        rows.append(row)
        print(
            f"{m:6} {n_atoms:4} {row['nonzeros']:9.1f} {seconds:9.4f} "
            f"{1e9 * seconds / (m * n_atoms):13.0f} {megabytes:6.1f}"
        )
    return rows


def schedules(quick: bool) -> list[dict[str, Any]]:
    iterations_made = 4 if quick else 15
    print(
        f"\nBlocks of atoms, and gradient steps: objective after {iterations_made} iterations (m=3000, N=64, n=6)"
    )
    print(f"{'metric':>10} {'update':>9} {'block':>6} {'start':>8} {'end':>8} {'s/iteration':>12}")
    rows = []
    X = matrices(3000, 6)
    for metric in ("stein", "jeffrey", "logeuclid"):
        for update, block in (("centre", 1), ("centre", 8), ("centre", None), ("gradient", None)):
            learner = Learner(X, 64, metric, update)
            learner.moves = replace(learner.moves, block_size=block)
            learner.iterate()
            start = time.perf_counter()
            learner.go_on(iterations_made)
            seconds = (time.perf_counter() - start) / iterations_made
            objective = learner.state.objective
            row = {
                "metric": metric, "update": update, "block_size": block, "first": objective[0],
                "last": objective[-1], "seconds": seconds,
            }  # fmt: skip
            rows.append(row)
            print(
                f"{metric:>10} {update:>9} {block or 'all':>6} {objective[0]:8.1f} "
                f"{objective[-1]:8.1f} {seconds:12.4f}"
            )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="write the figures to this file, too")
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that it works")
    arguments = parser.parse_args()
    with one_blas_thread():
        figures = {
            "machine": machine(),
            "iteration": against_baseline(arguments.quick),
            "growth": growth(arguments.quick),
            "schedules": schedules(arguments.quick),
        }
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
